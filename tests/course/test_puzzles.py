"""The puzzles' graders, proved: solutions and other right kernels pass; planted mistakes fail, and are named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from course.puzzles.grading import FAILED, NOT_STARTED, PASSED, Verdict, grade
from course.puzzles.stubs import stub
from course.puzzles.table import PUZZLES, Puzzle, find


@dataclass(frozen=True)
class Planted:
    """`old` becomes `new` in the solution; without `old`, `new` is the whole kernel. The message must match `says`."""

    puzzle: str
    mistake: str
    old: str
    new: str
    says: str

    def text(self) -> str:
        if not self.old:
            return self.new
        solution = find(self.puzzle).solution.read_text(encoding="utf-8")
        comment, _, kernel = solution.partition("\nkernel ")
        if self.old not in kernel:
            raise ValueError(f"{self.old!r} is not in the solution of {self.puzzle}")
        return f"{comment}\nkernel {kernel.replace(self.old, self.new)}"

    def __str__(self) -> str:
        return f"{self.puzzle} {self.mistake}"


def graded(puzzle: Puzzle, folder: Path, text: str) -> Verdict:
    path = folder / puzzle.file.name
    path.write_text(text, encoding="utf-8")
    return grade(puzzle, path)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_the_solution_passes(puzzle: Puzzle) -> None:
    verdict = grade(puzzle, puzzle.solution)
    assert verdict.status == PASSED, verdict.message


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_the_stub_is_not_started(puzzle: Puzzle, tmp_path: Path) -> None:
    verdict = graded(puzzle, tmp_path, stub(puzzle))
    assert verdict.status == NOT_STARTED
    assert f"the body of `{puzzle.kernel}` in {puzzle.file.name} is empty" in verdict.message


# ----------------------------------------------------------------------------------------- planted mistakes

ROW_BY_ROW = """kernel transposed(x: f32[M, N], out y: f32[N, M]) grid (M) {
    let row = program_id(0);
    for start in range(0, N, 32) {
        let j = start +: 32;
        y[j, row] = x[row, j];
    }
}
"""

THREE_WALKS = """kernel NAME[BLOCK: {64, 128}](x: f32[M, N], out y: f32[M, N]) grid (M) {
    let row = program_id(0);
    var best = -inf as f32;
    for start in range(0, N, BLOCK) {
        best = maximum(best, max(x[row, start +: BLOCK] else -inf));
    }
    var total = 0.0 as f32;
    for start in range(0, N, BLOCK) {
        total = total + sum(exp((x[row, start +: BLOCK] else -inf) - best));
    }
    for start in range(0, N, BLOCK) {
        let cols = start +: BLOCK;
        y[row, cols] = exp(x[row, cols] - best) / total;
    }
}
"""

ALL_INTO_ONE = """kernel broadcast_add[R = next_pow2(M), C = next_pow2(N)](x: f32[M], y: f32[N], out z: f32[M, N])
grid (1) {
    let i = 0 +: R;
    let j = 0 +: C;
    z[i, j] = x[i][:, None] + y[j][None, :];
    z[0 * i, j] = x[0] + y[j][None, :] + zeros([R, 1], f32);
}
"""

PLANTED = (
    Planted("01", "grid rounds down", "cdiv(N, BLOCK)", "N // BLOCK", "from 1280 on nothing is written.*rounds down"),
    Planted("01", "all programs own the first tile", "program_id(0) * BLOCK +: BLOCK", "0 * BLOCK +: BLOCK",
            "from 256 on nothing is written"),
    Planted("01", "off by one", "x[i]", "x[i + 1]", r"off by one.*next"),
    Planted("01", "off by one, the other way", "x[i]", "x[i - 1]", r"found 0\n(.|\n)*off by one.*last"),
    Planted("02", "parentheses", "a * x[i] + b", "a * (x[i] + b)", "b is added before a multiplies"),
    Planted("03", "wrong axes", "x[i][:, None] + y[j][None, :]", "x[i][None, :] + y[j][:, None]", r"error\[E0"),
    Planted("04", "grid axes exchanged", "let i = program_id(0)", "let i = program_id(1)", "never written"),
    Planted("04", "an axis forgotten", "let j = program_id(1) * BN +: BN;", "let j = 0 +: BN;",
            "along axis 1 from 32 on nothing is written"),
    Planted("05", "NaN lost", "maximum(x[i, j] * y[j][None, :], 0.0)",
            "select(x[i, j] * y[j][None, :] > 0.0, x[i, j] * y[j][None, :], 0.0)",
            r"expected nan, found 0\n(.|\n)*inf or NaN"),
    Planted("06", "times a mask", "select(x[i, j] * factor > 0.0, dz[i, j] * factor, 0.0)",
            "(x[i, j] * factor > 0.0) as f32 * dz[i, j] * factor", r"found nan\n(.|\n)*0 \* inf"),
    Planted("06", "mask of x alone", "x[i, j] * factor > 0.0", "x[i, j] > 0.0", "not of x alone"),
    Planted("07", "last partial tile left out", "range(0, N, BLOCK)", "range(0, N // BLOCK * BLOCK, BLOCK)",
            r"right for: even shapes(.|\n)*the last, partial tile"),
    Planted("07", "only the last tile", "total = total + sum", "total = sum", "only the last tile counts"),
    Planted("08", "missing else", " else -inf", "", r"right for: even shapes(.|\n)*`else`"),
    Planted("08", "wrong axis", "axis=0", "axis=1", "the wrong axis is reduced"),
    Planted("08", "starts at zero", "full([BN], -inf, f32)", "zeros([BN], f32)",
            r"expected -.*found 0\n(.|\n)*start with -inf"),
    Planted("09", "not turned inside", "transpose(x[i, j])", "x[i, j]", "the elements in them are not transposed"),
    Planted("10", "overflow", "exp(v - max(v))", "exp(v)", r"found nan\n(.|\n)*subtract the maximum"),
    Planted("10", "missing else", "x[row, cols] else -inf", "x[row, cols]",
            r"right for: even shapes(.|\n)*behind `else`"),
    Planted("11", "stale scale", "total * exp(best - shift)", "total", "the sum so far is not rescaled"),
    Planted("11", "inf minus inf", "select(top == -inf, 0.0, top)", "top", r"found nan\n(.|\n)*inf - inf"),
    Planted("12", "only the last product", ", acc);", ");", "only the last tile counts"),
    Planted("12", "every second step", "range(0, K, BK)", "range(0, K, 2 * BK)", "every second tile is left out"),
    Planted("13", "always the first matrix", "program_id(2)", "0 * program_id(2)", "never written"),
    Planted("14", "off by one", "x[i + t]", "x[i + t + 1]", "off by one"),
    Planted("15", "filter turned over", "w[s, t]", "w[t, s]", "rows and columns of the filter are exchanged"),
    Planted("16", "stale carry", "carry = carry + sum(v);", "carry = sum(v) * 0.0;",
            "along axis 1 the first 64 are right.*carry"),
    Planted("17", "missing mask", " where i < N", "", r"right for: even shapes(.|\n)*`where`"),
    Planted("17", "not atomic", "atomic_add(counts[x[i]], 1)", "counts[x[i]] += 1", "atomic_add"),
    Planted("18", "ids not looked up", "table[ids[rows], cols]", "table[rows, cols]",
            r"row n of the table is taken, not row ids\[n\]"),
    Planted("19", "mean over the tile", "N as f32", "BLOCK as f32", "the mean is over the tile"),
    Planted("20", "crosses the middle", " where half", "", "one runs after another(.|\n)*`where`"),
    Planted("21", "maximum not added again", " + m - ", " - ", "is not added again"),
    Planted("22", "keys outside count", "select(keys[None, :] < N, scores, -inf)", "scores", r"right for: even shapes"),
    Planted("22", "stale accumulator", "acc * faded[:, None]", "acc", "the weighted sum so far is not rescaled"),
    Planted("23", "scale missing", " * scale[cols][None, :]", "", "scale is missing"),
    Planted("23", "rows of scale", "program_id(1) * BN +: BN", "program_id(0) * BN +: BN", "never written"),
    Planted("24", "halves exchanged", "low, acc);\n        acc = dot(a[rows, 2 * hs + 1], high",
            "high, acc);\n        acc = dot(a[rows, 2 * hs + 1], low",
            "the two halves of a byte are exchanged"),
    Planted("24", "odd columns twice", "a[rows, 2 * hs]", "a[rows, 2 * hs + 1]", "low halves meet the odd columns"),
    Planted("24", "zero is not zero", " - 8)", " - 0)", "8 is not subtracted"),
    # Right values, too much traffic.
    Planted("09", "jumps a row for each element", "", ROW_BY_ROW,
            r"too much memory traffic(.|\n)*of the sectors of `y` that line 5 moves, 12% is used"),
    Planted("10", "three walks", "", THREE_WALKS.replace("NAME", "softmax"),
            r"`x` is moved 3 times, in 3 places \(lines 5, 9, 13\): keep in a variable"),
    Planted("11", "three walks", "", THREE_WALKS.replace("NAME", "softmax_long"),
            r"131,072 x twice(.|\n)*`x` is moved 3 times, in 3 places"),
    Planted("12", "tiles too narrow", "BN: {32, 16, 64}", "BN: {4, 16, 64}",
            r"a once for every 32 columns of c\n(.|\n)*`a` is moved 32 times in line 19: by more programs"),
    Planted("22", "few queries", "BM: {32, 16}", "BM: {4, 16}",
            r"k and v once for every 32 queries\n(.|\n)*is moved 16 times"),
    Planted("03", "two elements in one place", "", ALL_INTO_ONE,
            r"two threads of one program meet at one element of `z`(.|\n)*line 6: z\[0 \* i, j\]"),
)  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_mistake_fails_and_is_named(planted: Planted, tmp_path: Path) -> None:
    verdict = graded(find(planted.puzzle), tmp_path, planted.text())
    assert verdict.status == FAILED
    assert "bug in the compiler" not in verdict.message
    assert re.search(planted.says, verdict.message), verdict.message


def test_every_puzzle_has_a_planted_mistake() -> None:
    assert {find(planted.puzzle).name for planted in PLANTED} == {puzzle.name for puzzle in PUZZLES}


# ---------------------------------------------------------------------------------------- other right kernels

RIGHT = {
    "01 one program walks": """
kernel copy(x: f32[N], out y: f32[N]) grid (1) {
    for start in range(0, N, 512) {
        y[start +: 512] = x[start +: 512];
    }
}
""",
    "04 one axis of the grid": """
kernel outer_product(x: f32[M], y: f32[N], out z: f32[M, N]) grid (cdiv(M, 16)) {
    let i = program_id(0) * 16 +: 16;
    for start in range(0, N, 64) {
        let j = start +: 64;
        z[i, j] = x[i][:, None] * y[j][None, :];
    }
}
""",
    "07 a tile of sums": """
fn all_of(v) { return sum(v, axis=0); }

kernel row_sum(x: f32[M, N], out y: f32[M]) grid (M) {
    var parts = zeros([256], f32);
    var start = 0;
    while start < N {
        parts = parts + x[program_id(0), start +: 256];
        start = start + 256;
    }
    y[program_id(0)] = all_of(parts);
}
""",
    "09 wide tiles, read turned": """
kernel transposed(x: f32[M, N], out y: f32[N, M]) grid (cdiv(N, 16), cdiv(M, 64)) {
    let j = program_id(0) * 16 +: 16;
    let i = program_id(1) * 64 +: 64;
    y[j, i] = permute(x[i, j], [1, 0]);
}
""",
    "10 masked by hand, four rows": """
kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (cdiv(M, 4)) {
    let rows = program_id(0) * 4 +: 4;
    let cols = 0 +: BLOCK;
    let v = select((cols < N)[None, :], x[rows, cols], -inf);
    let e = exp(v - max(v, axis=1, keepdims=true));
    y[rows, cols] = e / sum(e, axis=1, keepdims=true) where (cols < N)[None, :];
}
""",
    "12 large tiles": """
kernel matmul(a: f32[M, K], b: f32[K, N], out c: f32[M, N]) grid (cdiv(N, 64), cdiv(M, 64)) {
    let rows = program_id(1) * 64 +: 64;
    let cols = program_id(0) * 64 +: 64;
    var acc = zeros([64, 64], f32);
    for k in range(0, K, 8) {
        acc = acc + dot(a[rows, k +: 8], b[k +: 8, cols]);
    }
    c[rows, cols] = acc;
}
""",
    "14 all products in one tile": """
kernel conv1d[TT = next_pow2(T)](x: f32[N], w: f32[T], out y: f32[N]) grid (cdiv(N, 128)) {
    let i = program_id(0) * 128 +: 128;
    let t = 0 +: TT;
    y[i] = sum(x[[i[:, None] + t[None, :]]] * w[t][None, :], axis=1);
}
""",
    "21 the label picked out of the tile": """
kernel cross_entropy[BLOCK = next_pow2(N)](x: f32[M, N], label: i32[M], out loss: f32[M]) grid (M) {
    let row = program_id(0);
    let cols = 0 +: BLOCK;
    let v = x[row, cols] else -inf;
    let right = sum(select(cols == label[row], v, 0.0));
    loss[row] = log(sum(exp(v - max(v)))) + max(v) - right;
}
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_another_right_kernel_passes(name: str, tmp_path: Path) -> None:
    verdict = graded(find(name.split()[0]), tmp_path, RIGHT[name])
    assert verdict.status == PASSED, verdict.message
