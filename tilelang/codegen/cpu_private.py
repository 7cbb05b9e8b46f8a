"""Tensors that a kernel only adds to: each chunk of programs may add to a copy of its own (`runtime.cpu_private`)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tilelang.codegen.cpu_text import Lines, Names
from tilelang.ir.access import access
from tilelang.ir.core import Kernel, Op, TensorType, Value


@dataclass(frozen=True)
class Private:
    """The names for one such tensor: its copy, the copy's size, the strides to use; `additions` per program."""

    tensor: Value
    name: str
    room: str
    strides: tuple[str, ...]
    additions: int

    def declare(self, tensor: str, strides: list[str], extents: list[str], programs: str) -> Lines:
        """Statements that decide whether there is a copy, and make it."""
        lines = Lines()
        lines.add(f"{self.room} = private_room({programs}, {self.additions}, {' * '.join(extents)})")
        lines.add(f"{self.name} = private_copy({tensor}, {self.room})")
        lines.add(f"{self.room} = room_got({tensor}, {self.name}, {self.room})")
        for axis, (own, stride) in enumerate(zip(self.strides, strides, strict=True)):
            row_major = " * ".join(extents[axis + 1:]) or "1"
            lines.add(f"{own} = select({self.room} > 0, {row_major}, {stride})")
        return lines

    def merge(self, tensor: str, strides: list[str], extents: list[str], loops: tuple[str, ...]) -> Lines:
        """Statements that add the copy to the tensor."""
        lines = Lines()
        inner = lines.nest(f"if {self.room} > 0")
        for loop, extent in zip(loops, extents, strict=False):
            inner = inner.nest(f"for {loop} in range({extent})")
        there = " + ".join(f"{loop} * {stride}" for loop, stride in zip(loops, strides, strict=False))
        here = " + ".join(f"{loop} * {stride}" for loop, stride in zip(loops, self.strides, strict=False))
        inner.add(f"merge_private({tensor}, {there}, {self.name}, {here})")
        return lines

    def discard(self) -> str:
        return f"discard_private({self.name}, {self.room})"


def private_tensors(kernel: Kernel, names: Names) -> dict[str, Private]:
    """The tensors of a kernel, by name, whose every use is an atomic add with unused old values."""
    used = {v.name for op in kernel.walk() for v in op.operands}
    touching: dict[str, list[Op]] = {}
    for op in kernel.walk():
        if op.name in ("load", "store", "atomic"):
            touching.setdefault(op.operands[0].name, []).append(op)
    found: dict[str, Private] = {}
    for param in kernel.params:
        ops = touching.get(param.name, [])
        if not ops or not isinstance(param.type, TensorType) or not param.type.rank:
            continue
        if all(op.attrs.get("kind") == "add" and op.result.name not in used for op in ops):
            strides = tuple(names.fresh(f"{param.name}_own_s{axis}") for axis in range(param.type.rank))
            found[param.name] = Private(param, names.fresh(f"{param.name}_own"), names.fresh(f"{param.name}_room"),
                                        strides, sum(prod(access(op).shape) for op in ops))
    return found
