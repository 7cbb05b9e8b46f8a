"""Graders of chapter 10: barriers and bank conflicts."""

from __future__ import annotations

import random
from collections import Counter

from course.checking import check, fresh
from course.learner import Learner

# --- ops (barrier placement) ------------------------------------------------------------------------

HEADER = "kernel @k(%x: inout f32[64]) dims() thread {{threads = 32}} {{\n{}\n}}\n"
PRELUDE = """%t: i32 = thread_id
%c0: i32 = const {value = 0}
%c1: i32 = const {value = 1}
%c8: i32 = const {value = 8}
%c31: i32 = const {value = 31}
%f: f32 = const {value = 1.0}
%s: shared f32[32] = shared
%s2: shared f32[32] = shared
%o: i32 = sub %c31, %t
"""
NAMES = ["thread_id", "const", "const", "const", "const", "const", "shared", "shared", "sub"]
WRITE, READ = "shared.store %s, %t, %f\n", "%{}: f32 = shared.load %s, %o\n"


def _placed(ops: Learner, body: str, expected: list[str], why: str) -> None:
    check(ops.via("barriers"), HEADER.format(PRELUDE + body), gives=[*NAMES, *expected], why=why)


def test_a_read_waits_for_a_write(ops: Learner) -> None:
    _placed(
        ops,
        WRITE + READ.format("a"),
        ["shared.store", "barrier", "shared.load"],
        "the read is of another thread's element",
    )
    _placed(
        ops, READ.format("a") + WRITE, ["shared.load", "barrier", "shared.store"], "the old value must have been read"
    )


def test_no_barrier_where_none_is_needed(ops: Learner) -> None:
    _placed(ops, WRITE, ["shared.store"], "one write alone")
    _placed(ops, READ.format("a") + READ.format("b"), ["shared.load", "shared.load"], "two reads")
    _placed(ops, WRITE + "%b: f32 = shared.load %s2, %o\n", ["shared.store", "shared.load"], "two arrays")


def test_a_barrier_serves_all_before_it(ops: Learner) -> None:
    _placed(
        ops,
        WRITE + READ.format("a") + READ.format("b"),
        ["shared.store", "barrier", "shared.load", "shared.load"],
        "after the barrier the write is done with",
    )
    both = WRITE + WRITE.replace("%s,", "%s2,") + READ.format("a") + READ.format("b").replace("%s,", "%s2,")
    _placed(
        ops,
        both,
        ["shared.store", "shared.store", "barrier", "shared.load", "shared.load"],
        "one barrier for two arrays",
    )
    _placed(
        ops, WRITE + "barrier\n" + READ.format("a"), ["shared.store", "barrier", "shared.load"], "there is one already"
    )


def test_what_comes_after_a_barrier_is_open_again(ops: Learner) -> None:
    _placed(
        ops,
        WRITE + READ.format("a") + WRITE,
        ["shared.store", "barrier", "shared.load", "barrier", "shared.store"],
        "the read behind the barrier is open: the next write waits for it",
    )


def test_loops(ops: Learner) -> None:
    body = WRITE + "for %c0, %c8, %c1 (%k: i32) {\n" + READ.format("a") + "yield\n}\n"
    _placed(
        ops,
        body,
        ["shared.store", "barrier", "for", "  shared.load", "  yield"],
        "one barrier in front of the loop, not one in every trip",
    )
    body = "for %c0, %c8, %c1 (%k: i32) {\n" + WRITE + READ.format("a") + "yield\n}\n"
    _placed(
        ops,
        body,
        ["for", "  barrier", "  shared.store", "  barrier", "  shared.load", "  yield"],
        "the write of the next trip waits for the read of this one",
    )


def test_branches(ops: Learner) -> None:
    start = "%c: bool = lt %c0, %c8\n"
    body = start + WRITE + "if %c {\n" + READ.format("a") + "yield\n} else {\nyield\n}\n"
    _placed(
        ops,
        body,
        ["lt", "shared.store", "if", "  barrier", "  shared.load", "  yield", "  yield"],
        "inside of a branch that all threads take or none a barrier may stand",
    )
    body = "%c: bool = lt %t, %c8\n" + WRITE + "if %c {\n" + READ.format("a") + "yield\n} else {\nyield\n}\n"
    _placed(
        ops,
        body,
        ["lt", "shared.store", "barrier", "if", "  shared.load", "  yield", "  yield"],
        "only some threads come into this branch: the barrier stands in front of it",
    )
    body = start + "if %c {\n" + WRITE + "yield\n} else {\nyield\n}\n" + READ.format("a")
    _placed(
        ops,
        body,
        ["lt", "if", "  shared.store", "  yield", "  yield", "barrier", "shared.load"],
        "what the branch may have written is open behind it",
    )


def test_a_barrier_has_the_span_of_who_waits(ops: Learner) -> None:
    why = "a barrier belongs to the line of the op that waits at it"
    check(ops.via("waiting_at"), HEADER.format(PRELUDE + WRITE + READ.format("a")), gives=["shared.load"], why=why)
    loop = "for %c0, %c8, %c1 (%k: i32) {\n" + READ.format("a") + "yield\n}\n"
    check(ops.via("waiting_at"), HEADER.format(PRELUDE + WRITE + loop), gives=["for"], why=why)


Rows = list[list[int | None]]


# --- wavefronts -------------------------------------------------------------------------------------


def _passes(rows: Rows, item: int) -> tuple[int, int]:
    together = 32 if item <= 4 else 32 * 4 // item
    total = conflicts = 0
    for row in rows:
        for warp in range(0, len(row), 32):
            lanes = row[warp : warp + 32] + [None] * (32 - len(row[warp : warp + 32]))
            for start in range(0, 32, together):
                words = {i * item // 4 if item < 4 else i for i in lanes[start : start + together] if i is not None}
                banks = Counter(w % together for w in words)
                passes = max(banks.values(), default=0)
                total += passes
                conflicts += max(passes - 1, 0)
    return total, conflicts


def _served(wavefronts: Learner, rows: Rows, item: int, why: str) -> None:
    check(wavefronts.via("on_lanes"), rows, item, gives=_passes(rows, item), why=why)


def test_neighbours_have_no_conflict(wavefronts: Learner) -> None:
    _served(wavefronts, [list(range(32))], 4, "32 words in 32 banks: one pass")
    _served(wavefronts, [[31 - i for i in range(32)]], 4, "backwards too")
    _served(wavefronts, [list(range(96))], 4, "three warps, a pass each")
    _served(wavefronts, [list(range(64))] * 3, 4, "two warps in each of three trips: six passes")


def test_strides_meet_in_banks(wavefronts: Learner) -> None:
    for stride in (2, 4, 8, 16, 32):
        _served(
            wavefronts, [[i * stride for i in range(32)]], 4, f"a stride of {stride} meets {stride} words in a bank"
        )
    _served(wavefronts, [[i * 33 for i in range(32)]], 4, "a stride of 33 is free of conflicts")


def test_one_word_is_a_broadcast(wavefronts: Learner) -> None:
    _served(wavefronts, [[5] * 32], 4, "all lanes want one word: one pass")
    _served(
        wavefronts, [[i % 4 * 32 for i in range(32)]], 4, "four different words of one bank, however many want them"
    )


def test_narrow_and_wide_elements(wavefronts: Learner) -> None:
    _served(wavefronts, [list(range(32))], 2, "two f16 share a word")
    _served(wavefronts, [[i * 32 for i in range(32)]], 2, "two f16 share a word: a stride of 32 is one of 16 words")
    _served(wavefronts, [[i * 64 for i in range(32)]], 2, "f16 at a stride of 64: one bank")
    _served(wavefronts, [list(range(32))], 8, "an f64 takes two banks: two halves, a pass each")
    _served(wavefronts, [[i * 16 for i in range(32)]], 8, "f64 at a stride of 16")


def test_masks_and_parts_of_warps(wavefronts: Learner) -> None:
    _served(wavefronts, [[i * 32 if i % 4 == 0 else None for i in range(32)]], 4, "eight lanes are on")
    _served(wavefronts, [[None] * 32 + list(range(32))], 4, "a warp that is off takes no pass, and has no conflict")
    _served(wavefronts, [list(range(0, 40 * 32, 32))], 4, "a whole warp, and one of eight lanes")
    _served(wavefronts, [[0, 32]], 4, "a block of two threads, which want two words of one bank")


def test_all_threads_want_the_same(wavefronts: Learner) -> None:
    same = wavefronts.via("same_for_all")
    check(same, 64, 4, gives=(2, 0), why="two warps, a pass each: the index has one thread only")
    check(same, 40, 2, gives=(2, 0), why="two warps, the second not full")
    check(same, 40, 8, gives=(3, 0), why="f64 go in halves: two for the whole warp, one for the eight lanes")


def _random_rows(rng: random.Random) -> Rows:
    threads, spread = rng.choice((8, 32, 64, 96)), rng.choice((16, 200, 5000))
    off = rng.choice((0.0, 0.3))
    return [
        [None if rng.random() < off else rng.randrange(spread) for _ in range(threads)]
        for _ in range(rng.randint(1, 3))
    ]


def test_random_accesses_of_shared_memory(wavefronts: Learner) -> None:
    rng = fresh()
    for _ in range(15):
        _served(wavefronts, _random_rows(rng), rng.choice((1, 2, 4, 8)), "the busiest bank of each warp")
