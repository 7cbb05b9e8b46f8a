"""Graders of chapter 12."""

from __future__ import annotations

import hashlib
import math
import random
from types import SimpleNamespace

import ml_dtypes
import numpy as np

from course.checking import check, fresh
from course.learner import Learner, Wrong
from course.showing import show

# --- next_pow2 --------------------------------------------------------------------------------------


def test_powers_stay(next_pow2: Learner) -> None:
    for power in (0, 1, 5, 20, 62):
        check(next_pow2, 2**power, gives=2**power, why="it is a power of two already")


def test_numbers_in_between(next_pow2: Learner) -> None:
    for n in range(1, 140):
        expected = next(2**p for p in range(10) if 2**p >= n)
        check(next_pow2, n, gives=expected, why="the smallest power of two that is not smaller")
    check(next_pow2, 2**53 + 1, gives=2**54, why="exact, also where floats are not")


def test_one_and_below(next_pow2: Learner) -> None:
    for n in (1, 0, -1, -1000):
        check(next_pow2, n, gives=1, why="nothing is smaller than 1")


# --- row_major --------------------------------------------------------------------------------------


def test_strides_of_shapes(row_major: Learner) -> None:
    check(row_major, (2, 3, 4), gives=(12, 4, 1), why="a plane has 12 elements, a row 4")
    check(row_major, (5,), gives=(1,), why="neighbours are one apart")
    check(row_major, (), gives=(), why="a scalar has no axes")


def test_strides_like_numpy(row_major: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 4)))
        array = np.zeros(shape, np.int8)
        check(
            row_major,
            shape,
            gives=tuple(math.prod(shape[a + 1 :]) for a in range(len(shape))),
            why=f"NumPy has {array.strides}",
        )


# --- _ids -------------------------------------------------------------------------------------------


def test_the_first_axis_counts_fastest(_ids: Learner) -> None:
    for number in range(12):
        check(_ids, number, (4, 3), gives=(number % 4, number // 4), why="program 1 is (1, 0), program 4 is (0, 1)")


def test_one_and_three_axes(_ids: Learner) -> None:
    check(_ids, 9, (20,), gives=(9,), why="along one axis the number is the coordinate")
    rng = fresh()
    for _ in range(20):
        grid = tuple(rng.randint(1, 5) for _ in range(3))
        number = rng.randrange(math.prod(grid))
        expected = tuple(int(i) for i in np.unravel_index(number, grid, order="F"))
        check(_ids, number, grid, gives=expected, why="NumPy's order F: the first axis counts fastest")


# --- key_of -----------------------------------------------------------------------------------------


def test_keys_are_as_they_always_were(key_of: Learner) -> None:
    for parts in (("a",), ("source", "f32"), ("",), (), ("größe", "x" * 1000)):
        digest = hashlib.sha256("".join(f"{len(p)}:{p};" for p in parts).encode()).hexdigest()[:40]
        check(key_of, *parts, gives=digest, why="length, colon, part, semicolon; the first 40 digits")


def test_other_parts_have_other_keys(key_of: Learner) -> None:
    lists = [
        ("ab", "c"),
        ("a", "bc"),
        ("abc",),
        ("a", "b", "c"),
        ("abc", ""),
        ("", "abc"),
        ("c", "ab"),
        ("1:a;", ""),
        ("1:a;1:b",),
        ("a;1:b",),
    ]
    keys = [check(key_of, *parts, why="a key") for parts in lists]
    for (a, one), (b, other) in [(x, y) for i, x in enumerate(zip(lists, keys)) for y in list(zip(lists, keys))[:i]]:  # noqa: B905
        if one == other:
            raise Wrong(f"key_of: {a} and {b} have one key, {one}: two different kernels would be taken for one")


# --- reach ------------------------------------------------------------------------------------------


def test_forwards(reach: Learner) -> None:
    check(reach, (3, 4), (4, 1), gives=(0, 11), why="12 elements in a row: the last is 11 away")
    check(reach, (3,), (10,), gives=(0, 20), why="two steps of 10")
    check(reach, (), (), gives=(0, 0), why="one element, and nothing around it")


def test_backwards_and_repeated(reach: Learner) -> None:
    check(reach, (5,), (-1,), gives=(-4, 0), why="four elements lie below the first")
    check(reach, (3, 4), (-4, 1), gives=(-8, 3), why="rows run backwards, columns forwards")
    check(reach, (7,), (0,), gives=(0, 0), why="a stride of 0 goes nowhere")


def test_no_elements(reach: Learner) -> None:
    for shape, strides in (((0,), (5,)), ((4, 0), (-9, 1)), ((0, 3), (1, 100))):
        check(reach, shape, strides, gives=(0, 0), why="an array without elements reaches nowhere")


def test_random_views(reach: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        rank = rng.randint(1, 3)
        shape = tuple(rng.randint(1, 4) for _ in range(rank))
        strides = tuple(rng.randint(-9, 9) for _ in range(rank))
        offsets = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(shape)]
        check(
            reach, shape, strides, gives=(min(offsets), max(offsets)), why="the lowest and the highest of all elements"
        )


# --- given_names ------------------------------------------------------------------------------------

HEAD = "kernel k({}) grid (1) {{ }}"
MIXED = HEAD.format("x: f32[N], out y: f32[N], a: f32, inout z: f32[N], out w: f32[N]")


def test_inputs_alone(given_names: Learner) -> None:
    names = given_names.via("names_given")
    for count, expected in ((0, ()), (1, ("x",)), (2, ("x", "a")), (3, ("x", "a", "z"))):
        check(
            names, MIXED, count, gives=expected, why="as many as there are inputs, or fewer: the outputs are left out"
        )


def test_all_parameters(given_names: Learner) -> None:
    names = given_names.via("names_given")
    check(names, MIXED, 4, gives=("x", "y", "a", "z"), why="more than there are inputs: all parameters in order")
    check(names, MIXED, 5, gives=("x", "y", "a", "z", "w"), why="all of them")


def test_kernels_without_outputs_or_inputs(given_names: Learner) -> None:
    names = given_names.via("names_given")
    check(names, HEAD.format("inout x: f32[N], b: i32"), 2, gives=("x", "b"), why="an `inout` is an input too")
    check(
        names,
        HEAD.format("out y: f32[4], out z: f32[4]"),
        1,
        gives=("y",),
        why="there are no inputs: any argument is for an output",
    )
    check(names, MIXED, 9, gives=("x", "y", "a", "z", "w"), why="too many arguments are somebody else's to report")


# --- _converted --------------------------------------------------------------------------------------


def test_python_numbers(_converted: Learner) -> None:
    for value in (3, -1, 2**70, 1.5, float("inf"), True, False):
        check(_converted, value, gives=value, why="a Python number is one already, of the same type")


def test_numpy_scalars(_converted: Learner) -> None:
    for value, expected in (
        (np.float32(1.5), 1.5),
        (np.int8(-3), -3),
        (np.uint64(2**63), 2**63),
        (np.bool_(True), True),
        (np.float16(0.5), 0.5),
    ):
        check(_converted, value, gives=expected, why="NumPy's scalars become Python's")
    check(_converted, ml_dtypes.bfloat16(0.5), gives=0.5, why="bfloat16 is a number, though no np.floating")


def test_arrays_of_rank_0(_converted: Learner) -> None:
    for value, expected in ((np.array(3), 3), (np.array(2.5, np.float32), 2.5), (np.array(True), True)):
        check(_converted, value, gives=expected, why="an array of rank 0 is a number")


def test_everything_else_is_refused(_converted: Learner) -> None:
    refused = _converted.via("refusal")
    for value in ("3", None, [3], np.zeros(3), np.zeros(1), 1j, np.complex64(1), np.array(1j), {}):
        check(refused, value, gives="E0517", why="it is no plain number: E0517")


def test_the_help_says_what_to_write(_converted: Learner) -> None:
    for value, remedy in (
        (1j, "{x}.real"),
        (np.complex64(1), "{x}.real"),
        (np.array(1j), "{x}.real"),
        (np.zeros(1), "{x}.item()"),
        (np.zeros(3), "{x}: f32[N]"),
        (np.zeros((1, 1)), "{x}: f32[N]"),
        (SimpleNamespace(shape=(1,)), "{x}=1"),
        ("3", "{x}=1"),
        (None, "{x}=1"),
    ):
        help = str(check(_converted.via("refusal"), value, "help", why="it is refused"))
        if remedy not in help:
            call = f"the help with which _converted refuses {show(value)}"
            raise Wrong(f"{call}\n  expected  something with `{remedy}`\n  found     {help}")


# --- winner -----------------------------------------------------------------------------------------


def test_the_fastest_wins(winner: Learner) -> None:
    check(winner, {0: 3.0, 1: 2.0, 2: 1.0}, gives=2, why="it is clearly the fastest")
    check(winner, {4: 2.0, 7: 1.0, 9: 5.0}, gives=7, why="numbers may have gaps")
    check(winner, {5: 0.25}, gives=5, why="there is only one")
    check(winner, {2: 1.0, 1: 3.0, 0: 2.0}, gives=2, why="it is clearly the fastest, whatever the order")


def test_close_times_are_one(winner: Learner) -> None:
    check(winner, {0: 1.5, 1: 1.01, 2: 1.0}, gives=1, why="1 and 2 cannot be told apart: the lower number")
    check(winner, {0: 1.019, 1: 1.0}, gives=0, why="the default is as fast as can be told")
    check(winner, {0: 1.021, 1: 1.0}, gives=1, why="more than CLOSE times the fastest")
    check(winner, {3: 1.0, 2: 1.05, 1: 1.01}, gives=1, why="3 and 1 cannot be told apart: the lower number")
    check(winner, {0: 1.03, 1: 1.015, 2: 1.0}, gives=1, why="0 is close to 1 but not to the fastest")
    check(winner, {1: 0.0, 0: 0.0}, gives=0, why="both took no time")


def test_made_up_times(winner: Learner) -> None:
    rng = fresh()
    for _ in range(40):
        numbers = rng.sample(range(50), rng.randint(1, 6))
        times = {number: rng.choice((1.0, 1.01, 1.5, 4.0)) * 1e-3 for number in numbers}
        close = [number for number, seconds in times.items() if seconds < 1.015 * min(times.values())]
        check(winner, times, gives=min(close), why="the lowest number of those within two percent of the fastest")


# --- configurations ---------------------------------------------------------------------------------


def _space(choices: dict, first: dict) -> list:
    found: list[dict] = [{}]
    for name, values in choices.items():
        found = [{**config, name: value} for config in found for value in values]
    return [config for config in found if config == first] + [config for config in found if config != first]


def test_all_combinations(configurations: Learner) -> None:
    why = "each combination once, the last meta fastest"
    choices = {"BM": (64, 128), "warps": (4, 8)}
    check(configurations, choices, {"BM": 64, "warps": 4}, gives=_space(choices, {"BM": 64, "warps": 4}), why=why)
    check(configurations, {"B": (1, 2, 3)}, {"B": 1}, gives=[{"B": 1}, {"B": 2}, {"B": 3}], why=why)
    check(configurations, {}, {}, gives=[{}], why="without metas there is one way to run a kernel")


def test_the_default_comes_first(configurations: Learner) -> None:
    why = "`first` is tried before all others, and only once"
    for first in ({"A": 2, "B": 5}, {"A": 1, "B": 5}, {"A": 2, "B": 4}):
        choices = {"A": (1, 2), "B": (4, 5, 6)}
        check(configurations, choices, first, gives=_space(choices, first), why=why)


def test_a_default_that_is_not_among_them(configurations: Learner) -> None:
    why = "`first` is no combination of these values, so it is not tried"
    check(configurations, {"B": (1, 2)}, {"B": 3}, gives=[{"B": 1}, {"B": 2}], why=why)
    check(configurations, {"B": (1, 2)}, {}, gives=[{"B": 1}, {"B": 2}], why=why)


def test_any_number_of_metas(configurations: Learner) -> None:
    rng = fresh()
    for _ in range(20):
        choices = {name: tuple(rng.sample(range(100), rng.randint(1, 4))) for name in "ZAQB"[: rng.randint(1, 4)]}
        first = {name: rng.choice(values) for name, values in choices.items()}
        gives = _space(choices, first)
        check(configurations, choices, first, gives=gives, why="`first`, then the last meta changing fastest")


# --- still_in ---------------------------------------------------------------------------------------


def test_the_slow_leave(still_in: Learner) -> None:
    samples = {0: [2.0, 2.0, 2.0], 1: [1.0, 1.0, 1.0], 2: [1.5, 1.5, 1.5]}
    check(still_in, samples, 1.6, gives=[1, 2], why="0 takes twice as long as the leader")
    check(still_in, samples, 1.2, gives=[1], why="only the leader is left")
    check(still_in, samples, 9.0, gives=[0, 1, 2], why="nobody is nine times slower")
    check(still_in, samples, 1.5, gives=[1, 2], why="exactly `slack` times as long still stays")
    check(still_in, {7: [3.0]}, 1.1, gives=[7], why="the leader is alone")


def test_one_fast_run_is_enough(still_in: Learner) -> None:
    samples = {0: [1.0, 1.0, 1.0], 1: [9.0, 1.1, 9.0], 2: [1.4, 1.4, 1.4]}
    check(still_in, samples, 1.2, gives=[0, 1], why="1 was disturbed in two runs, and fast in one")


def test_one_lucky_run_does_not_lead(still_in: Learner) -> None:
    samples = {0: [1.0, 5.0, 5.0], 1: [4.0, 4.0, 4.0]}
    check(still_in, samples, 1.1, gives=[0, 1], why="the leader is 1: its median is 4, that of 0 is 5")
    samples = {3: [2.0, 2.0, 90.0], 1: [2.3, 2.3, 2.3]}
    check(still_in, samples, 1.2, gives=[3, 1], why="a median does not mind one long run, and the order is kept")
    samples = {0: [1.0, 3.0], 1: [2.4, 2.4, 2.4]}
    check(still_in, samples, 1.1, gives=[0], why="the median of two runs is half way between them: 0 leads with 2")


def test_made_up_races(still_in: Learner) -> None:
    rng = fresh()
    for _ in range(30):
        samples = {n: [rng.randint(8, 40) / 8 for _ in range(rng.randint(1, 7))] for n in rng.sample(range(20), 5)}
        lead = min(float(np.median(times)) for times in samples.values())
        stay = [number for number, times in samples.items() if min(times) <= 1.25 * lead]
        check(still_in, samples, 1.25, gives=stay, why=f"the leader's median is {lead}; 1.25 times that stays")


# --- meets_itself -----------------------------------------------------------------------------------


def test_plain_arrays(meets_itself: Learner) -> None:
    meets = meets_itself.via("on_array")
    for shape, view in (
        ((4, 6), "a"),
        ((4, 6), "a.T"),
        ((4, 6), "a[::-1]"),
        ((4, 6), "a[1::2, ::3]"),
        ((3,), "a"),
        ((), "a"),
    ):
        check(meets, shape, view, gives=False, why="every element has a place of its own")


def test_strides_of_zero(meets_itself: Learner) -> None:
    meets = meets_itself.via("on_array")
    check(meets, (4, 1), "np.broadcast_to(a, (4, 6))", gives=True, why="a row repeated six times is one place")
    check(meets, (1,), "np.broadcast_to(a, (1, 5))", gives=True, why="one element, five times")
    check(
        meets, (4, 1), "np.broadcast_to(a, (4, 1))", gives=False, why="an extent of 1 never moves, whatever its stride"
    )


def test_windows(meets_itself: Learner) -> None:
    meets = meets_itself.via("on_array")
    check(
        meets,
        (10,),
        "np.lib.stride_tricks.sliding_window_view(a, 3)",
        gives=True,
        why="neighbouring windows share elements",
    )
    check(
        meets,
        (12,),
        "np.lib.stride_tricks.as_strided(a, (3, 4), (16, 4))",
        gives=False,
        why="windows side by side share none",
    )
    check(
        meets,
        (12,),
        "np.lib.stride_tricks.as_strided(a, (3, 5), (16, 4))",
        gives=True,
        why="the last of one is the first of the next",
    )
    check(
        meets,
        (40,),
        "np.lib.stride_tricks.as_strided(a, (2, 3), (12, 8))",
        gives=False,
        why="rows and columns interleave: 0 2 4 and 3 5 7, and none meets another",
    )
    check(
        meets,
        (40,),
        "np.lib.stride_tricks.as_strided(a, (3, 3), (8, 12))",
        gives=False,
        why="0 3 6, 2 5 8, 4 7 10: they interleave",
    )
    check(
        meets,
        (40,),
        "np.lib.stride_tricks.as_strided(a, (4, 3), (8, 12))",
        gives=True,
        why="6 is in the first row and in the last",
    )


def test_arrays_too_large_to_be_listed(meets_itself: Learner) -> None:
    meets = meets_itself.via("on_array")
    for view in ("a", "a.T", "a[::-1]", "a[::2, ::3]"):
        check(meets, (4000, 4000), view, gives=False, why="16 million places: the strides alone say it")


def test_arrays_without_elements(meets_itself: Learner) -> None:
    meets = meets_itself.via("on_array")
    check(meets, (0, 4), "a", gives=False, why="no elements, no meeting")
    check(meets, (1, 1), "np.broadcast_to(a[:, :0], (5, 0))", gives=False, why="no elements, whatever the strides")


def test_views_against_a_list_of_places(meets_itself: Learner) -> None:
    rng = fresh()
    for _ in range(25):
        shape, strides = _random_view(rng)
        offsets = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(shape)]
        view = f"np.lib.stride_tricks.as_strided(a, {shape}, {tuple(4 * s for s in strides)})"
        check(
            meets_itself.via("on_array"),
            (200,),
            view,
            gives=len(set(offsets)) < len(offsets),
            why="by listing every element's place",
        )


def _random_view(rng: random.Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = rng.randint(1, 3)
    return tuple(rng.randint(1, 4) for _ in range(rank)), tuple(rng.randint(0, 9) for _ in range(rank))
