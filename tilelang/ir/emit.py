"""`Emitter`: the one way to write IR without writing `Op(...)` by hand.

It keeps the list of ops being written, gives every result a name of its own, derives result types from the
typing rules, and stamps each op with the current span.

    emit = Emitter()
    x = emit.op("load", tensor, row, hint="x", pointwise=False, mask=False, other=False, checked=(True,))
    y = emit.op("mul", x, emit.const(2.0, x.type))
    with emit.block(("k", I64_SCALAR), ("acc", y.type)) as body:      # ops now go into this block
        k, acc = body.args
        emit.terminate("yield", emit.op("add", acc, y))
    (total,) = emit.structured("for", (lo, hi, step, y), (body.close(),), hints=("total",))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tilelang.diagnostics import NOWHERE, InternalError, Span
from tilelang.dtypes import DType
from tilelang.ir.core import Attr, Block, Kernel, Op, Type, Value
from tilelang.ir.printer import op_head
from tilelang.ir.requirements import IllFormed
from tilelang.ir.rules import result_types
from tilelang.semantics.types import TileType


@dataclass
class OpenBlock:
    """A block being written."""

    args: tuple[Value, ...]
    ops: list[Op] = field(default_factory=list)

    def close(self) -> Block:
        return Block(self.args, tuple(self.ops))


class Emitter:
    """Writes ops, one after another, into the innermost open block."""

    def __init__(self, taken: Iterable[str] = ()):
        """`taken` are names already in use in the kernel."""
        self._taken = set(taken)
        self._counts: dict[str, int] = {}
        self._open: list[OpenBlock] = [OpenBlock(())]
        self.span: Span = NOWHERE

    @classmethod
    def within(cls, kernel: Kernel) -> Emitter:
        """An emitter whose names do not clash with any value of `kernel`."""
        return cls(value_names(kernel))

    # ---------------------------------------------------------------- places and names

    @property
    def ops(self) -> list[Op]:
        """The ops of the innermost open block, so far."""
        return self._open[-1].ops

    @contextmanager
    def at(self, span: Span) -> Iterator[None]:
        """Ops emitted inside carry this span."""
        before, self.span = self.span, span
        try:
            yield
        finally:
            self.span = before

    @contextmanager
    def block(self, *args: tuple[str, Type]) -> Iterator[OpenBlock]:
        """Ops emitted inside go into a new block with arguments of these (hint, type)."""
        opened = OpenBlock(tuple(self.value(hint, type) for hint, type in args))
        self._open.append(opened)
        try:
            yield opened
        finally:
            self._open.pop()

    def name(self, hint: str) -> str:
        """A name not used yet: the hint itself, else `hint_1`, `hint_2`, ..."""
        if hint not in self._taken:
            self._taken.add(hint)
            return hint
        count = self._counts.get(hint, 1)
        while f"{hint}_{count}" in self._taken:
            count += 1
        self._counts[hint] = count + 1
        self._taken.add(f"{hint}_{count}")
        return f"{hint}_{count}"

    def value(self, hint: str, type: Type) -> Value:
        """A new value; nothing defines it yet."""
        return Value(self.name(hint), type)

    # ---------------------------------------------------------------- ops

    def append(self, op: Op) -> None:
        """Add a finished op as it is: its results keep their names."""
        self.ops.append(op)

    def op(self, name: str, *operands: Value, type: Type | None = None, hint: str | None = None,
           **attrs: Attr) -> Value:
        """Emit an op with one result and return it.

        `type` is needed only where the operands do not tell it (`cast`, `broadcast`, `reshape`, `iota`,
        `const`, and thread ops). `hint` is the name wished for; without one it is the op's name.
        """
        if type is None:
            (type,) = self._types(Op(name, operands, (), attrs))
        result = self.value(hint or name, type)
        self.append(Op(name, operands, (result,), attrs, span=self.span))
        return result

    def again(self, op: Op, *operands: Value, type: Type | None = None, hint: str | None = None) -> Value:
        """Emit `op` once more, its name and attributes, on other operands."""
        attrs: dict[str, Any] = dict(op.attrs)
        return self.op(op.name, *operands, type=type, hint=hint, **attrs)

    def effect(self, name: str, *operands: Value, **attrs: Attr) -> None:
        """Emit an op without results: `store`, `assert`, `print`, ..."""
        self.append(Op(name, operands, (), attrs, span=self.span))

    def terminate(self, name: str, *operands: Value) -> None:
        """End the open block with `yield` or `condition`."""
        self.effect(name, *operands)

    def structured(self, name: str, operands: Sequence[Value], blocks: Sequence[Block],
                   hints: Sequence[str] = (), **attrs: Attr) -> tuple[Value, ...]:
        """Emit `for`, `while` or `if` around finished blocks; a result without a hint is called as the op."""
        bare = Op(name, tuple(operands), (), attrs, tuple(blocks), self.span)
        types = self._types(bare)
        names = [*hints, *[name] * (len(types) - len(hints))]
        results = tuple(self.value(hint, type) for hint, type in zip(names, types, strict=True))
        self.append(Op(name, bare.operands, results, attrs, bare.blocks, self.span))
        return results

    def _types(self, op: Op) -> tuple[Type, ...]:
        try:
            return result_types(op)
        except IllFormed as broken:
            raise InternalError("emit", f"{op.name}: {broken}", op_head(op)) from None

    # ---------------------------------------------------------------- the ops everyone needs

    def const(self, value: int | float | bool, type: TileType, hint: str | None = None) -> Value:
        """A scalar constant, or a tile full of it. An int becomes a float where `type` asks for one."""
        if type.dtype.is_float:
            value = float(value)
        elif type.dtype.is_bool:
            value = bool(value)
        return self.op("const", type=type, hint=hint or const_hint(value), value=value)

    def broadcast(self, value: Value, shape: tuple[int, ...], hint: str | None = None) -> Value:
        """`value` stretched to `shape`; itself if it has that shape already."""
        if value.shape == shape:
            return value
        return self.op("broadcast", value, type=TileType(value.dtype, shape), hint=hint or value.name)

    def reshape(self, value: Value, shape: tuple[int, ...], hint: str | None = None) -> Value:
        """`value` in row-major order as `shape`; itself if it has that shape already."""
        if value.shape == shape:
            return value
        return self.op("reshape", value, type=TileType(value.dtype, shape), hint=hint or value.name)

    def cast(self, value: Value, dtype: DType, hint: str | None = None) -> Value:
        """`value` converted to `dtype`; itself if it has it already."""
        if value.dtype == dtype:
            return value
        return self.op("cast", value, type=TileType(dtype, value.shape), hint=hint or value.name)

    def iota(self, extent: int, dtype: DType, hint: str | None = None) -> Value:
        """The index tile 0, 1, ..., extent - 1."""
        return self.op("iota", type=TileType(dtype, (extent,)), hint=hint)


def value_names(kernel: Kernel) -> set[str]:
    """Every value name of a kernel."""
    names = {v.name for v in (*kernel.params, *kernel.dims, *kernel.body.args)}
    for op in kernel.walk():
        names.update(v.name for v in op.results)
        for block in op.blocks:
            names.update(v.name for v in block.args)
    return names


def const_hint(value: int | float | bool) -> str:
    """A readable name for a constant: `c42`, `cm1` for -1, `ninf`, `c0.5`, `true`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if text in ("inf", "-inf", "nan", "-nan"):
        return text.replace("-", "n")
    return "c" + text.replace("-", "m").replace("+", "")
