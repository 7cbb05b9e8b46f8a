"""The memories of a batch: registers, shared memory and global memory, with what was written where.

A shared array is one flat NumPy array over the programs of the batch; a tensor is the flat memory that its view
reaches, from the lowest address on, whatever the strides. An access is tested before it is made: one that is outside
is reported, a load then gives 0 and a store does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang.diagnostics import InternalError
from tilelang.ir.core import LocalType, SharedType, Value
from tilelang.ir.host_types import numpy_dtype
from tilelang.machine.lanes import Lanes
from tilelang.machine.separable import Known, Separable, whole
from tilelang.machine.strided import is_one_to_one, strided


class Registers:
    """A `local` array: `size` registers in each thread. Laid out (size, programs, threads).

    `touched`: was there an access since the last `wgmma.fence`? `in_flight` marks what products of warp groups have not
    reached yet (None: there were no such products).
    """

    def __init__(self, array: Value, programs: int, threads: int):
        self.array = array
        self.size = _size(array)
        self.data = np.zeros((self.size, programs, threads), numpy_dtype(array.dtype))
        self.written = np.zeros(self.data.shape, np.bool_)
        self.touched = True
        self.in_flight: np.ndarray | None = None

    def inside(self, index: np.ndarray) -> np.ndarray:
        return (index >= 0) & (index < self.size)

    def load(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The elements, and whether they were written. An `index` outside takes the nearest inside."""
        self.touched = True
        place = self._place(index)
        return self.data[place], self.written[place]

    def store(self, index: np.ndarray, value: np.ndarray, lanes: Lanes) -> None:
        self.touched = True
        place = self._place(index)
        if lanes.mask is None:
            self.data[place] = value
            self.written[place] = True
        else:
            self.data[place] = np.where(lanes.mask, value, self.data[place])
            self.written[place] |= lanes.mask

    def set_in_flight(self, index: np.ndarray, lanes: Lanes, under_way: bool) -> None:
        if self.in_flight is None:
            self.in_flight = np.zeros(self.data.shape, np.bool_)
        place = self._place(index)
        mask = True if lanes.mask is None else lanes.mask
        self.in_flight[place] = self.in_flight[place] | mask if under_way else self.in_flight[place] & ~mask

    def is_in_flight(self, index: np.ndarray) -> np.ndarray:
        return np.asarray(False) if self.in_flight is None else self.in_flight[self._place(index)]

    def _place(self, index: np.ndarray) -> tuple[np.ndarray, ...]:
        index = np.minimum(np.maximum(index, 0), self.size - 1)
        if index.shape[1:] == (1, 1):  # one register for all threads: whole rows
            return (index[:, 0, 0],)
        _, programs, threads = self.data.shape
        return index, np.arange(programs)[:, None], np.arange(threads)


@dataclass
class Cells:
    """Shared or global memory. `span` cells belong to each program (shared) or to all (global, `private` false).

    `origin` is the position of the tensor's first element. `member` tells which cells a tensor with gaps between its
    elements has (None: all of them). `written` is kept for shared memory, until all cells were (then None). `in_flight`
    marks the cells that asynchronous copies have not reached yet (None: there are no such copies). `writer` is kept for
    arrays that warp groups read: the thread that wrote a cell and has not passed an `async.fence` since, `FENCED` until
    the next barrier, then `PUBLISHED`.
    """

    array: Value
    data: np.ndarray
    span: int
    private: bool
    origin: int = 0
    member: np.ndarray | None = None
    written: np.ndarray | None = None
    in_flight: np.ndarray | None = None
    writer: np.ndarray | None = None

    def inside(self, position: np.ndarray) -> np.ndarray:
        ok = (position >= 0) & (position < self.span)
        if self.member is None or not self.span:
            return ok
        return ok & self.member[np.where(ok, position, 0)]

    def surely_inside(self, place: Separable) -> bool:
        """Is every position inside, as can be told from the least and the largest?"""
        low, high = place.bounds
        return not self.private and self.member is None and low >= 0 and high < self.span

    def cell(self, position: np.ndarray, programs: int) -> np.ndarray:
        """Where in `data` the element at `position` of each program is."""
        if not self.private:
            return position
        # i64 before the sum: NumPy adds arrays of one type several times faster.
        return position.astype(np.int64) + np.arange(programs)[:, None] * self.span

    def load(self, place: Known, ok: np.ndarray, programs: int) -> tuple[np.ndarray, np.ndarray | None]:
        """The elements (any where not `ok`), and whether they were written (None: all were)."""
        if isinstance(place, Separable):
            view = strided(self.data, place.program, place.lane)
            if view is not None:
                return view.copy().reshape(place.shape), None
        position = whole(place)
        if not len(self.data):
            return np.zeros(position.shape, self.data.dtype), None
        if not ok.all():
            position = np.where(ok, position, 0)
        if self.private and position.shape[1] == 1:  # all programs alike: whole columns, several times faster
            written = None if self.written is None else _columns(self.written, position, programs)
            return _columns(self.data, position, programs), written
        cell = self.cell(position, programs)
        return self.data.take(cell), None if self.written is None else self.written.take(cell)

    def store(self, place: Known, value: np.ndarray, lanes: Lanes) -> None:
        """Where lanes meet at one element, the last one's value stays."""
        if isinstance(place, Separable) and lanes.mask is None and place.shape == lanes.shape:
            view = strided(self.data, place.program, place.lane)
            if view is not None and is_one_to_one(view):
                view[...] = np.broadcast_to(value, lanes.shape).reshape(view.shape)
                return
        cell = lanes.spread(self.cell(whole(place), lanes.shape[1]))
        self.data[cell] = lanes.spread(value)
        if self.writer is not None:
            self.writer[cell] = lanes.thread_numbers()
        if self.written is not None:
            self.written[cell] = True
            if self.written.all():
                self.written = None

    def fence(self, threads: np.ndarray) -> None:
        """These threads (bool (P, threads)) have passed an `async.fence`."""
        if self.writer is not None:
            writer = self.writer.reshape(len(threads), -1)
            writer[(writer >= 0) & np.take_along_axis(threads, np.maximum(writer, 0), axis=1)] = FENCED

    def publish(self, programs: np.ndarray | None) -> None:
        """These programs (bool (P,), None for all) have passed a barrier."""
        if self.writer is not None:
            passed = self.writer == FENCED
            if programs is not None:
                passed &= np.repeat(programs, self.span)
            self.writer[passed] = PUBLISHED


def _columns(array: np.ndarray, position: np.ndarray, programs: int) -> np.ndarray:
    """The elements at `position` (R, 1, T) of each program's part of `array`, as (R, P, T)."""
    return array.reshape(programs, -1).take(position[:, 0], axis=1).swapaxes(0, 1)


PUBLISHED, FENCED = -1, -2
"""What is no thread in `Cells.writer`."""


def shared_cells(array: Value, programs: int, *, multiplied: bool = False) -> Cells:
    """A shared array, one for each program of the batch; `multiplied`: do warp groups read it?"""
    size = _size(array)
    data = np.zeros(programs * size, numpy_dtype(array.dtype))
    writer = np.full(len(data), PUBLISHED, np.int64) if multiplied else None
    return Cells(array, data, size, private=True, written=np.zeros(len(data), np.bool_), writer=writer)


def tensor_cells(param: Value, array: np.ndarray) -> Cells:
    """The memory of a tensor argument: a flat view of it, no copy."""
    item = array.itemsize
    if any(stride % item for stride in array.strides):
        raise InternalError("machine", f"the strides of argument {param} are not whole elements")
    if not array.size:
        return Cells(param, np.zeros(0, array.dtype), 0, private=False)
    ends = [(extent - 1) * stride // item for extent, stride in zip(array.shape, array.strides, strict=True)]
    origin = -sum(end for end in ends if end < 0)
    span = origin + sum(end for end in ends if end > 0) + 1
    corner = (slice(n - 1, n) if s < 0 else slice(0, 1) for n, s in zip(array.shape, array.strides, strict=True))
    lowest = array[(..., *corner)]  # with the dots, a view even of a rank-0 array
    flat = np.lib.stride_tricks.as_strided(lowest, (span,), (item,))
    return Cells(param, flat, span, private=False, origin=origin, member=_members(array, origin, span))


def _members(array: np.ndarray, origin: int, span: int) -> np.ndarray | None:
    """Which cells of the memory that a view reaches are elements of it; None if all are."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return None
    offsets = np.full((), origin)
    for extent, stride in zip(array.shape, array.strides, strict=True):
        steps = np.arange(extent) * (stride // array.itemsize) if stride else np.zeros(1, np.int64)
        offsets = offsets[..., None] + steps
    if offsets.size == span:
        return None
    member = np.zeros(span, np.bool_)
    member[offsets] = True
    return None if member.all() else member


def _size(array: Value) -> int:
    if not isinstance(array.type, (LocalType, SharedType)):
        raise InternalError("machine", f"{array} is no array")
    return array.type.size
