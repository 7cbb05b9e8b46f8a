"""Loops that only copy rows: from a tensor to scratch or another tensor, or back, element by element unchanged.

    for j in range(32):                       copy_row(a_tile, i * 32, 1, a, base + ..., a_s1, 32)
        store(a_tile, i * 32 + j, load(a, ...))
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.codegen.cpu_coords import ZERO, is_view, offset_text, operand_coords
from tilelang.codegen.cpu_elements import Body, Coords, index_coords
from tilelang.codegen.cpu_roots import AccessRoot, CopyRoot, KeepRoot, Root
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_translation import Translation
from tilelang.dtypes import DType
from tilelang.ir.access import Access, access
from tilelang.ir.core import Value

CONVERTED = ("bool", "f16", "bf16")
"""Types that change between memory and register."""


@dataclass(frozen=True)
class RowEnd:
    """Where a row comes from or goes to: an access to a tensor, or scratch with these strides from `start` on.

    `coords` maps the loops' coordinates to those of the access or tile.
    """

    dtype: DType
    coords: Coords
    parts: Access | None = None
    scratch: Scratch | None = None
    strides: tuple[int, ...] = ()
    start: int = 0

    def at(self, body: Body, first: Coords) -> str:
        """`pointer, offset, stride` for the row that begins at the loops' coordinates `first`."""
        here = tuple(first[-1] if c.axis == len(first) - 1 else c for c in self.coords)
        if self.parts is None:
            scratch = self.scratch
            pointer = scratch.pointer if scratch else ""
            return f"{pointer}, {offset_text(here, self.strides, str(self.start))}, {self._scratch_stride(len(first))}"
        axis = moving_axis(body.translation, self.parts, self.coords, len(first) - 1)
        stride = body.translation.stride(self.parts.tensor, axis)  # type: ignore[arg-type]
        offset = body.target(self.parts, here).offset.text
        return f"{body.translation.tensor(self.parts.tensor)}, {offset}, {stride}"

    def _scratch_stride(self, rank: int) -> int:
        return next(s for c, s in zip(self.coords, self.strides, strict=True) if c.axis == rank - 1)


def row_ends(translation: Translation, root: Root, coords: Coords) -> tuple[RowEnd, RowEnd] | None:
    """(target, source) of a root that only copies rows; None if it does anything else."""
    target = _target(translation, root, coords)
    if target is None:
        return None
    value = root.value if isinstance(root, KeepRoot | CopyRoot) else access(root.op).value
    source = None if value is None else _source(translation, value, coords)
    if source is None or source.dtype != target.dtype or target.dtype.name in CONVERTED:
        return None
    return target, source


def _target(translation: Translation, root: Root, coords: Coords) -> RowEnd | None:
    if isinstance(root, KeepRoot | CopyRoot):
        place = root.place
        if place is None:
            return None
        strides, start = (root.strides, root.start) if isinstance(root, CopyRoot) else (place.strides, 0)
        return RowEnd(place.dtype, coords, scratch=place, strides=strides, start=start)
    if not isinstance(root, AccessRoot) or root.op.name != "store":
        return None
    return _tensor_end(translation, root.parts, coords, root.parts.tensor.dtype)


def _source(translation: Translation, value: Value, coords: Coords) -> RowEnd | None:
    """The value is a load, or a tile in scratch, seen through shape ops only."""
    place, last = translation.places.get(value.name), len(coords) - 1
    while place is None:
        op = translation.definitions[value.name]
        if op.name == "load":
            return _tensor_end(translation, access(op), coords, value.dtype, last)
        if not is_view(op):
            return None
        value, coords = op.operands[0], operand_coords(op, coords, ZERO)
        place = translation.places.get(value.name)
    if isinstance(place, str) or sum([c.axis == last for c in coords]) != 1:
        return None
    return RowEnd(place.dtype, coords, scratch=place, strides=place.strides)


def _tensor_end(translation: Translation, parts: Access, coords: Coords, dtype: DType,
                last: int | None = None) -> RowEnd | None:
    last = len(coords) - 1 if last is None else last
    if parts.mask is not None or moving_axis(translation, parts, coords, last) is None:
        return None
    return RowEnd(dtype, coords, parts=parts)


def moving_axis(translation: Translation, parts: Access, coords: Coords, last: int) -> int | None:
    """The one axis of the tensor along which the innermost loop moves, by one element at a time."""
    moving = []
    for axis, (index, at) in enumerate(index_coords(parts, coords)):
        if not any([c.axis == last for c in at]):
            continue
        affine = translation.affine.read(index, at)
        if affine is None:
            return None
        if affine.coord is not None and affine.coord.axis == last:
            moving.append(axis)
    return moving[0] if len(moving) == 1 else None


