"""Graders of chapter 7: memory, the verifier, live ranges."""

from __future__ import annotations

import numpy as np

from course.checking import check, fresh
from course.harness import kernel_of
from course.learner import Learner, Wrong

# --- locate -----------------------------------------------------------------------------------------

TENSOR = np.zeros((4, 6), np.float32)


def _grid(rows: list[int], columns: list[int], dtype: type = np.int64) -> tuple[np.ndarray, np.ndarray]:
    return np.array(rows, dtype)[:, None], np.array(columns, dtype)[None, :]


Located = tuple[list[np.ndarray], np.ndarray]


def _place(rows: list[int], columns: list[int], valid: np.ndarray) -> Located:
    safe = [np.array([i if 0 <= i < extent else 0 for i in axis]) for axis, extent in ((rows, 4), (columns, 6))]
    shape = len(rows), len(columns)
    arrays = [np.array(np.broadcast_to(a, shape)) for a in (safe[0][:, None], safe[1][None, :], valid)]
    return arrays[:2], arrays[2]


def _inside(rows: list[int], columns: list[int]) -> np.ndarray:
    return np.array([[0 <= r < 4 and 0 <= c < 6 for c in columns] for r in rows])


def test_inside_and_outside(locate: Learner) -> None:
    for rows, columns in (([0, 3], [0, 5]), ([3, 4], [5, 6]), ([-1, 0], [0]), ([2, 100], [-5, 3])):
        expected = _place(rows, columns, _inside(rows, columns))
        check(
            locate.via("located"),
            TENSOR,
            _grid(rows, columns),
            None,
            (True, True),
            gives=expected,
            why="touched where every index is at least 0 and below the extent; the others are made 0, not wrapped",
        )


def test_masks(locate: Learner) -> None:
    rows, columns = [1, 9], [2, 3, 4]
    mask = np.array([[True, False, True], [True, True, True]])
    expected = _place(rows, columns, mask & _inside(rows, columns))
    check(
        locate.via("located"),
        TENSOR,
        _grid(rows, columns),
        mask,
        (True, True),
        gives=expected,
        why="the mask and the bounds must both hold",
    )


def test_large_unsigned_indexes(locate: Learner) -> None:
    index = np.array([2**64 - 1, 3], np.uint64)
    expected = ([np.array([0, 3])], np.array([False, True]))
    check(
        locate.via("located"), np.zeros(8), (index,), None, (True,), gives=expected, why="a u64 beyond 2^63 is outside"
    )


def test_dropped_checks_are_promises(locate: Learner) -> None:
    inside = _place([0, 1], [2], np.asarray(True))
    check(
        locate.via("located"),
        TENSOR,
        _grid([0, 1], [2]),
        None,
        (False, False),
        gives=inside,
        why="all promises hold: nothing narrows the mask",
    )
    check(
        locate.via("located"),
        TENSOR,
        _grid([0, 4], [2]),
        None,
        (False, False),
        raises="InternalError",
        why="row 4 is outside, and its check was dropped: that is the compiler's mistake",
    )
    mask = np.array([[True], [False]])
    check(
        locate.via("located"),
        TENSOR,
        _grid([0, 4], [2]),
        mask,
        (False, False),
        gives=_place([0, 4], [2], mask),
        why="where the mask is false the promise need not hold",
    )
    check(
        locate.via("located"),
        TENSOR,
        _grid([0, 4], [2, 7]),
        None,
        (True, False),
        raises="InternalError",
        says="^interpreter: ",
        why="column 7 is outside in row 0, which is inside",
    )
    check(
        locate.via("located"),
        TENSOR,
        _grid([9, 4], [2, 7]),
        None,
        (True, False),
        gives=_place([9, 4], [2, 7], np.zeros((2, 1), np.bool_)),
        why="both rows are outside: the columns promise nothing",
    )


def test_trusting(locate: Learner) -> None:
    expected = _place([0, 4], [2], np.array([[True], [False]]))
    check(
        locate.via("located"),
        TENSOR,
        _grid([0, 4], [2]),
        None,
        (False, False),
        True,
        gives=expected,
        why="with `trusting` a broken promise is not touched, and no error",
    )


# --- block ------------------------------------------------------------------------------------------

LOOP = """%lo: i64 = const {value = 0}
%hi: i64 = const {value = 8}
%st: i64 = const {value = 1}
%s: i64 = for %lo, %hi, %st, %lo (%k: i64, %a: i64) {
%b: i64 = add %a, %k
%c: bool = lt %b, %hi
%e: i64 = if %c {
%f: i64 = add %b, %lo
yield %f
} else {
yield %b
}
yield %e
}
%last: i64 = add %s, %lo"""


def test_kernels_in_order(block: Learner) -> None:
    check(block.via("verdict"), kernel_of(LOOP), gives="", why="arguments and outer values are visible in blocks")
    twice = LOOP + "\n" + LOOP.replace("%", "%r")
    check(block.via("verdict"), kernel_of(twice), gives="", why="two loops, one after the other")


def test_what_was_visible_before_a_block_stays_so(block: Learner) -> None:
    text = kernel_of(LOOP + "\n%more: i64 = add %st, %s")
    check(block.via("verdict"), text, gives="", why="%st came before the loop, and is not the loop's to take away")


def _refused(block: Learner, how: str, says: str) -> None:
    said = str(check(block.via("verdict_on_broken"), how, why=says))
    if says not in said:
        raise Wrong(
            f"the verifier, with your {block.name}, on a kernel with: {how}\n"
            f"  expected  {says}\n  found     {said or 'no objection'}"
        )


def test_what_a_block_defines_ends_with_it(block: Learner) -> None:
    _refused(block, "inner value outside", "%b is used where no definition of it is visible")
    _refused(block, "argument outside", "%a is used where no definition of it is visible")


def test_names_are_used_once_in_the_kernel(block: Learner) -> None:
    _refused(block, "twice", "%b is defined twice")


def test_definitions_come_before_uses(block: Learner) -> None:
    _refused(block, "used before", "%b is used where no definition of it is visible")


def test_terminators_stand_at_the_end(block: Learner) -> None:
    _refused(block, "yield in the middle", "a terminator must be the last op of a nested block")


# --- _scan ------------------------------------------------------------------------------------------


def _dying(_scan: Learner, ops: str, expected: list[str], why: str) -> None:
    check(_scan.via("deaths"), kernel_of(ops), gives=expected, why=why)


def test_values_die_at_their_last_use(_scan: Learner) -> None:
    ops = "%a: f32 = const {value = 1.0}\n%b: f32 = add %a, %a\n%c: f32 = mul %b, %a\n%d: f32 = neg %c"
    _dying(
        _scan,
        ops,
        ["c: a, b", "d: c, d", "from outside: "],
        "a is used for the last time by c, and d by nobody: it dies at once",
    )


def test_unused_results_die_at_once(_scan: Learner) -> None:
    ops = "%a: f32 = const {value = 1.0}\n%b: f32 = const {value = 2.0}\n%c: f32 = neg %a"
    _dying(_scan, ops, ["b: b", "c: a, c", "from outside: "], "b is never used: it dies where it is made")


def test_parameters_live_outside(_scan: Learner) -> None:
    ops = (
        "%i: i64[8] = iota\n"
        "%v: f32[8] = load %x, %i {checked = (true,), mask = false, other = false, pointwise = false}\n"
        "store %y, %i, %v {checked = (true,), mask = false, pointwise = false}"
    )
    _dying(
        _scan, ops, ["store: i, v", "from outside: x, y"], "tensors are not the block's own: they are used from outside"
    )


def test_inner_blocks(_scan: Learner) -> None:
    ops = LOOP
    found = check(_scan.via("deaths"), kernel_of(ops), why="what inner blocks use is used by the op around them")
    wanted = _brute(ops)
    if found != wanted:
        raise Wrong(
            f"_scan of\n{ops}\n  expected  {wanted}\n  found     {found}\n"
            "  why       what inner blocks use is used by the op around them; a loop's values die in its own block"
        )


def _brute(ops: str) -> list[str]:
    """By the definition: a block's own value dies after the last of its ops that mentions it, blocks included."""
    from tilelang.ir.core import Block, Op
    from tilelang.ir.parser import parse_kernel

    def mentioned(op: Op) -> set[str]:
        names = {v.name for v in (*op.operands, *op.results)}
        return names.union(*(mentioned(o) for b in op.blocks for o in b.ops)) if op.blocks else names

    lines: list[str] = []

    def visit(block: Block) -> None:
        own = {a.name for a in block.args} | {r.name for op in block.ops for r in op.results}
        for number, op in enumerate(block.ops):
            for inner in op.blocks:
                visit(inner)
            later = set().union(*(mentioned(o) for o in block.ops[number + 1 :]))
            dying = (mentioned(op) & own) - later
            if dying:
                lines.append(f"{op.results[0].name if op.results else op.name}: {', '.join(sorted(dying))}")

    kernel = parse_kernel(kernel_of(ops))
    visit(kernel.body)
    everywhere = set().union(*(mentioned(op) for op in kernel.body.ops))
    known = {v.name for v in (*kernel.params, *kernel.dims)}
    return [*lines, f"from outside: {', '.join(sorted(everywhere & known))}"]


def test_random_straight_lines(_scan: Learner) -> None:
    rng = fresh()
    for _ in range(10):
        names, lines = ["a"], ["%a: f32 = const {value = 1.0}"]
        for number in range(rng.randint(1, 12)):
            lines.append(f"%v{number}: f32 = add %{rng.choice(names)}, %{rng.choice(names)}")
            names.append(f"v{number}")
        ops = "\n".join(lines)
        _dying(_scan, ops, _brute(ops), "each value dies after the last op that mentions it")
