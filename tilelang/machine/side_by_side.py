"""Which unrolled loops may run with their trips *side by side*, as a third axis of lanes, instead of one after another.

A dot of 64 x 64 elements on 128 threads is 32 registers a thread; side by side that is one op of 4,096 lanes in place
of 32 ops of 128, and NumPy's cost per op is all there is. Unrolled loops inside go along, if their bounds are
constants: the lanes are then the pairs of trips.

    for %c0, %c16, %c1 {unroll = true} (%m: i32) {
      %x: f32 = shared.load %a, %at                      16 lanes for each thread
      for %c0, %c2, %c1 {unroll = true} (%n: i32) {
        %r: i32 = add %two_m, %n                         32 lanes
        %y: f32 = local.load %acc, %r                    each pair of trips its own register: 2 m + n
        ...
        local.store %acc, %r, %z
      }
    }

It is allowed where no trip can see what another did: nothing is carried; a local array that is stored to is touched in
every trip, or pair of trips, at a register of its own; a shared array or tensor that is stored to is not read, and
stored to by one op, once a trip (the last trip's element stays, as it would); and there is nothing whose order shows:
atomics, barriers, prints, asserts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang.ir.attrs import number_attr
from tilelang.ir.core import Block, LocalType, Op, Value
from tilelang.ir.host_types import numpy_dtype, scalar
from tilelang.ir.numerics import evaluate
from tilelang.ir.thread_ops import THREAD_OPS

IN_ORDER = ("barrier", "global.atomic", "print", "assert", "local", "shared", "shared.load_matrix", "mma", "shuffle",
            "shared.copy_async", "async.commit", "async.wait", "async.fence", "shared.wgmma", "wgmma.fence",
            "wgmma.commit", "wgmma.wait", "global.load_vector", "global.store_vector", "global.load_chunk",
            "shared.store_chunk", "shared.load_vector", "shared.store_vector")

DEPTH = 4
"""Loops inside one another that run as one axis of lanes, at most."""

Constants = dict[str, np.ndarray]
"""Values made of constants and loops' indices alone, by name; axis n of the arrays is the trips of the n-th loop."""


def side_by_side(body: Block) -> dict[int, int]:
    """The loops that may, by `id` of their op, and for each the lanes that one of its trips becomes inside."""
    found: dict[int, int] = {}
    _choose(body, {}, found)
    return found


def _choose(block: Block, constants: Constants, found: dict[int, int]) -> None:
    for op in block.ops:
        _note_constant(op, constants)
        nests = (_Nest(op, constants, with_inner) for with_inner in (True, False) if _is_unrolled(op))
        nest = next((nest for nest in nests if nest.is_independent), None)
        if nest is not None:
            found.update(nest.lanes)
            continue
        for inner in op.blocks:
            _choose(inner, constants, found)


def _note_constant(op: Op, constants: Constants) -> None:
    if op.name == "const":
        constants[op.result.name] = scalar(number_attr(op, "value"), op.result.dtype).reshape((1,) * DEPTH)
    elif THREAD_OPS[op.name].elementwise and all(value.name in constants for value in op.operands):
        operands = [constants[value.name] for value in op.operands]
        constants[op.result.name] = evaluate(op.name, operands, op.result.dtype)


@dataclass(frozen=True)
class _Touch:
    """An op in a nest: in which of its loops, outermost first, and is there an ordinary loop between?"""

    op: Op
    loops: tuple[Op, ...]
    again: bool


class _Nest:
    """A loop and, `with_inner`, the unrolled loops inside it whose bounds are constants."""

    def __init__(self, loop: Op, outside: Constants, with_inner: bool):
        self.loop = loop
        self.with_inner = with_inner
        self.constants = dict(outside)
        self.lanes: dict[int, int] = {}
        self.touches: list[_Touch] = []
        self._enter(loop, (), again=False)

    @property
    def is_independent(self) -> bool:
        stored = {touch.op.operands[0] for touch in self.touches if touch.op.name.endswith(".store")}
        return all(touch.op.name not in IN_ORDER for touch in self.touches) and all(
            _own_register(self._touching(array), self.constants) if isinstance(array.type, LocalType)
            else _stored_once(self._touching(array)) for array in stored)

    def _touching(self, array: Value) -> list[_Touch]:
        return [touch for touch in self.touches if touch.op.operands[:1] == (array,)]

    def _enter(self, loop: Op, around: tuple[Op, ...], again: bool) -> int:
        """Go through a loop of the nest; how many lanes it becomes at most."""
        trips = _trips(loop, self.constants)
        if trips is not None:
            shape = [1] * DEPTH
            shape[len(around)] = len(trips)
            self.constants[loop.blocks[0].args[0].name] = trips.reshape(shape)
        each = self._block(loop.blocks[0], (*around, loop), again)
        self.lanes[id(loop)] = each
        return each * (1 if trips is None else len(trips))

    def _block(self, block: Block, loops: tuple[Op, ...], again: bool) -> int:
        most = 1
        for op in block.ops:
            _note_constant(op, self.constants)
            if self.with_inner and len(loops) < DEPTH and not again and _is_unrolled(op) \
                    and _trips(op, self.constants) is not None:
                most = max(most, self._enter(op, loops, again))
                continue
            self.touches.append(_Touch(op, loops, again))
            for inner in op.blocks:
                most = max(most, self._block(inner, loops, again or op.name in ("for", "while")))
        return most


def _is_unrolled(op: Op) -> bool:
    """Is it an unrolled loop that carries nothing?"""
    return op.name == "for" and bool(op.attrs.get("unroll")) and len(op.operands) == 3


def _trips(loop: Op, constants: Constants) -> np.ndarray | None:
    """The loop's indices, if its bounds are constants."""
    bounds = [constants.get(value.name) for value in loop.operands]
    if any(bound is None or bound.size > 1 for bound in bounds):
        return None
    lo, hi, step = (int(bound.item()) for bound in bounds if bound is not None)
    return np.arange(lo, hi, step).astype(numpy_dtype(loop.operands[0].dtype)) if step else None


def _own_register(touching: list[_Touch], constants: Constants) -> bool:
    """Does each trip touch a register of its own?"""
    loops, index = touching[0].loops, touching[0].op.operands[1]
    if any(touch.op.operands[1] != index or touch.loops != loops for touch in touching):
        return False
    if len(loops) == 1 and index == loops[0].blocks[0].args[0]:
        return True
    trips = [constants.get(loop.blocks[0].args[0].name) for loop in loops]
    number = constants.get(index.name)
    if number is None or any(indices is None for indices in trips):
        return False
    registers = np.broadcast_arrays(number, *(indices for indices in trips if indices is not None))[0]
    return len(np.unique(registers)) == registers.size


def _stored_once(touching: list[_Touch]) -> bool:
    return len(touching) == 1 and not touching[0].again
