"""The source text of one element of a tile, inside the loops around it.

`Body.term(value, coords)` writes what is needed to have the element of `value` at `coords` in a variable, and
returns its name. Every (value, coords) is written once, in the outermost loop that has what it depends on.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tilelang.codegen.cpu_affine import Affine, Bounds, index_bounds, mask_bounds
from tilelang.codegen.cpu_coords import ZERO, Coord, is_view, offset_text, operand_coords
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_text import Lines, literal
from tilelang.codegen.cpu_translation import Translation
from tilelang.codegen.cpu_words import expression
from tilelang.diagnostics import InternalError
from tilelang.dtypes import I64, DType
from tilelang.ir.access import Access, access
from tilelang.ir.attrs import number_attr
from tilelang.ir.core import Op, Value
from tilelang.ir.tile_ops import TILE_OPS

Coords = tuple[Coord, ...]


@dataclass(frozen=True)
class Term:
    """A scalar expression without effects, short enough to write twice; `level`: the loops it depends on."""

    text: str
    level: int


@dataclass(frozen=True)
class Target:
    """One element of a tensor: its offset, and the condition under which it is touched (None: always)."""

    offset: Term
    condition: Term | None


def index_coords(parts: Access, coords: Coords) -> list[tuple[Value, Coords]]:
    """Each index of an access with the coordinates at which it is read for the access's element `coords`."""
    if parts.pointwise:
        return [(index, coords) for index in parts.indices]
    rest = iter(coords)
    return [(index, (next(rest),) if index.shape else ()) for index in parts.indices]


class Body:
    """The statements of a loop nest: `outer[d]` inside d loops, `inner` inside all of them.

    `checked`: test every access against its tensor. If not, what `access_bounds` tells is known to hold for
    accesses in the innermost loop. `known`: the bounds that the loops keep to, over tiles of this `shape`.
    """

    def __init__(self, translation: Translation, outer: list[Lines], inner: Lines | None, checked: bool,
                 levels: Levels | None = None, shared: dict[tuple[str, Coords], Term] | None = None,
                 known: Collection[Bounds] = (), shape: Sequence[int] = ()):
        self.translation = translation
        self._known, self._shape = known, shape
        self._levels = levels or Levels(translation)
        self._outer, self._inner = outer, inner
        self.depth = len(outer) if inner is not None else len(outer) - 1
        self.checked = checked
        self._shared: dict[tuple[str, Coords], Term] = {} if shared is None else shared
        self._own: dict[tuple[str, Coords], Term] = {}

    def lines(self, level: int) -> Lines:
        if self._inner is not None and level == self.depth:
            return self._inner
        return self._outer[level]

    def assign(self, hint: str, text: str, level: int) -> Term:
        """Write `name = text` where `level` loops are around."""
        name = self.translation.names.fresh(hint)
        self.lines(level).add(f"{name} = {text}")
        return Term(name, level)

    # ---------------------------------------------------------------- values

    def term(self, value: Value, coords: Coords) -> Term:
        """The element of `value` at `coords`, one for each axis of the value."""
        place = self.translation.places.get(value.name)
        if isinstance(place, str):
            return Term(place, 0)
        key = (value.name, coords)
        known = self._own.get(key) or self._shared.get(key)
        if known is None:
            known = self._scratch(value, place, coords) if place else self._lazy(value, coords)
            memory = self._shared if known.level < self.depth else self._own
            memory[key] = known
        return known

    def _scratch(self, value: Value, place: Scratch, coords: Coords) -> Term:
        level = max([c.level for c in coords], default=0)
        return self.assign(value.name, f"load({place.pointer}, {offset_text(coords, place.strides)})", level)

    def _lazy(self, value: Value, coords: Coords) -> Term:
        op = self.translation.definitions.get(value.name)
        if op is None:
            raise InternalError("codegen.cpu", f"%{value.name} has no place and is not lazy")
        if op.name == "const":
            return Term(literal(number_attr(op, "value"), value.dtype), 0)
        if op.name == "iota":
            text = coords[0].text
            return Term(text if value.dtype == I64 else f"to_{value.dtype}({text})", coords[0].level)
        if is_view(op):
            return self.term(op.operands[0], operand_coords(op, coords, ZERO))
        if op.name == "load":
            return self._load(op, coords)
        if TILE_OPS[op.name].elementwise:
            return self._elementwise(op, coords)
        raise InternalError("codegen.cpu", f"{op.name} is not computed element by element")

    def _elementwise(self, op: Op, coords: Coords) -> Term:
        if op.name == "select" and self._always(op.operands[0], coords):
            return self.term(op.operands[1], coords if op.operands[1].shape else ())
        terms = [self.term(v, coords if v.shape else ()) for v in op.operands]
        level = max([t.level for t in terms])
        return self.assign(op.result.name, expression(op, [t.text for t in terms]), level)

    def _always(self, mask: Value, coords: Coords) -> bool:
        """Is a mask an interval that the loops keep to anyway?"""
        if self.checked or not mask.shape or not self._known:
            return False
        limits = mask_limits(self.translation, mask, coords, self._shape)
        return limits is not None and all(bounds in self._known for bounds in limits)

    def _load(self, op: Op, coords: Coords) -> Term:
        parts = access(op)
        target = self.target(parts, coords)
        tensor = self.translation.tensor(parts.tensor)
        if target.condition is None:
            return self.assign(op.result.name, f"load({tensor}, {target.offset.text})", target.offset.level)
        other = self.term(parts.other, coords) if parts.other else Term(literal(*_zero(op)), 0)
        level = max(target.condition.level, target.offset.level, other.level)
        text = f"load_if({target.condition.text}, {tensor}, {target.offset.text}, {other.text})"
        return self.assign(op.result.name, text, level)

    # ---------------------------------------------------------------- tensors

    def target(self, parts: Access, coords: Coords) -> Target:
        """Write the offset and the tests of an access's element."""
        unchecked = not self.checked and self._levels.of_access(parts, coords) == self.depth
        offsets: list[Coord] = []
        tests: list[Term] = []
        for axis, (index, at) in enumerate(index_coords(parts, coords)):
            term, covered = self._index(index, at, unchecked)
            offsets.append(Coord(term.text, term.level))
            if parts.checked[axis] and not covered:
                extent = self.translation.extent(parts.tensor, axis)
                tests.append(Term(f"inside({term.text}, {extent})", term.level))
        if parts.mask and not (unchecked and self._mask_is_known(parts.mask, coords)):
            tests.append(self.term(parts.mask, coords))
        strides = [self.translation.stride(parts.tensor, axis) for axis in range(len(offsets))]
        level = max([c.level for c in offsets], default=0)
        return Target(Term(offset_text(offsets, strides), level), self._all(tests))

    def _index(self, index: Value, coords: Coords, unchecked: bool) -> tuple[Term, bool]:
        """An index as i64, and whether the loops' bounds keep it inside its axis."""
        affine = self.translation.affine.read(index, coords)
        if affine is None or (affine.wraps and not unchecked):
            term = self.term(index, coords)
            covered = unchecked and affine is None and self._levels.of(index, coords) < self.depth
            return (term if index.dtype == I64 else Term(f"to_i64({term.text})", term.level)), covered
        base = self._hoisted(affine)
        if affine.coord is None:
            return base, unchecked
        text = affine.coord.text
        if base.text != "0":  # inside the loops' bounds nothing overflows
            text = f"{base.text} + {text}" if unchecked else f"add({base.text}, {text})"
        return Term(text, affine.coord.level), unchecked and affine.coord.axis is not None

    def _mask_is_known(self, mask: Value, coords: Coords) -> bool:
        return self._levels.of(mask, coords) < self.depth or mask_limits(self.translation, mask, coords) is not None

    def _hoisted(self, affine: Affine) -> Term:
        """The uniform part of an index, in a variable in front of the loops unless it is one already."""
        text = affine.base64
        if text.isidentifier() or text.isdigit():
            return Term(text, 0)
        if text == "to_i64(i32(0))":
            return Term("0", 0)
        key = (text, ())
        if key not in self._shared:
            self._shared[key] = self.assign("base", text, 0)
        return self._shared[key]

    def _all(self, tests: Sequence[Term]) -> Term | None:
        """All tests in one."""
        if not tests:
            return None
        text = " & ".join([f"({t.text})" if " " in t.text and len(tests) > 1 else t.text for t in tests])
        return Term(text, max([t.level for t in tests]))


def _zero(op: Op) -> tuple[int | float | bool, DType]:
    dtype = op.result.dtype
    return (False if dtype.is_bool else 0.0 if dtype.is_float else 0), dtype


# ------------------------------------------------------------------------------------ levels and bounds


class Levels:
    """How many of the loops around it an element depends on: the level at which `Body.term` will write it."""

    def __init__(self, translation: Translation):
        self._translation = translation
        self._known: dict[tuple[str, Coords], int] = {}

    def of(self, value: Value, coords: Coords) -> int:
        place = self._translation.places.get(value.name)
        if isinstance(place, str):
            return 0
        if place is not None:
            return max([c.level for c in coords], default=0)
        key = (value.name, coords)
        if key not in self._known:
            self._known[key] = self._lazy(self._translation.definitions[value.name], coords)
        return self._known[key]

    def of_access(self, parts: Access, coords: Coords) -> int:
        """The level of an access's offset."""
        return max([self.of(index, at) for index, at in index_coords(parts, coords)], default=0)

    def _lazy(self, op: Op, coords: Coords) -> int:
        if op.name == "const":
            return 0
        if op.name == "iota":
            return coords[0].level
        if is_view(op):
            return self.of(op.operands[0], operand_coords(op, coords, ZERO))
        if op.name == "load":
            parts = access(op)
            others = [self.of(v, coords) for v in (parts.mask, parts.other) if v]
            return max([self.of_access(parts, coords), *others])
        return max([self.of(v, coords if v.shape else ()) for v in op.operands])


@dataclass(frozen=True)
class OuterTest:
    """A test that the innermost loop does not change: an index inside an axis of `extent`, or (None) a mask."""

    value: Value
    coords: Coords
    extent: int | str | None = None


@dataclass(frozen=True)
class Limits:
    """When an access surely happens, inside its tensor: loop bounds, tests that no loop changes (their texts), and
    tests that the innermost loop does not change."""

    bounds: tuple[Bounds, ...] = ()
    tests: tuple[str, ...] = ()
    outer: tuple[OuterTest, ...] = ()

    @property
    def none(self) -> bool:
        return not (self.bounds or self.tests or self.outer)


def access_limits(translation: Translation, levels: Levels, parts: Access, coords: Coords,
                  shape: Sequence[int]) -> Limits:
    """What makes the tests of an access superfluous that `Body` leaves out when it is not `checked`."""
    bounds: list[Bounds] = []
    tests: list[str] = []
    outer: list[OuterTest] = []
    for axis, (index, at) in enumerate(index_coords(parts, coords)):
        if not parts.checked[axis]:
            continue
        affine, extent = translation.affine.read(index, at), translation.extent(parts.tensor, axis)
        if affine is None:
            if levels.of(index, at) < len(shape):
                outer.append(OuterTest(index, at, extent))
        elif affine.coord is None:
            tests.append(f"inside({affine.base64}, {extent})")
        elif affine.coord.axis is not None:
            bounds.append(index_bounds(affine, extent, shape[affine.coord.axis]))  # type: ignore[arg-type]
    if parts.mask and levels.of(parts.mask, coords) < len(shape):
        outer.append(OuterTest(parts.mask, coords))
    elif parts.mask:
        bounds += mask_limits(translation, parts.mask, coords, shape) or ()
    return Limits(tuple(bounds), tuple(tests), tuple(outer))


def mask_limits(translation: Translation, mask: Value, coords: Coords,
                shape: Sequence[int] | None = None) -> list[Bounds] | None:
    """A mask that is an interval of loop variables, as bounds; None if it is anything else."""
    op = translation.lazy(mask)
    if op is None:
        return None
    if is_view(op):
        return mask_limits(translation, op.operands[0], operand_coords(op, coords, ZERO), shape)
    if op.name == "and":
        both = [mask_limits(translation, operand, coords, shape) for operand in op.operands]
        return None if None in both else [b for part in both for b in part or ()]
    if op.name not in ("lt", "le", "gt", "ge"):
        return None
    left, right = [translation.affine.read(operand, coords) for operand in op.operands]
    if left is None or right is None:
        return None
    axis = next((a.coord.axis for a in (left, right) if a.coord and a.coord.axis is not None), None)
    if axis is None:
        return None
    found = mask_bounds(op.name, left, right, shape[axis] if shape else 0)
    return None if found is None else [found]
