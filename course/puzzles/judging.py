"""Is what was found what was expected? And if not: the first difference, and what the runs have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from course.puzzles.cases import is_poison
from course.puzzles.hints import Pattern, likely_cause
from course.puzzles.running import Outcome, Wrong
from course.puzzles.specs import Array
from course.puzzles.table import Puzzle
from course.puzzles.traffic import Moved

RELATIVE, ABSOLUTE = 1e-4, 2e-6
"""The error allowed of an f32: relative to the element, and to the largest element of the result (at least 1)."""
SLACK = 1.1
"""The bound is so many times the ideal traffic, for what the ends of tiles cost."""

KINDS = {
    "even": "even shapes",
    "ragged": "ragged shapes",
    "prime": "prime shapes",
    "one": "shapes with a 1",
    "large": "large inputs",
    "special": "inf and NaN",
    "views": "strided views",
    "alone": "programs one after another",
    "model": "the machine model",
}

# --------------------------------------------------------------------------------------------------- values


def differs(found: Array, expected: Array) -> Array:
    """Where they differ by more than rounding, bool of their shape. Poison is never right."""
    if expected.dtype.kind != "f":
        return found != expected
    size = np.abs(expected[np.isfinite(expected)], dtype=np.float64).max(initial=1.0)
    with np.errstate(all="ignore"):
        close = np.isclose(found, expected, rtol=RELATIVE, atol=ABSOLUTE * size, equal_nan=True)
    return ~close | is_poison(np.ascontiguousarray(found))


def check_values(outcomes: Sequence[Outcome]) -> None:
    """Raises Wrong for the first case whose values are not right; it says which others are."""
    right = [not differs(outcome.found, outcome.case.expected).any() for outcome in outcomes]
    if all(right):
        return
    kinds: dict[str, bool] = {}
    for outcome, ok in zip(outcomes, right, strict=True):
        kinds[outcome.case.kind] = kinds.get(outcome.case.kind, True) and ok
    raise Wrong(_wrong_values(outcomes[right.index(False)], outcomes, kinds))


def _wrong_values(outcome: Outcome, outcomes: Sequence[Outcome], kinds: dict[str, bool]) -> str:
    case, found, expected = outcome.case, np.ascontiguousarray(outcome.found), outcome.case.expected
    wrong = differs(found, expected)
    first = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    saw = "nothing: never written" if is_poison(found)[first] else _number(found[first])
    good = [KINDS[kind] for kind, ok in kinds.items() if ok]
    lines = [
        f"wrong values for {case}",
        f"  {case.output}[{', '.join(map(str, first))}]: expected {_number(expected[first])}, found {saw}",
        f"  {np.count_nonzero(wrong):,} of {wrong.size:,} elements are wrong, this is the first; "
        f"{case.output} has shape {expected.shape}",
        f"  given: {', '.join(_describe(name, value) for name, value in case.inputs.items())}",
        f"  right for: {', '.join(good) or 'none of the shapes'}",
    ]
    with np.errstate(all="ignore"):
        runs = [(other.case, other.found) for other in outcomes]
        cause = likely_cause(Pattern(found, expected, wrong, case, kinds, runs))
    return "\n".join([*lines, *([f"  likely cause: {cause}"] if cause else [])])


def _number(x: object) -> str:
    return f"{x:.6g}" if isinstance(x, np.floating) else str(x)


def _describe(name: str, value: Array | float) -> str:
    if not isinstance(value, np.ndarray):
        return f"{name} = {value:.6g}"
    return f"{name}: {value.dtype.kind}{value.itemsize * 8}[{', '.join(map(str, value.shape))}]"


# --------------------------------------------------------------------------------------------- surroundings


def check_surroundings(outcomes: Sequence[Outcome]) -> None:
    """Raises Wrong if anything but the output's own elements was written."""
    for outcome in outcomes:
        name, whole = outcome.case.output, outcome.arena.whole
        spoilt = outcome.arena.outside() & ~is_poison(whole)
        if spoilt.any():
            first = tuple(int(i) for i in np.unravel_index(int(np.argmax(spoilt)), spoilt.shape))
            raise Wrong(
                f"{np.count_nonzero(spoilt):,} elements beside {name} were written, for {outcome.case}\n"
                f"  {name} is a part of a larger array of shape {whole.shape}; "
                f"element {first} of that is now {_number(whole[first])}"
            )
        for name, before in outcome.before.items():
            if before.tobytes() != np.ascontiguousarray(outcome.case.inputs[name]).tobytes():
                raise Wrong(f"the input {name} was changed, for {outcome.case}")


# -------------------------------------------------------------------------------------------------- traffic


def check_traffic(puzzle: Puzzle, moved: Moved) -> None:
    """Raises Wrong if more bytes were moved than the puzzle allows."""
    ideal = puzzle.traffic.ideal
    bound = int(sum(ideal.values()) * SLACK)
    if moved.total <= bound:
        return
    dims = ", ".join(f"{name}={extent}" for name, extent in puzzle.traffic.dims.items())
    width = len(f"{moved.total:,}")
    lines = [
        f"right values, but too much memory traffic for {dims}",
        f"  moved:   {moved.total:>{width},} bytes",
        f"  allowed: {bound:>{width},} bytes, {SLACK - 1:.0%} more than needed for",
        *(f"           {count:>{width},} {what}" for what, count in ideal.items()),
        "  by line of your file:",
        *(f"           {x.moved:>{width},} {x.tensor}, in line {x.number}: {x.text}" for x in moved.lines),
        f"  likely cause: {_wasteful(moved)}",
    ]
    raise Wrong("\n".join(lines))


def _wasteful(moved: Moved) -> str:
    """What is wrong with the tensor that causes most of the traffic beyond moving everything once."""
    excess: dict[str, float] = {}
    for line in moved.lines:
        excess[line.tensor] = excess.get(line.tensor, -line.size) + line.moved
    tensor = max(excess, key=lambda name: excess[name])
    lines = [line for line in moved.lines if line.tensor == tensor]
    for line in lines:
        if line.wanted < 0.6 * line.moved:
            return (
                f"of the sectors of `{tensor}` that line {line.number} moves, {line.wanted / line.moved:.0%} is used: "
                "neighbouring elements of the tile lie far apart in memory; let it reach along the last axis"
            )
    times = f"`{tensor}` is moved {excess[tensor] / lines[0].size + 1:.3g} times"
    if len(lines) > 1:
        places = ", ".join(dict.fromkeys(str(line.number) for line in lines))
        return f"{times}, in {len(lines)} places (lines {places}): keep in a variable what is needed again"
    return f"{times} in line {lines[0].number}: by more programs than need it; larger tiles help"
