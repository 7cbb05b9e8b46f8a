"""What a loop nest is written for: its *roots*. Lazy values are computed only because a root needs them.

Each root says which elements it needs at the loops' coordinates, and writes statements in front of its loops,
inside them, and behind them. Roots of one iteration space share a nest (`tilelang.codegen.cpu_nest`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilelang.codegen.cpu_coords import Coord, offset_text
from tilelang.codegen.cpu_elements import Body, Coords, Target, Term, index_coords
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_text import Lines, literal
from tilelang.codegen.cpu_translation import Translation
from tilelang.codegen.cpu_words import COMBINE, combined_type, identity, register_type
from tilelang.dtypes import BF16, F16, I32, DType
from tilelang.ir.access import Access, access
from tilelang.ir.attrs import ints_attr, str_attr
from tilelang.ir.core import Op, Value

Wanted = list[tuple[Value, Coords]]


@dataclass
class Sections:
    """Where a root may write around the loops: before[d] and after[d] are inside d loops, around the others."""

    before: list[Lines]
    after: list[Lines]


@dataclass(eq=False)
class Root:
    """A root over `shape`. `ordered`: elements must be visited in row-major order, by itself."""

    op: Op
    shape: tuple[int, ...]
    ordered: bool = field(default=False, kw_only=True)

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the values that are there once the loops are done, but not before."""
        return ()

    def wanted(self, coords: Coords) -> Wanted:
        """The elements it needs, in loops whose variables are `coords`."""
        raise NotImplementedError

    def open(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        """Write what comes before the loops."""

    def evaluate(self, body: Body, coords: Coords) -> list[Term]:
        """Write the computation of what it needs; nothing that changes memory."""
        return [body.term(value, at) for value, at in self.wanted(coords)]

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        """Write what it does with it."""
        raise NotImplementedError

    def close(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        """Write what comes behind the loops."""


@dataclass(eq=False)
class KeepRoot(Root):
    """Puts a lazy value into scratch. `place` is chosen just before the loops are written."""

    value: Value
    place: Scratch | None = None

    def wanted(self, coords: Coords) -> Wanted:
        return [(self.value, coords)]

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        place = self.place
        if place is not None:
            lines.add(f"store({place.pointer}, {offset_text(coords, place.strides)}, {terms[0].text})")


@dataclass(eq=False)
class CopyRoot(Root):
    """Copies a value into a region of scratch: `start` elements in, with the region's `strides`, as `dtype`."""

    value: Value
    place: Scratch
    strides: tuple[int, ...]
    start: int = 0

    def wanted(self, coords: Coords) -> Wanted:
        return [(self.value, coords)]

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        text, held = terms[0].text, self.place.dtype
        if held != register_type(self.value.dtype):
            text = f"to_{held}({text})"
        offset = offset_text(coords, self.strides, str(self.start))
        lines.add(f"store({self.place.pointer}, {offset}, {text})")


@dataclass(eq=False)
class AccessRoot(Root):
    """A store or an atomic. An atomic's old values go to `place`, if anyone wants them."""

    place: Scratch | None = None

    @property
    def parts(self) -> Access:
        return access(self.op)

    @property
    def results(self) -> tuple[str, ...]:
        return tuple(r.name for r in self.op.results)

    def wanted(self, coords: Coords) -> Wanted:
        parts = self.parts
        return index_coords(parts, coords) + [(v, coords) for v in (parts.mask, parts.value, parts.expected) if v]

    def evaluate(self, body: Body, coords: Coords) -> list[Term]:
        """The values only: the target's texts are written with them, see `act`."""
        parts = self.parts
        terms = [body.term(v, coords) for v in (parts.value, parts.expected) if v]
        self.target = body.target(parts, coords)
        return terms

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        text = access_text(body.translation, self.op, self.target, terms)
        if self.place is None:
            lines.add(text)
        else:
            lines.add(f"store({self.place.pointer}, {offset_text(coords, self.place.strides)}, {text})")

    def close(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        if self.place is not None:
            translation.put(self.op.result.name, self.place)

    target: Target = field(init=False, repr=False)


def access_text(translation: Translation, op: Op, target: Target, terms: Sequence[Term]) -> str:
    """The call that stores, or does the atomic."""
    tensor = translation.tensor(op.operands[0])
    operands = ", ".join([tensor, target.offset.text, *(t.text for t in terms)])
    if op.name == "atomic":
        condition = target.condition.text if target.condition else "True"
        own = translation.private.get(op.operands[0].name)
        if own is not None:
            return f"add_private({condition}, {operands}, {own.room})"
        return f"atomic_{str_attr(op, 'kind')}({condition}, {operands})"
    if target.condition is None:
        return f"store({operands})"
    return f"store_if({target.condition.text}, {operands})"


@dataclass(eq=False)
class ReduceRoot(Root):
    """A reduction. Its result is a scalar variable or, in `place`, a tile.

    If the kept axes are the outer loops, the running total is a variable that the inner loops update. Else it is
    the element of `place` that the loops are at.
    """

    place: Scratch | None
    positions: Scratch | None = None
    """argmax, argmin with the total in scratch: where the extreme was found; `place` has its value."""

    @property
    def kind(self) -> str:
        return str_attr(self.op, "kind")

    @property
    def results(self) -> tuple[str, ...]:
        return (self.op.result.name,)

    @property
    def axes(self) -> tuple[int, ...]:
        return ints_attr(self.op, "axes")

    @property
    def kept(self) -> list[int]:
        return [axis for axis in range(len(self.shape)) if axis not in self.axes]

    @property
    def running(self) -> bool:
        """The total can be a variable."""
        return self.kept == list(range(len(self.kept)))

    def wanted(self, coords: Coords) -> Wanted:
        return [(self.op.operands[0], coords)]

    @property
    def _dtype(self) -> DType:
        return combined_type(self.kind, self.op.operands[0].dtype)

    @property
    def _start(self) -> str:
        return literal(identity(self.kind, self._dtype), self._dtype)

    def open(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        self._total = translation.names.fresh(self.op.result.name)
        self._position = translation.names.fresh(f"{self.op.result.name}_at")
        self._better = translation.names.fresh(f"{self.op.result.name}_better")
        arg = self.kind.startswith("arg")
        if self.running:
            lines = sections.before[len(self.kept)]
            lines.add(f"{self._total} = {self._start}")
            if arg:
                lines.add(f"{self._position} = i32(0)")
            return
        for scratch, start in ((self.place, self._start), (self.positions, "i32(0)")):
            if scratch is not None:
                loop = sections.before[0].nest(f"for {translation.loops[0]} in range({scratch.size})")
                loop.add(f"store({scratch.pointer}, {translation.loops[0]}, {start})")

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        text = terms[0].text
        if self._dtype != register_type(self.op.operands[0].dtype):
            text = f"to_{self._dtype}({text})"
        if not self.running and self.place is not None:
            offset = self._offset(coords, self.place)
            lines.add(f"{self._total} = load({self.place.pointer}, {offset})")
            if self.positions is not None:
                lines.add(f"{self._position} = load({self.positions.pointer}, {offset})")
        self._step(lines, text, coords)
        if not self.running and self.place is not None:
            lines.add(f"store({self.place.pointer}, {offset}, {self._total})")
            if self.positions is not None:
                lines.add(f"store({self.positions.pointer}, {offset}, {self._position})")

    def _step(self, lines: Lines, text: str, coords: Coords) -> None:
        word = COMBINE[self.kind]
        if self.kind.startswith("arg"):
            better = self._better
            lines.add(f"{better} = {word}({text}, {self._total})")
            lines.add(f"{self._total} = select({better}, {text}, {self._total})")
            lines.add(f"{self._position} = select({better}, to_i32({coords[self.axes[0]].text}), {self._position})")
        else:
            lines.add(f"{self._total} = {word}({self._total}, {text})")

    def _offset(self, coords: Coords, place: Scratch) -> str:
        return offset_text([coords[axis] for axis in self.kept], place.strides)

    def close(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        result = self._position if self.kind.startswith("arg") else self._total
        dtype = self.op.result.dtype
        rounded = self.kind in ("sum", "prod") and dtype in (F16, BF16)
        if not self.kept:
            if rounded:
                sections.after[0].add(f"{result} = to_{dtype}({result})")
            translation.put(self.op.result.name, result)
        elif self.running and self.place is not None:
            text = f"to_{dtype}({result})" if rounded else result
            store = f"store({self.place.pointer}, {self._offset(coords, self.place)}, {text})"
            sections.after[len(self.kept)].add(store)
        elif rounded and self.place is not None:
            i, at = translation.loops[0], self.place.pointer
            loop = sections.after[0].nest(f"for {i} in range({self.place.size})")
            loop.add(f"store({at}, {i}, to_{dtype}(load({at}, {i})))")
        if self.kept:
            place = self.place if self.positions is None or self.running else self.positions
            translation.put(self.op.result.name, place)  # type: ignore[arg-type]


@dataclass(eq=False)
class CheckRoot(Root):
    """A tile of assert conditions: `holds` is true behind the loops if all were."""

    holds: str

    def wanted(self, coords: Coords) -> Wanted:
        return [(self.op.operands[0], coords)]

    def open(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        sections.before[0].add(f"{self.holds} = True")

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        lines.add(f"{self.holds} = bit_and({self.holds}, {terms[0].text})")


@dataclass(eq=False)
class PrintRoot(Root):
    """Prints a tile, element 0 first."""

    site: int

    def wanted(self, coords: Coords) -> Wanted:
        return [(self.op.operands[0], coords)]

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        steps = Scratch("", 0, self.shape, I32).strides
        lines.add(print_text(body.translation, self.site, offset_text(coords, steps), terms[0].text))


def print_text(translation: Translation, site: int, element: str, value: str | None) -> str:
    """The call that logs a print of one element, or of a text alone."""
    payload = f"payload({value})" if value is not None else "0"
    log, room = translation.log, translation.log_room
    return f"log_print({log}, {room}, {site}, {translation.program}, {element}, {payload})"


@dataclass(eq=False)
class ScanRoot(Root):
    """A scan: running totals in `totals`, one for each row along the scanned axis; results in `place`."""

    place: Scratch
    totals: Scratch
    axis: int
    reverse: bool

    @property
    def results(self) -> tuple[str, ...]:
        return (self.op.result.name,)

    def wanted(self, coords: Coords) -> Wanted:
        return [(self.op.operands[0], self._turned(coords))]

    def _turned(self, coords: Coords) -> Coords:
        """The loops count up; from the end, the element is at N - 1 - i."""
        if not self.reverse:
            return coords
        own = coords[self.axis]
        turned = Coord(f"({self.shape[self.axis] - 1} - {own.text})", own.level)
        return (*coords[:self.axis], turned, *coords[self.axis + 1:])

    @property
    def _dtype(self) -> DType:
        return combined_type(str_attr(self.op, "kind"), self.op.operands[0].dtype)

    def open(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        start = literal(identity(str_attr(self.op, "kind"), self._dtype), self._dtype)
        loop = sections.before[0].nest(f"for {translation.loops[0]} in range({self.totals.size})")
        loop.add(f"store({self.totals.pointer}, {translation.loops[0]}, {start})")

    def act(self, body: Body, lines: Lines, terms: list[Term], coords: Coords) -> None:
        text, total = terms[0].text, body.translation.names.fresh("total")
        if self._dtype != register_type(self.op.operands[0].dtype):
            text = f"to_{self._dtype}({text})"
        others = [c for axis, c in enumerate(coords) if axis != self.axis]
        at = offset_text(others, self.totals.strides)
        word = COMBINE[str_attr(self.op, "kind")]
        lines.add(f"{total} = {word}(load({self.totals.pointer}, {at}), {text})")
        lines.add(f"store({self.totals.pointer}, {at}, {total})")
        dtype = self.op.result.dtype
        rounded = f"to_{dtype}({total})" if dtype in (F16, BF16) else total
        lines.add(f"store({self.place.pointer}, {offset_text(self._turned(coords), self.place.strides)}, {rounded})")

    def close(self, translation: Translation, sections: Sections, coords: Coords) -> None:
        translation.put(self.op.result.name, self.place)
