"""`Rewriter`: what every pass that goes through a kernel once, from top to bottom, has in common.

It copies the kernel op by op. A pass overrides `visit` and, for an op it wants changed, emits other ops
(`self.out`) and says which values stand for the old results (`replace`); later uses are renamed on the way.

    class DropNegation(Rewriter):
        '''neg(neg(x)) is x.'''

        def visit(self, op):
            inner = self.definition(op.operands[0]) if op.name == "neg" else None
            if inner is not None and inner.name == "neg":
                self.replace(op, inner.operands[0])
            else:
                self.keep(op)
"""

from __future__ import annotations

from dataclasses import replace

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.emit import Emitter

Number = int | float | bool


class Rewriter:
    """Copies a kernel; subclasses change what `visit` does with an op."""

    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.out = Emitter.within(kernel)
        self._definitions: dict[str, Op] = {}
        self._replaced: dict[str, Value] = {}

    def run(self) -> Kernel:
        return replace(self.kernel, body=self.block(self.kernel.body))

    # --- to override -----------------------------------------------------------------------------

    def visit(self, op: Op) -> None:
        """Handle one op, whose operands are renamed already: `keep` it, or emit others and `replace` it."""
        self.keep(op)

    # --- the tools -------------------------------------------------------------------------------

    def block(self, block: Block) -> Block:
        """The block with all its ops visited."""
        with self.out.block() as opened:
            self.splice(block.ops)
        return Block(block.args, tuple(opened.ops))

    def splice(self, ops: tuple[Op, ...]) -> None:
        """Visit ops and put what comes of them at the present place."""
        for op in ops:
            with self.out.at(op.span):
                emitted = len(self.out.ops)
                self.visit(op.with_operands(*map(self.current, op.operands)))
                self._note(emitted)

    def keep(self, op: Op) -> None:
        """Copy the op, with its blocks rewritten."""
        if op.blocks:
            op = replace(op, blocks=tuple(self.block(block) for block in op.blocks))
        for result in op.results:
            self._replaced.pop(result.name, None)
        self.out.append(op)

    def replace(self, op: Op, *values: Value) -> None:
        """`values` stand for the op's results from here on."""
        for old, new in zip(op.results, values, strict=True):
            self._replaced[old.name] = new

    def rename(self, old: Value, new: Value) -> None:
        """Every later use of `old` becomes one of `new`; for block arguments, or some of an op's results."""
        self._replaced[old.name] = new

    def current(self, value: Value) -> Value:
        """What stands for a value of the old kernel now."""
        return self._replaced.get(value.name, value)

    def definition(self, value: Value) -> Op | None:
        """The op of the new kernel that defines a value; None for parameters and block arguments."""
        return self._definitions.get(value.name)

    def constant(self, value: Value) -> Number | None:
        """The number that every element of the value is, if that is known."""
        op = self.definition(value)
        return op.attrs["value"] if op is not None and op.name == "const" else None  # type: ignore[return-value]

    def _note(self, start: int) -> None:
        for op in self.out.ops[start:]:
            for result in op.results:
                self._definitions[result.name] = op
