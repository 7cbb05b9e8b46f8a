"""A loop nest over one iteration space, written for one or several roots at once.

Where accesses need tests, the innermost loop is written twice:

    start, stop = ...                  # the elements for which every test of an affine index or mask succeeds
    for j in range(start, stop): ...   # without those tests: LLVM makes vector code of it
    for j in <the others>: ...         # with all tests; usually empty, or the ragged last tile

If all roots are stores that would do nothing for the others, the second loop is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilelang.codegen.cpu_affine import Bounds
from tilelang.codegen.cpu_coords import ZERO, Coord
from tilelang.codegen.cpu_elements import Body, Coords, Levels, Limits, Term, access_limits
from tilelang.codegen.cpu_roots import AccessRoot, Root, Sections
from tilelang.codegen.cpu_rows import row_ends
from tilelang.codegen.cpu_streams import Stream, find_stream
from tilelang.codegen.cpu_text import Lines
from tilelang.codegen.cpu_trace import Trace
from tilelang.codegen.cpu_translation import Translation
from tilelang.dtypes import I64
from tilelang.ir.access import Access, access


def loop_coords(translation: Translation, rank: int) -> Coords:
    """The coordinates of the element that a nest of `rank` loops is at."""
    return tuple(Coord(translation.loops[axis], axis + 1, axis) for axis in range(rank))


SHORT_ROW = 256
"""Innermost loops up to this length have their length hidden from LLVM (the word `length`), which would unroll them
into scalar statements before it comes to think of vectors."""


@dataclass
class Nest:
    """Roots to be written as one nest over `shape`; `touched` is what all of them touch together."""

    shape: tuple[int, ...]
    roots: list[Root] = field(default_factory=list)
    touched: Trace = field(default_factory=Trace)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def write(self, translation: Translation, *, streaming: bool = False) -> Range:
        """Write the loops at the translation's current lines; afterwards the roots' results have places.

        `streaming`: rows of large outputs may go past the cache. Returns the innermost loop's range.
        """
        for root in self.roots:
            translation.quote(root.op.span)
        return _Writer(translation, self, streaming).write()


@dataclass(frozen=True)
class Range:
    """Texts of the first element and the one behind the last."""

    start: str
    stop: str


class _Writer:
    """Writes one nest."""

    def __init__(self, translation: Translation, nest: Nest, streaming: bool):
        self.translation, self.nest, self.streaming = translation, nest, streaming
        self.coords = loop_coords(translation, nest.rank)
        self.sections = Sections([Lines() for _ in nest.shape], [Lines() for _ in nest.shape])
        self.levels = Levels(translation)
        self.shared: dict[tuple[str, Coords], Term] = {}

    def write(self) -> Range:
        total, extra = self._limits()
        self.known = {*total.bounds, *extra.bounds}
        self.split = not extra.none
        ranges = self._ranges(total)
        for root in self.nest.roots:
            root.open(self.translation, self.sections, self.coords)
        loops = Lines()
        if any(root.ordered for root in self.nest.roots):
            self._loop(loops, ranges[-1], checked=True)
        elif extra.none:
            self._loop(loops, ranges[-1], checked=False)
        else:
            self._fast_and_checked(loops, ranges, extra)
        for root in self.nest.roots:
            root.close(self.translation, self.sections, self.coords)
        self._assemble(loops, ranges)
        return ranges[-1]

    # ---------------------------------------------------------------- bounds

    def _limits(self) -> tuple[Limits, Limits]:
        """(what confines the whole nest, what further confines the elements that need no tests)"""
        own = [self._of_access(root.parts, self.coords) for root in self.nest.roots
               if isinstance(root, AccessRoot)]
        silent = all(isinstance(root, AccessRoot) and root.place is None for root in self.nest.roots)
        alike = silent and all(_same(limits, own[0]) for limits in own)
        total = Limits(own[0].bounds, own[0].tests) if alike else Limits()
        inner = [self._of_access(access(op), coords) for op, coords in self.nest.touched.loads
                 if self.levels.of(op.result, coords) == self.nest.rank]
        everything = [*own, *inner]
        bounds = {b: None for limits in everything for b in limits.bounds if b not in total.bounds}
        tests = {t: None for limits in everything for t in limits.tests if t not in total.tests}
        outer = {t: None for limits in everything for t in limits.outer}
        return total, Limits(tuple(bounds), tuple(tests), tuple(outer))

    def _of_access(self, parts: Access, coords: Coords) -> Limits:
        if self.levels.of_access(parts, coords) < self.nest.rank:
            return Limits()  # tested outside the innermost loop, whatever that is
        return access_limits(self.translation, self.levels, parts, coords, self.nest.shape)

    def _ranges(self, total: Limits) -> list[Range]:
        """Every loop's range. Tests that no loop changes make the outermost empty."""
        ranges = [self._narrowed(axis, Range("0", str(extent)), total.bounds, self.sections.before[0])
                  for axis, extent in enumerate(self.nest.shape)]
        if total.tests:
            first = ranges[0]
            holds = " & ".join(total.tests)
            ranges[0] = Range(first.start, self._name(
                "stop", f"select({holds}, {first.stop}, {first.start})", self.sections.before[0]))
        return ranges

    def _narrowed(self, axis: int, whole: Range, bounds: Iterable[Bounds], lines: Lines) -> Range:
        """`whole` cut down to what all `bounds` of this axis allow; never turned around."""
        own = [b for b in bounds if b.axis == axis]
        start, stop = whole.start, whole.stop
        starts = [b.start for b in own if b.start is not None]
        if starts:
            start = self._name("start", _nested("maximum", [*starts, *([start] if start != "0" else [])]), lines)
        stops = [b.stop for b in own if b.stop != str(self.nest.shape[axis])]
        if stops or starts:
            inside = _nested("minimum", [*stops, *([stop] if stop != str(self.nest.shape[axis]) or not stops else [])])
            stop = self._name("stop", f"maximum({start}, {inside})", lines)
        return Range(start, stop)

    def _name(self, hint: str, text: str, lines: Lines) -> str:
        name = self.translation.names.fresh(hint)
        lines.add(f"{name} = {text}")
        return name

    # ---------------------------------------------------------------- loops

    def _fast_and_checked(self, loops: Lines, ranges: list[Range], extra: Limits) -> None:
        """The innermost loop twice. Where an outer coordinate or a test fails, the first has no elements."""
        first, last = self.sections.before[0], self.nest.rank - 1
        whole = ranges[last]
        fast = self._narrowed(last, whole, extra.bounds, first)
        tests = list(extra.tests)
        if tests:
            fast = self._unless(" & ".join(tests), fast, first)
        outer = []
        for axis in range(last):
            narrowed = self._narrowed(axis, ranges[axis], extra.bounds, first)
            if narrowed != ranges[axis]:
                at = self.coords[axis].text
                outer += [f"({at} >= {narrowed.start})"] * (narrowed.start != ranges[axis].start)
                outer += [f"({at} < {narrowed.stop})"]
        outer += self._outer_tests(extra)
        if outer:
            fast = self._unless(" & ".join(outer), fast, self.sections.before[last])
        self._loop(loops, fast, checked=False)
        if fast.start == whole.start:
            self._loop(loops, Range(fast.stop, whole.stop), checked=True)
        else:
            self._around(loops, whole, fast)

    def _outer_tests(self, extra: Limits) -> list[str]:
        """Texts of the tests that the innermost loop does not change; what they need is written in front of it."""
        body = Body(self.translation, self.sections.before, Lines(), True, self.levels, self.shared)
        texts = []
        for test in extra.outer:
            text = body.term(test.value, test.coords).text
            if test.extent is not None:
                index = text if test.value.dtype == I64 else f"to_i64({text})"
                text = f"inside({index}, {test.extent})"
            texts.append(text)
        return texts

    def _unless(self, holds: str, fast: Range, lines: Lines) -> Range:
        """`fast` if the test holds, else empty."""
        return Range(fast.start, self._name("stop", f"select({holds}, {fast.stop}, {fast.start})", lines))

    def _loop(self, loops: Lines, over: Range, checked: bool) -> None:
        start = "" if over.start == "0" else f"{over.start}, "
        short = over.stop.isdigit() and 4 <= int(over.stop) <= SHORT_ROW
        stop = f"length({over.stop})" if short else over.stop
        row = None if checked else self._row_copy()
        stream = self._stream(over) if row is None and not checked else None
        if stream is not None:
            return self._streamed(loops, over, stream)
        if row is not None:
            extent = self.nest.shape[-1]
            loops.nest(f"if {over.stop} - {over.start} == {extent}").add(row)
            loops = loops.nest("else")
        inner = loops.nest(f"for {self.coords[-1].text} in range({start}{stop})")
        self._fill(inner, checked)

    def _stream(self, over: Range) -> Stream | None:
        """If the loop does nothing but store whole rows that go past the cache where they are many."""
        if not self.streaming or over.start != "0" or self.split:
            return None
        return find_stream(self.translation, self.nest.roots, self.coords)

    def _streamed(self, loops: Lines, over: Range, stream: Stream) -> None:
        before = self.sections.before[self.nest.rank - 1]
        body = Body(self.translation, self.sections.before, Lines(), False, self.levels, self.shared)
        row, offset = stream.open(body, before, self.coords)
        at = self.coords[-1].text
        inner = loops.nest(f"for {at} in range({over.stop})")
        self._fill(inner, checked=False, instead=(row, f"{at} * {stream.stride}"))
        loops.add(f"stream_row({stream.tensor}, {offset}, {row}, {over.stop}, {stream.flag})")

    def _row_copy(self) -> str | None:
        """The statement that does the whole innermost loop, if all it does is copy a short row."""
        shape, roots = self.nest.shape, self.nest.roots
        if len(shape) < 2 or not 4 <= shape[-1] <= SHORT_ROW or len(roots) != 1:
            return None
        ends = row_ends(self.translation, roots[0], self.coords)
        if ends is None:
            return None
        body = Body(self.translation, self.sections.before, Lines(), True, self.levels, self.shared)
        first = (*self.coords[:-1], ZERO)
        texts = [end.at(body, first) for end in ends]
        return f"copy_row({', '.join(texts)}, {shape[-1]})"

    def _around(self, loops: Lines, whole: Range, fast: Range) -> None:
        """The elements of `whole` on both sides of `fast`."""
        before = f"({fast.start} - {whole.start})" if whole.start != "0" else fast.start
        step = self.translation.names.fresh("step")
        inner = loops.nest(f"for {step} in range({before} + ({whole.stop} - {fast.stop}))")
        first = f"{whole.start} + {step}" if whole.start != "0" else step
        second = f"{fast.stop} + ({step} - {before})"
        inner.add(f"{self.coords[-1].text} = select({step} < {before}, {first}, {second})")
        self._fill(inner, checked=True)

    def _fill(self, inner: Lines, checked: bool, instead: tuple[str, str] | None = None) -> None:
        """The body: first everything is computed, then everything is stored, so that order does not matter.

        `instead`: the pointer and offset at which the one root, a store, puts its element instead of its tensor.
        """
        body = Body(self.translation, self.sections.before, inner, checked, self.levels, self.shared,
                    self.known, self.nest.shape)
        terms = [root.evaluate(body, self.coords) for root in self.nest.roots]
        if instead is not None:
            inner.add(f"store({', '.join(instead)}, {terms[0][0].text})")
            return
        for root, own in zip(self.nest.roots, terms, strict=True):
            root.act(body, inner, own, self.coords)

    def _assemble(self, loops: Lines, ranges: list[Range]) -> None:
        lines = self.translation.lines
        opened = [lines]
        lines.extend(self.sections.before[0])
        for axis in range(self.nest.rank - 1):
            over = ranges[axis]
            start = "" if over.start == "0" else f"{over.start}, "
            lines = lines.nest(f"for {self.coords[axis].text} in range({start}{over.stop})")
            lines.extend(self.sections.before[axis + 1])
            opened.append(lines)
        lines.extend(loops)
        for axis in reversed(range(self.nest.rank)):
            opened[axis].extend(self.sections.after[axis])


def _same(a: Limits, b: Limits) -> bool:
    return set(a.bounds) == set(b.bounds) and set(a.tests) == set(b.tests) and set(a.outer) == set(b.outer)


def _nested(word: str, texts: list[str]) -> str:
    """word(a, word(b, c))"""
    unique = list(dict.fromkeys(texts))
    text = unique[-1]
    for other in reversed(unique[:-1]):
        text = f"{word}({other}, {text})"
    return text
