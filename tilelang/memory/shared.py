"""Shared memory allocation: arrays that are never alive together become one.

    %a: shared f32[256], used by ops 1 to 9         %a: shared f32[256]
    %b: shared f32[128], used by ops 12 to 20  ->   (%b is %a)
    %c: shared i32[128], used by ops 15 to 30       %c: shared i32[128]

A linear scan over live ranges, as for registers (Poletto and Sarkar, "Linear scan register allocation", TOPLAS 21(5),
1999), among arrays of one element type. An array is alive from the first op that touches it to the last; if a loop
touches an array that is touched before the loop too, up to the loop's end, for the next trip may read it. What is first
written inside a loop is written anew in every trip, before it is read. Of the branches of an `if` that all threads take
together only one happens, so what lives in one and what lives in the other may share.

A tiny array, with a slot for each warp say, keeps its own memory: to share it would save next to nothing and cost a
barrier.

The threads that still read the old array and those that write the new one are kept apart by the barrier pass, which
runs later and sees one array.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilelang.ir.core import Block, Kernel, Op, SharedType, Value
from tilelang.memory.uniform import varying_values

TINY = 64
"""Bytes of an array that is left alone."""
MOST_TINY = 16
"""How many of them, so that they stay small together."""


@dataclass
class Range:
    """Positions of the first and last op that touch an array, in the order of the text."""

    first: int
    last: int


def share_memory(kernel: Kernel) -> Kernel:
    """The kernel with as few shared arrays as a linear scan finds; each is as large as its largest tenant."""
    ranges = live_ranges(kernel)
    renamed, sizes = _assign(ranges)
    ops = []
    for op in kernel.body.ops:
        if op.name == "shared":
            array = op.result
            if renamed.get(array) != array:
                continue  # another array's memory serves, or nothing touches it
            op = replace(op, results=(_resized(array, sizes[array]),))
        ops.append(op)
    body = Block(kernel.body.args, tuple(ops))
    final = {array: _resized(home, sizes[home]) for array, home in renamed.items()}
    return replace(kernel, body=_rename(body, final))


def live_ranges(kernel: Kernel) -> dict[Value, Range]:
    """The live range of each shared array that is touched at all."""
    scan = _Scan(varying_values(kernel))
    scan.block(kernel.body)
    return scan.ranges


class _Scan:
    def __init__(self, varying: frozenset[Value]) -> None:
        self.varying = varying
        self.ranges: dict[Value, Range] = {}
        self.position = 0

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.position += 1
            start = self.position
            if op.name.startswith("shared."):
                for array in op.operands:
                    if isinstance(array.type, SharedType):
                        self._touch(array)
            for inner in op.blocks:
                self.block(inner)
            if op.attrs.get("unroll") or (op.name == "if" and op.operands[0] in self.varying):
                self._close_statement(start)
            elif op.name in ("for", "while"):
                self._close_loop(start)

    def _touch(self, array: Value) -> None:
        self.ranges.setdefault(array, Range(self.position, self.position)).last = self.position

    def _close_statement(self, start: int) -> None:
        """No barrier may stand inside: all that is touched in it is alive together."""
        self.position += 1
        for found in self.ranges.values():
            if found.last >= start:
                found.first, found.last = min(found.first, start), self.position

    def _close_loop(self, start: int) -> None:
        """What was alive before the loop and is touched in it lives to the loop's end."""
        self.position += 1
        for found in self.ranges.values():
            if found.first < start <= found.last:
                found.last = self.position


def _assign(ranges: dict[Value, Range]) -> tuple[dict[Value, Value], dict[Value, int]]:
    """For each array the one whose memory it uses, and the sizes of those."""
    renamed: dict[Value, Value] = {}
    sizes: dict[Value, int] = {}
    busy_until: dict[Value, int] = {}
    apart = 0
    for array, found in sorted(ranges.items(), key=lambda entry: entry[1].first):
        free = [home for home, last in busy_until.items() if last < found.first and home.dtype == array.dtype]
        size = _size(array)
        if size * array.dtype.bytes <= TINY and apart < MOST_TINY:
            free, apart = [], apart + 1
        home = min(free, key=lambda candidate: abs(sizes[candidate] - size), default=array)
        renamed[array] = home
        sizes[home] = max(sizes.get(home, 0), size)
        busy_until[home] = found.last
    return renamed, sizes


def _size(array: Value) -> int:
    if not isinstance(array.type, SharedType):
        raise TypeError(f"{array} is no shared array")
    return array.type.size


def _resized(array: Value, size: int) -> Value:
    return Value(array.name, SharedType(array.dtype, size))


def _rename(block: Block, final: dict[Value, Value]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        operands = tuple(final.get(v, v) for v in op.operands)
        blocks = tuple(_rename(b, final) for b in op.blocks)
        ops.append(replace(op, operands=operands, blocks=blocks))
    return Block(block.args, tuple(ops))
