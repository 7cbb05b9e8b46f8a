"""Chapter 9."""

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "linearize": Proof(
        (
            text(
                "column-major",
                """
def linearize(coordinates, shape):
    number, step = 0, 1
    for c, e in zip(coordinates, shape):
        number, step = number + c * step, step * e
    return number
""",
                r"row by row",
            ),
            change("adds only", "number * extent + coordinate", "number + coordinate", r"row by row"),
            change(
                "multiplies by the coordinate",
                "number * extent + coordinate",
                "number * coordinate + extent",
                r"row by row",
            ),
            text(
                "two axes only",
                """
def linearize(coordinates, shape):
    return coordinates[0] * shape[1] + coordinates[1]
""",
                r"IndexError",
            ),
            change("counts from one", "    number = 0", "    number = 1", r"row by row"),
        ),
        (
            """
from math import prod


def linearize(coordinates, shape):
    return sum(c * prod(shape[axis + 1 :]) for axis, c in enumerate(coordinates))
""",
            """
def linearize(coordinates, shape):
    if not shape:
        return 0
    return linearize(coordinates[:-1], shape[:-1]) * shape[-1] + coordinates[-1]
""",
        ),
    ),
    "delinearize": Proof(
        (
            change("from the left", "reversed(shape)", "shape", r"rows of 4"),
            change("not turned round", "tuple(reversed(found))", "tuple(found)", r"rows of 4"),
            change("a list", "tuple(reversed(found))", "list(reversed(found))", r"a list, where a tuple"),
            change(
                "quotient for remainder", "number, coordinate = divmod", "coordinate, number = divmod", r"rows of 4"
            ),
            text(
                "two axes only",
                """
def delinearize(number, shape):
    return divmod(number, shape[-1])
""",
                r"IndexError|one axis|no coordinates|found",
            ),
        ),
        (
            """
def delinearize(number, shape):
    result = ()
    for extent in shape[::-1]:
        result = (number % extent, *result)
        number //= extent
    return result
""",
            """
from math import prod


def delinearize(number, shape):
    return tuple(number // prod(shape[axis + 1 :]) % extent for axis, extent in enumerate(shape))
""",
        ),
    ),
    "place": Proof(
        (
            change(
                "swapped",
                "return run % self.threads, run // self.threads * self.vector + within",
                "return run // self.threads * self.vector + within, run % self.threads",
                r"threads 0 1 2 3",
            ),
            change(
                "blocks of elements",
                "return run % self.threads, run // self.threads * self.vector + within",
                "return number // self.registers, number % self.registers",
                r"threads 0 1 2 3",
            ),
            change(
                "the last axis alone",
                "number = linearize(coordinates, self.shape)",
                "number = coordinates[-1]",
                r"across rows|row-major",
            ),
            change(
                "column-major",
                "linearize(coordinates, self.shape)",
                "linearize(coordinates[::-1], self.shape[::-1])",
                r"row-major",
            ),
            change("warps of 32", "self.threads", "32", r"threads 0 1 2 3"),
            change("no runs", "run, within = divmod(number, self.vector)", "run, within = number, 0", r"vector of 4"),
            change(
                "runs in other registers",
                "run // self.threads * self.vector + within",
                "within * self.registers + run // self.threads",
                r"threads|vector of 4|register",
            ),
        ),
        (
            """
def place(self, coordinates):
    number = linearize(coordinates, self.shape)
    rest, thread = divmod(number // self.vector, self.threads)
    return thread, rest * self.vector + number % self.vector
""",
            """
import numpy as np


def place(self, coordinates):
    number = int(np.ravel_multi_index(coordinates, self.shape)) if self.shape else 0
    per_round = self.threads * self.vector
    lap, here = divmod(number, per_round)
    return here // self.vector, lap * self.vector + here % self.vector
""",
        ),
    ),
    "coordinates": Proof(
        (
            change("no padding", " if number < self.size else None", "", r"padding|holds nothing|ValueError|inverse"),
            change("one too many", "number < self.size", "number <= self.size", r"padding|holds nothing"),
            change("swapped", "run * self.threads + thread", "thread * self.threads + run", r"r \* threads \+ t"),
            change(
                "blocks of elements",
                "run * self.threads + thread",
                "thread * self.registers + run",
                r"r \* threads \+ t",
            ),
            change("no runs", "divmod(register, self.vector)", "(register, 0)", r"four neighbours"),
            change("the number itself", "delinearize(number, self.shape) if", "(number,) if", r"inverse"),
            change("zero for padding", "else None", "else delinearize(0, self.shape)", r"padding|holds nothing"),
        ),
        (
            """
def coordinates(self, thread, register):
    for number in range(self.size):
        run = number // self.vector
        if (run % self.threads, run // self.threads * self.vector + number % self.vector) == (thread, register):
            return delinearize(number, self.shape)
    return None
""",
            """
import numpy as np


def coordinates(self, thread, register):
    number = self.vector * (thread + self.threads * (register // self.vector)) + register % self.vector
    if number >= self.size:
        return None
    return tuple(int(i) for i in np.unravel_index(number, self.shape)) if self.shape else ()
""",
        ),
    ),
    "split": Proof(
        (
            change(
                "gaps allowed",
                "    if list(axes) != list(range(axes[0], axes[-1] + 1)):\n        return None\n",
                "",
                r"between them",
            ),
            change(
                "the first axis only",
                "first, last = axes[0], axes[-1] + 1",
                "first, last = axes[0], axes[0] + 1",
                r"count together",
            ),
            change(
                "outer and inner swapped",
                "prod(shape[:first]), prod(shape[first:last]) // vector, prod(shape[last:])",
                "prod(shape[last:]), prod(shape[first:last]) // vector, prod(shape[:first])",
                r"in front|either side",
            ),
            change("one axis more", "axes[-1] + 1\n    return", "axes[-1] + 2\n    return", r"either side|in front"),
            change("sums", "prod(shape[first:last])", "sum(shape[first:last])", r"together"),
            change("elements, not runs", " // vector", "", r"runs of 4"),
        ),
        (
            """
def split(shape, axes, threads, vector=1):
    if axes[-1] - axes[0] + 1 != len(axes):
        return None
    outer = length = inner = 1
    for axis, extent in enumerate(shape):
        if axis in axes:
            length *= extent
        elif axis < axes[0]:
            outer *= extent
        else:
            inner *= extent
    return Split(outer, length // vector, inner, threads, vector)
""",
            """
def split(shape, axes, threads, vector=1):
    if any(b - a != 1 for a, b in zip(axes, axes[1:])):
        return None
    length = prod(shape[a] for a in axes)
    outer = prod(shape[: axes[0]])
    return Split(outer, length // vector, prod(shape) // (outer * length), threads, vector)
""",
        ),
    ),
    "blocked_place": Proof(
        (
            change(
                "lanes before registers",
                "divmod(coordinate, held)",
                "divmod(coordinate, side_by_side)",
                r"registers first|lanes|warp",
            ),
            text(
                "the first axis fastest",
                """
def blocked_place(coordinates, per_thread, lanes, warps):
    warp = lane = register = 0
    for c, h, s, n in list(zip(coordinates, per_thread, lanes, warps))[::-1]:
        c, inside = divmod(c, h)
        place, thread = divmod(c, s)
        warp, lane, register = warp * n + place, lane * s + thread, register * h + inside
    return warp, lane, register
""",
                r"last axis|patch|row-major",
            ),
            text(
                "one axis only",
                """
def blocked_place(coordinates, per_thread, lanes, warps):
    c, inside = divmod(coordinates[-1], per_thread[-1])
    place, thread = divmod(c, lanes[-1])
    return place, thread, inside
""",
                r"last axis|patch",
            ),
            change("warps not counted on", "warp * count + place", "warp + place", r"row-major|warps|inside out"),
            change(
                "threads of all warps",
                "return warp, lane, register",
                "return warp, warp * 32 + lane, register",
                r"next warp",
            ),
            change(
                "the order of the answer",
                "return warp, lane, register",
                "return lane, warp, register",
                r"lanes count up|next warp",
            ),
        ),
        (
            """
from math import prod


def blocked_place(coordinates, per_thread, lanes, warps):
    def number(digits, extents):
        return sum(d * prod(extents[i + 1 :]) for i, d in enumerate(digits))

    inside = [c % h for c, h in zip(coordinates, per_thread)]
    lane = [c // h % s for c, h, s in zip(coordinates, per_thread, lanes)]
    warp = [c // (h * s) for c, h, s in zip(coordinates, per_thread, lanes)]
    return number(warp, warps), number(lane, lanes), number(inside, per_thread)
""",
            """
import numpy as np


def blocked_place(coordinates, per_thread, lanes, warps):
    digits = [np.unravel_index(c, (w, n, h)) for c, h, n, w in zip(coordinates, per_thread, lanes, warps)]
    shapes = (warps, lanes, per_thread)
    return tuple(int(np.ravel_multi_index([d[i] for d in digits], shapes[i])) for i in range(3))
""",
        ),
    ),
}
