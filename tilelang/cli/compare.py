"""`tilec run --expect y=ref.npy`: is an output what it should be, and if not, where and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang.cli.faults import Fault
from tilelang.cli.summary import short, type_of
from tilelang.ir.host_types import from_numpy
from tilelang.rendering import printable
from tilelang.runtime.tuning.agreement import TOLERANCES, wrong_elements

EXAMPLES = 5
"""How many wrong elements are listed."""


@dataclass(frozen=True)
class Tolerance:
    """An element is right if |found - expected| <= atol + rtol * |expected|; NaN equals NaN, inf inf."""

    rtol: float
    atol: float


def tolerance_for(array: np.ndarray, rtol: float | None, atol: float | None) -> Tolerance:
    """What was asked for, and the default of the element type for what was not.

    Sums may be reordered, so the last digits may differ; integers and bools must be equal.
    """
    dtype = from_numpy(array.dtype)
    default = TOLERANCES.get(dtype, 0.0) if dtype is not None else 0.0
    return Tolerance(default if rtol is None else rtol, default if atol is None else atol)


def compare(name: str, found: np.ndarray, expected: np.ndarray, reference: str, tolerance: Tolerance) -> str:
    """One line that says that output `name` is as expected.

    Raises:
        Fault: E0730, the shapes or kinds of element differ; E0731, elements do. `reference` names the file.
    """
    reference = printable(reference)
    if found.shape != expected.shape or expected.dtype.kind in "OSUMmc":
        raise Fault(
            "E0730", f"`{name}` cannot be compared with `{reference}`",
            notes=(f"expected: {type_of(expected)} (from the file)", f"found: {type_of(found)}"),
        )  # fmt: skip
    wrong = wrong_elements(found, expected, tolerance.rtol, tolerance.atol)
    bounds = f"rtol {tolerance.rtol:g}, atol {tolerance.atol:g}"
    if not wrong.any():
        return f"{name} is as expected ({reference}; {bounds})"
    count = int(np.count_nonzero(wrong))
    raise Fault(
        "E0731", f"`{name}` differs from `{reference}` in {count} of {found.size} elements",
        notes=(f"an element may be off by {bounds}", *_report(name, found, expected, wrong)),
    )  # fmt: skip


def _report(name: str, found: np.ndarray, expected: np.ndarray, wrong: np.ndarray) -> list[str]:
    """The first wrong elements, and the worst."""
    places = np.argwhere(wrong)
    lines = [_element(name, tuple(place), found, expected) for place in places[:EXAMPLES]]
    if len(places) > EXAMPLES:
        lines.append(f"... and {len(places) - EXAMPLES} more")
    with np.errstate(all="ignore"):
        error = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    # An element that is NaN on one side only is further off than any number.
    error = np.where(wrong, np.where(np.isnan(error), np.inf, error), -1.0)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(error)), error.shape))
    notes = ["\n".join(lines)]
    if len(places) > 1:
        notes.append("the worst is " + _element(name, worst, found, expected))
    return notes


def _element(name: str, place: tuple[int, ...], found: np.ndarray, expected: np.ndarray) -> str:
    index = ", ".join(str(int(i)) for i in place)
    where = f"{name}[{index}]" if place else name
    off = abs(float(found[place]) - float(expected[place]))
    return f"{where} is {short(found[place])}, expected {short(expected[place])} (off by {off:.3g})"
