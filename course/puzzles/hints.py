"""The likely cause of wrong values, from their pattern: which elements are wrong, on which shapes, and by how much.

Each rule looks for one pattern, and gives a sentence or None; the first that speaks is taken. Cases are judged in the
order of `cases`, plain ones first: what fails first at "special" was right for ordinary numbers on every shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from course.puzzles import capstone
from course.puzzles.cases import Case, is_poison
from course.puzzles.slips import SLIPS as SLIPS_OF_PUZZLES
from course.puzzles.specs import Array

SLIPS = {**SLIPS_OF_PUZZLES, capstone.CAPSTONE.name: capstone.SLIPS}


@dataclass(frozen=True)
class Pattern:
    """What a rule looks at: the first run that is wrong, and what is known of the others.

    `wrong`: which elements, bool. `kinds`: for each kind of case whether all of it is right. `runs`: every case with
    what was found.
    """

    found: Array
    expected: Array
    wrong: Array
    case: Case
    kinds: Mapping[str, bool]
    runs: Sequence[tuple[Case, Array]]

    @property
    def name(self) -> str:
        return self.case.output

    @property
    def only(self) -> frozenset[str]:
        """The kinds that are not right."""
        return frozenset(kind for kind, ok in self.kinds.items() if not ok)


Rule = Callable[[Pattern], str | None]


def likely_cause(pattern: Pattern) -> str:
    """A sentence, or nothing if no rule knows the pattern."""
    return next((said for rule in RULES if (said := rule(pattern))), "")


# ------------------------------------------------------------------------------------ rules that are sure


def never_written(p: Pattern) -> str | None:
    missing = is_poison(p.found)
    if missing.all():
        return f"nothing is stored to `{p.name}` at all, or the grid is empty, or a `where` is never true"
    if not missing.any():
        return None
    start = _start(missing)
    if start is None:
        count = np.count_nonzero(missing)
        return f"{count:,} elements are never written, with others between them: which program owns them?"
    axis, first = start
    return (
        f"{_along(p, axis)}from {first} on nothing is written: do the programs of the grid cover `{p.name}`? "
        "cdiv(N, BLOCK) rounds up, N // BLOCK rounds down"
    )


def order_of_programs(p: Pattern) -> str | None:
    if p.only != {"alone"}:
        return None
    return (
        "right when all programs run at the same time, wrong when one runs after another: two programs write the same "
        "elements, and it is left open which comes last; mask one of them with `where`"
    )


def known_slip(p: Pattern) -> str | None:
    """Exactly what a slip that people make with this puzzle gives, on every shape."""
    plain = ("even", "ragged", "prime", "one")
    if p.case.kind not in plain:
        return None
    runs = [(case, found) for case, found in p.runs if case.kind in plain]
    for said, slip in SLIPS.get(p.case.puzzle.name, ()):
        with np.errstate(all="ignore"):
            if all(_same(found, slip(**case.inputs)) for case, found in runs):
                return said
    return None


def turned(p: Pattern) -> str | None:
    """The right numbers with the axes exchanged."""
    if p.found.ndim < 2 or min(p.found.shape[-2:]) == 1:
        return None
    if _same(p.found.swapaxes(-1, -2), p.expected):
        return f"`{p.name}` holds the right result transposed: rows and columns are exchanged in an index or a `dot`"
    if _same(p.found, p.expected.swapaxes(-1, -2).reshape(p.found.shape)):
        return f"`{p.name}` is filled in the order of its transpose"
    return None


def shifted(p: Pattern) -> str | None:
    """Each element holds what belongs to its neighbour."""
    for axis in range(p.found.ndim):
        end = p.found.shape[axis] - 1
        if end < 3:
            continue
        found, expected = _slices(p.found, axis), _slices(p.expected, axis)
        for far, here, there in (("next", (0, end), (1, end + 1)), ("last", (1, end + 1), (0, end))):
            if _mostly(found(*here), expected(*there)) and not _mostly(found(*here), expected(*here)):
                return f"off by one along axis {axis}: an element holds what belongs to the {far} one"
    return None


# ------------------------------------------------------------------------------- rules about kinds of cases


def not_a_number(p: Pattern) -> str | None:
    """NaN where a number is expected."""
    if p.found.dtype.kind != "f" or not (np.isnan(p.found) & ~np.isnan(p.expected)).any():
        return None
    if p.case.kind == "large":
        return "exp overflows to inf for large inputs, and inf / inf is NaN: subtract the maximum first"
    if p.case.kind == "special":
        return (
            "NaN where a number is expected, only with inf among the inputs: inf - inf and 0 * inf are NaN "
            "(`select` takes one value and does not compute with the other)"
        )
    return "NaN comes of inf - inf, 0 * inf and 0 / 0: what do elements outside read as, and can a sum be 0?"


def specials_only(p: Pattern) -> str | None:
    if p.case.kind == "special":
        return (
            "right for ordinary numbers, wrong with inf or NaN: a comparison with NaN is false, 0 * inf is NaN, and a "
            "start value such as 0 or -1e9 is not -inf"
        )
    if p.case.kind == "large":
        return "right for ordinary numbers, wrong for large ones: does something overflow?"
    return None


def only_where_ragged(p: Pattern) -> str | None:
    """Right where every extent is a multiple of the tile's."""
    if not p.kinds.get("even") or not p.only & {"ragged", "prime", "one"}:
        return None
    return (
        "right where tiles fit exactly, wrong where the last one reaches past the end. An index outside reads as 0, or "
        "as what stands behind `else`: does that take part, or is it counted? A `where` or another `else` keeps it "
        "out. Or is the last, partial tile left out?"
    )


# -------------------------------------------------------------------------------------- rules that guess


def lost_counts(p: Pattern) -> str | None:
    """A count that is too small wherever it is wrong."""
    if p.found.dtype.kind != "i" or not (p.found[p.wrong] < p.expected[p.wrong]).all():
        return None
    return (
        "counts are lost: `counts[b] += 1` reads, adds and writes, and of two that do so at one time one is forgotten; "
        "use `atomic_add`"
    )


def all_zero(p: Pattern) -> str | None:
    if p.found.any() or not p.expected.any():
        return None
    return f"every element of `{p.name}` is 0: is what was computed thrown away, or read from outside a tensor?"


def constant_factor(p: Pattern) -> str | None:
    """All elements too large by one and the same factor."""
    usable = np.isfinite(p.found) & np.isfinite(p.expected) & (np.abs(p.expected) > 1e-3)
    if p.found.dtype.kind != "f" or np.count_nonzero(usable) < 8:
        return None
    ratio = p.found[usable] / p.expected[usable]
    middle = float(np.median(ratio))
    if abs(middle) < 1e-3 or abs(middle - 1) < 1e-2 or np.abs(ratio / middle - 1).max() > 1e-3:
        return None
    return f"every element is {middle:.4g} times what it should be: is a factor missing, or there twice?"


def same_along_an_axis(p: Pattern) -> str | None:
    """Every row alike, or every column, where the expected ones are not."""
    for axis in range(p.found.ndim):
        if p.found.shape[axis] > 1 and _is_same_along(p.found, axis) and not _is_same_along(p.expected, axis):
            return f"`{p.name}` is constant along axis {axis}: is the wrong axis reduced, or half an index missing?"
    return None


def from_some_index_on(p: Pattern) -> str | None:
    """Right at the beginning of an axis, wrong from some index on."""
    start = _start(p.wrong)
    if start is None or start[1] == 0:
        return None
    axis, first = start
    if 2 * first > p.wrong.shape[axis]:
        return f"{_along(p, axis)}all before {first} is right: is the last tile left out, or that of an earlier step?"
    return (
        f"{_along(p, axis)}the first {first} are right and hardly anything behind them: is what one step hands on to "
        "the next (a carry, an accumulator, a start index) brought up to date?"
    )


def everywhere(p: Pattern) -> str | None:
    if p.wrong.mean() <= 0.5:
        return None
    return "most elements are wrong: look at the formula, the axis of a reduction, and which index goes with which axis"


RULES: tuple[Rule, ...] = (
    never_written, order_of_programs, known_slip, turned, shifted,
    not_a_number, specials_only, only_where_ragged,
    lost_counts, all_zero, constant_factor, same_along_an_axis, from_some_index_on, everywhere,
)  # fmt: skip
"""Those that are sure come first."""


# -------------------------------------------------------------------------------------------------- looking


def _start(marks: Array) -> tuple[int, int] | None:
    """(axis, index) if nothing is marked before that index of that axis, and nearly everything from there on."""
    for axis in range(marks.ndim):
        others = tuple(a for a in range(marks.ndim) if a != axis)
        some, every = np.asarray(marks.any(axis=others)), np.asarray(marks.all(axis=others))
        first = int(np.argmax(some))
        if marks.shape[axis] > 1 and some[first:].all() and every[first:].mean() > 0.9:
            return axis, first
    return None


def _along(p: Pattern, axis: int) -> str:
    return "" if p.wrong.ndim == 1 else f"along axis {axis} "


def _slices(x: Array, axis: int) -> Callable[[int, int], Array]:
    return lambda start, stop: x[(slice(None),) * axis + (slice(start, stop),)]


def _is_same_along(x: Array, axis: int) -> bool:
    return _same(x, np.broadcast_to(_slices(x, axis)(0, 1), x.shape))


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True))


def _mostly(a: Array, b: Array) -> bool:
    """Alike but for the ends of tiles."""
    return bool(np.isclose(a, b, rtol=1e-3, atol=1e-6).mean() > 0.9)
