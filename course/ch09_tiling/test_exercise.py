"""Graders of chapter 9."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np

from course.checking import check, fresh
from course.learner import Learner
from tilelang.tiling.layout import LinearLayout


def _shape(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 4)))


# --- linearize --------------------------------------------------------------------------------------


def test_rows_come_one_after_another(linearize: Learner) -> None:
    for row, column in itertools.product(range(3), range(4)):
        check(linearize, (row, column), (3, 4), gives=row * 4 + column, why="row by row, each of 4 elements")


def test_other_ranks(linearize: Learner) -> None:
    check(linearize, (), (), gives=0, why="a scalar has one element, number 0")
    check(linearize, (5,), (7,), gives=5, why="along one axis the coordinate is the number")
    check(linearize, (1, 0, 2), (2, 3, 4), gives=14, why="one whole plane of 12, no row, and 2")


def test_numbers_like_numpy(linearize: Learner) -> None:
    rng = fresh()
    for _ in range(40):
        shape = _shape(rng)
        coordinates = tuple(rng.randrange(extent) for extent in shape)
        expected = int(np.ravel_multi_index(coordinates, shape))
        check(linearize, coordinates, shape, gives=expected, why="NumPy's row-major order")


# --- delinearize ------------------------------------------------------------------------------------


def test_coordinates_of_rows(delinearize: Learner) -> None:
    for number in range(12):
        check(delinearize, number, (3, 4), gives=(number // 4, number % 4), why="rows of 4 elements")


def test_scalars_and_vectors(delinearize: Learner) -> None:
    check(delinearize, 0, (), gives=(), why="a scalar has no coordinates")
    check(delinearize, 5, (7,), gives=(5,), why="along one axis the number is the coordinate")
    check(delinearize, 14, (2, 3, 4), gives=(1, 0, 2), why="one plane of 12, no row of 4, and 2")


def test_coordinates_like_numpy(delinearize: Learner) -> None:
    rng = fresh()
    for _ in range(40):
        shape = _shape(rng)
        number = rng.randrange(math.prod(shape))
        expected = tuple(int(i) for i in np.unravel_index(number, shape))
        check(delinearize, number, shape, gives=expected, why="NumPy's row-major order")


# --- place ------------------------------------------------------------------------------------------


def test_neighbours_belong_to_neighbouring_threads(place: Learner) -> None:
    for number in range(12):
        check(
            place,
            LinearLayout((12,), 4),
            (number,),
            gives=(number % 4, number // 4),
            why="threads 0 1 2 3, and again from 0 with the next register",
        )


def test_places_in_rows(place: Learner) -> None:
    for row, column in itertools.product(range(3), range(5)):
        number = row * 5 + column
        check(
            place,
            LinearLayout((3, 5), 4),
            (row, column),
            gives=(number % 4, number // 4),
            why="elements are counted in row-major order, across rows",
        )


def test_runs_of_neighbours(place: Learner) -> None:
    for number in range(32):
        run, within = number // 4, number % 4
        check(
            place,
            LinearLayout((2, 16), 4, 4),
            (number // 16, number % 16),
            gives=(run % 4, run // 4 * 4 + within),
            why="with a vector of 4, four neighbours stay in one thread, in neighbouring registers",
        )


def test_more_threads_than_elements(place: Learner) -> None:
    for number in range(3):
        check(place, LinearLayout((3,), 32), (number,), gives=(number, 0), why="one register is enough")


def test_every_place_once(place: Learner) -> None:
    rng = fresh()
    for _ in range(6):
        shape, threads = _shape(rng)[:2], rng.choice((1, 2, 8))
        for number, coordinates in enumerate(np.ndindex(shape)):
            check(
                place,
                LinearLayout(shape, threads),
                coordinates,
                gives=(number % threads, number // threads),
                why="element number e is in thread e % threads, register e // threads",
            )


# --- coordinates ------------------------------------------------------------------------------------


def test_places_and_their_elements(coordinates: Learner) -> None:
    for thread, register in itertools.product(range(4), range(3)):
        check(
            coordinates,
            LinearLayout((12,), 4),
            thread,
            register,
            gives=(register * 4 + thread,),
            why="register r of thread t holds element r * threads + t",
        )


def test_padding_holds_nothing(coordinates: Learner) -> None:
    for thread in range(4):
        expected = (8 + thread,) if thread < 2 else None
        check(
            coordinates,
            LinearLayout((10,), 4),
            thread,
            2,
            gives=expected,
            why="10 elements: places 10 and 11 are padding",
        )
    check(coordinates, LinearLayout((3,), 32), 3, 0, gives=None, why="3 elements on 32 threads: thread 3 holds nothing")


def test_elements_of_runs(coordinates: Learner) -> None:
    for thread, register in itertools.product(range(4), range(8)):
        expected = ((register // 4 * 4 + thread) * 4 + register % 4,)
        check(
            coordinates,
            LinearLayout((32,), 4, 4),
            thread,
            register,
            gives=expected,
            why="with a vector of 4, registers 0 to 3 hold four neighbours",
        )


def test_elements_of_tiles(coordinates: Learner) -> None:
    rng = fresh()
    for _ in range(8):
        shape, threads = _shape(rng), rng.choice((1, 3, 4, 32))
        size = math.prod(shape)
        for _ in range(8):
            thread, register = rng.randrange(threads), rng.randrange(-(-size // threads))
            number = register * threads + thread
            expected = tuple(int(i) for i in np.unravel_index(number, shape)) if number < size else None
            check(
                coordinates,
                LinearLayout(shape, threads),
                thread,
                register,
                gives=expected,
                why="the inverse of `place`",
            )


# --- split ------------------------------------------------------------------------------------------


def test_one_axis(split: Learner) -> None:
    parts = split.via("split_of")
    check(parts, (2, 3, 4), (0,), 32, gives=(1, 2, 12, 32, 1), why="nothing in front: 1")
    check(parts, (2, 3, 4), (1,), 32, gives=(2, 3, 4, 32, 1), why="one axis on either side")
    check(parts, (2, 3, 4), (2,), 32, gives=(6, 4, 1, 32, 1), why="nothing behind: 1")


def test_several_axes(split: Learner) -> None:
    parts = split.via("split_of")
    check(parts, (2, 3, 4, 5), (1, 2), 64, gives=(2, 12, 5, 64, 1), why="the reduced axes count together")
    check(parts, (2, 3, 4), (0, 1, 2), 8, gives=(1, 24, 1, 8, 1), why="all of them")


def test_axes_that_are_no_neighbours(split: Learner) -> None:
    for axes in ((0, 2), (0, 1, 3), (1, 3)):
        check(split.via("split_of"), (2, 3, 4, 5), axes, 32, gives=None, why="there is an axis between them")


def test_runs_instead_of_elements(split: Learner) -> None:
    for shape, axes, expected in (((4, 64), (1,), (4, 16, 1, 32, 4)), ((2, 3, 8), (1, 2), (2, 6, 1, 32, 4))):
        check(
            split.via("split_of"),
            shape,
            axes,
            32,
            4,
            gives=expected,
            why="with a vector of 4 the length counts runs of 4",
        )


def test_any_tile(split: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        shape = tuple(rng.randint(1, 7) for _ in range(4))
        first = rng.randrange(4)
        last = rng.randrange(first, 4)
        axes = tuple(range(first, last + 1))
        expected = (math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :]), 32, 1)
        check(split.via("split_of"), shape, axes, 32, gives=expected, why="elements in front, reduced, behind")


# --- blocked_place ----------------------------------------------------------------------------------


def _table(
    per_thread: tuple[int, ...], lanes: tuple[int, ...], warps: tuple[int, ...]
) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """All places, from the other side: for each warp, lane and register the element that it holds."""
    found = {}
    numbers = [list(np.ndindex(shape)) for shape in (warps, lanes, per_thread)]
    for (w, warp), (n, lane), (r, register) in itertools.product(*(list(enumerate(ns)) for ns in numbers)):
        element = tuple((warp[a] * lanes[a] + lane[a]) * per_thread[a] + register[a] for a in range(len(lanes)))
        found[element] = w, n, r
    return found


def _checked(blocked_place: Learner, per_thread: tuple, lanes: tuple, warps: tuple, why: str, some: int = 64) -> None:
    table = _table(per_thread, lanes, warps)
    elements = sorted(table)
    for element in elements if len(elements) <= some else fresh().sample(elements, some):
        check(blocked_place, element, per_thread, lanes, warps, gives=table[element], why=why)


def test_one_axis_of_registers_lanes_warps(blocked_place: Learner) -> None:
    _checked(blocked_place, (1,), (8,), (1,), "one element a thread: lanes count up")
    _checked(blocked_place, (4,), (2,), (1,), "four elements a thread: registers first, then lanes")
    _checked(blocked_place, (2,), (4,), (2,), "when all lanes of a warp are full the next warp begins")


def test_rows_and_columns(blocked_place: Learner) -> None:
    _checked(blocked_place, (1, 4), (2, 4), (1, 1), "the last axis counts fastest among registers and lanes")
    _checked(blocked_place, (2, 2), (2, 4), (2, 1), "a thread's patch of 2 x 2, warps one below the other")
    _checked(blocked_place, (2, 1), (4, 2), (1, 2), "a thread's patch of 2 x 1, warps side by side")


def test_unequal_axes(blocked_place: Learner) -> None:
    _checked(blocked_place, (1, 2), (2, 2), (2, 2), "warps are numbered in row-major order too")
    _checked(blocked_place, (3, 2), (4, 8), (2, 3), "extents need not be powers of two")


def test_random_layouts(blocked_place: Learner) -> None:
    rng = fresh()
    for _ in range(6):
        rank = rng.randint(1, 3)
        shapes = [tuple(rng.choice((1, 2, 3)) for _ in range(rank)) for _ in range(3)]
        _checked(blocked_place, *shapes, "from the inside out: register, lane, warp", 20)
