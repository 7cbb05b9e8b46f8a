"""Common subexpressions: what is already there need not be computed, or read, again.

    %a: f32[8] = mul %x, %y                      %a: f32[8] = mul %x, %y
    %u: f32[8] = load %t, %i {...}               %u: f32[8] = load %t, %i {...}
    if %c {                                      if %c {
      %b: f32[8] = mul %x, %y            ==>       (uses of %b become %a)
      %v: f32[8] = load %t, %i {...}               (uses of %v become %u)

Precondition: none. Two ops are the same if name, operands, attributes and result type are.

An earlier op is used where it dominates: the pass keeps one table a block, and looks into those around it.
(Cocke, "Global common subexpression elimination", 1970; the scoped table is LLVM's EarlyCSE.)

It refuses: ops of another branch or of a loop body, seen from outside; loads with a write to that tensor in
between (in a loop: anywhere in it); after an atomic, every load from a tensor that is not read-only, because
another program may have written it.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang.ir.core import Kernel, Op, TensorType, Value
from tilelang.ir.printer import show_attrs
from tilelang.passes.effects import ANY, is_pure, written
from tilelang.passes.rewrite import Rewriter

Key = tuple


def cse(kernel: Kernel) -> Kernel:
    """Compute each value once where one computation dominates the others."""
    return _Sharing(kernel).run()


class _Sharing(Rewriter):
    def __init__(self, kernel: Kernel):
        super().__init__(kernel)
        self.scopes: list[dict[Key, Value]] = [{}]
        self.versions: dict[str, int] = {}

    def visit(self, op: Op) -> None:
        if op.blocks:
            self.nest(op)
            return
        key = self.key(op)
        earlier = None if key is None else self.find(key)
        if earlier is not None:
            self.replace(op, earlier)
            return
        self.keep(op)
        self.overwrite(written((op,)))
        if key is not None:
            self.scopes[-1][key] = op.result

    def nest(self, op: Op) -> None:
        """Blocks see the table outside, not each other's; a loop's writes count before it too: it repeats."""
        writes = written((op,))
        if op.name != "if":
            self.overwrite(writes)
        blocks = []
        for block in op.blocks:
            self.scopes.append({})
            blocks.append(self.block(block))
            self.scopes.pop()
        self.out.append(replace(op, blocks=tuple(blocks)))
        self.overwrite(writes)

    def key(self, op: Op) -> Key | None:
        """What makes two ops the same; None for those that are never shared."""
        if is_pure(op) and len(op.results) == 1:
            return (op.name, op.operands, show_attrs(op.attrs), op.result.type)
        if op.name == "load":
            return (op.name, op.operands, show_attrs(op.attrs), self.version(op.operands[0]))
        return None

    def find(self, key: Key) -> Value | None:
        return next((scope[key] for scope in reversed(self.scopes) if key in scope), None)

    def version(self, tensor: Value) -> tuple[int, int]:
        """Changes whenever a load from the tensor might give something new."""
        if isinstance(tensor.type, TensorType) and tensor.type.mode == "in":
            return (0, 0)
        return self.versions.get(tensor.name, 0), self.versions.get(ANY, 0)

    def overwrite(self, tensors: frozenset[str]) -> None:
        for name in tensors:
            self.versions[name] = self.versions.get(name, 0) + 1
