"""The puzzles: for each its spec, its inputs, the shapes it is tried on, and the memory traffic that is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from course.puzzles import inputs, specs
from course.puzzles.inputs import Inputs
from course.puzzles.specs import Array
from tilelang.machine.traffic import SECTOR

HERE = Path(__file__).resolve().parent
SOLUTIONS = HERE.parent.parent / "solutions" / "puzzles"

Dims = Mapping[str, int]


@dataclass(frozen=True)
class Traffic:
    """The memory traffic allowed for one shape. `terms`: bytes by what they are for ("x once")."""

    dims: Dims
    terms: Callable[..., Mapping[str, int]]

    @property
    def ideal(self) -> Mapping[str, int]:
        return self.terms(**self.dims)


@dataclass(frozen=True)
class Puzzle:
    """One kernel to write.

    Args:
        name: of the file, without `.tile`.
        kernel: the kernel's name in it.
        output: the name of its `out` or `inout` tensor; an `inout` one is an input of `spec` too.
        spec: the inputs to the output.
        make: a generator of random numbers and the dims to the inputs.
        shapes: dims by kind: "even" (a multiple of any tile), "ragged", "prime", "one".
        traffic: what may be moved.
        special: inputs into which infinities, NaN and the like are put.
        large: inputs that are tried a hundred times larger too.
        folder: where its file is, if not here.
    """

    name: str
    kernel: str
    output: str
    spec: Callable[..., Array]
    make: Callable[..., Inputs]
    shapes: Mapping[str, tuple[Dims, ...]]
    traffic: Traffic
    special: tuple[str, ...] = ()
    large: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def file(self) -> Path:
        """Where the learner writes."""
        return (self.folder or HERE) / f"{self.name}.tile"

    @property
    def solution(self) -> Path:
        return (SOLUTIONS.parent / self.folder.name if self.folder else SOLUTIONS) / f"{self.name}.tile"

    def __str__(self) -> str:
        return self.name


def by_kind(even: Dims, *ragged: Dims, prime: Dims, one: tuple[Dims, ...]) -> dict[str, tuple[Dims, ...]]:
    return {"even": (even,), "ragged": ragged, "prime": (prime,), "one": one}


# ---------------------------------------------------------------------------------------------------- shapes

VECTOR = by_kind({"N": 2048}, {"N": 1500}, {"N": 100}, prime={"N": 1009}, one=({"N": 1},))

MATRIX = by_kind({"M": 64, "N": 128}, {"M": 40, "N": 150}, {"M": 5, "N": 70}, prime={"M": 37, "N": 101},
                 one=({"M": 1, "N": 1}, {"M": 1, "N": 77}, {"M": 77, "N": 1}))

LONG_ROWS = by_kind({"M": 4, "N": 2048}, {"M": 3, "N": 1500}, {"M": 5, "N": 70}, prime={"M": 3, "N": 1201},
                    one=({"M": 1, "N": 1}, {"M": 1, "N": 300}, {"M": 7, "N": 1}))


def product_shapes(**more: int) -> dict[str, tuple[Dims, ...]]:
    def dims(m: int, n: int, k: int) -> Dims:
        return {"M": m, "N": n, "K": k, **more}

    return by_kind(dims(64, 128, 64), dims(70, 50, 100), dims(20, 90, 45), prime=dims(37, 67, 41),
                   one=(dims(1, 1, 1), dims(1, 40, 50), dims(50, 40, 1)))


# --------------------------------------------------------------------------------------------------- traffic


def once(*names: str) -> Callable[..., Mapping[str, int]]:
    """Each of these vectors (N f32) or matrices (M x N f32) moved once."""
    return lambda N, M=1: {f"{name} once": 4 * M * N for name in names}


def reduced(result: str, numbers: int = 1) -> Callable[..., Mapping[str, int]]:
    """x once, and for each row a few numbers that stand alone: a sector each."""
    return lambda M, N: {"x once": 4 * M * N, result: numbers * SECTOR * M}


def with_row(*names: str) -> Callable[..., Mapping[str, int]]:
    """Each of these matrices (M x N f32) once, and of a row y what tiles of 4 rows or more need."""
    return lambda M, N: {**once(*names)(N, M), "y for each tile": M * N}


def products(M: int, N: int, K: int, B: int = 1, tile: int = 32) -> Mapping[str, int]:
    return {f"a once for every {tile} columns of c": 4 * B * M * K * -(-N // tile),
            f"b once for every {tile} rows of c": 4 * B * K * N * -(-M // tile), "c once": 4 * B * M * N}


TRAFFIC_VECTOR = {"N": 4096}
TRAFFIC_MATRIX = {"M": 128, "N": 256}
TRAFFIC_ROWS = {"M": 8, "N": 2048}
TRAFFIC_PRODUCT = {"M": 128, "N": 128, "K": 64}

# ---------------------------------------------------------------------------------------------------- puzzles

PUZZLES: tuple[Puzzle, ...] = (
    Puzzle("01_copy", "copy", "y", specs.copy, inputs.vector, VECTOR,
           Traffic(TRAFFIC_VECTOR, once("x", "y")), special=("x",)),
    Puzzle("02_scale", "scale", "y", specs.scale, inputs.vector_and_two_numbers, VECTOR,
           Traffic(TRAFFIC_VECTOR, once("x", "y")), special=("x",)),
    Puzzle("03_broadcast_add", "broadcast_add", "z", specs.broadcast_add, inputs.two_vectors,
           by_kind({"M": 16, "N": 64}, {"M": 13, "N": 40}, {"M": 40, "N": 3}, prime={"M": 7, "N": 23},
                   one=({"M": 1, "N": 1}, {"M": 1, "N": 9})),
           Traffic({"M": 16, "N": 64}, lambda M, N: {"z once": 4 * M * N, "x and y once": 4 * (M + N)}),
           special=("x", "y")),
    Puzzle("04_outer_product", "outer_product", "z", specs.outer_product, inputs.two_vectors, MATRIX,
           Traffic(TRAFFIC_MATRIX, lambda M, N: {"z once": 4 * M * N, "x and y for each tile": 4 * M * N // 2}),
           special=("x", "y")),
    Puzzle("05_mul_relu", "mul_relu", "z", specs.mul_relu, inputs.matrix_and_row, MATRIX,
           Traffic(TRAFFIC_MATRIX, with_row("x", "z")), special=("x", "y")),
    Puzzle("06_mul_relu_backward", "mul_relu_backward", "dx", specs.mul_relu_backward,
           inputs.forward_and_gradient, MATRIX,
           Traffic(TRAFFIC_MATRIX, with_row("x", "dz", "dx")),
           special=("x", "y", "dz")),
    Puzzle("07_row_sum", "row_sum", "y", specs.row_sum, inputs.matrix, LONG_ROWS,
           Traffic(TRAFFIC_ROWS, reduced("y, a number a row")), special=("x",)),
    Puzzle("08_column_max", "column_max", "y", specs.column_max, inputs.negative_matrix, MATRIX,
           Traffic(TRAFFIC_MATRIX, lambda M, N: {"x once": 4 * M * N, "y once": 4 * N}), special=("x",)),
    Puzzle("09_transpose", "transposed", "y", specs.transpose, inputs.matrix, MATRIX,
           Traffic(TRAFFIC_MATRIX, once("x", "y")), special=("x",)),
    Puzzle("10_softmax", "softmax", "y", specs.softmax, inputs.matrix, MATRIX,
           Traffic(TRAFFIC_ROWS, once("x", "y")), special=("x",), large=("x",)),
    Puzzle("11_softmax_long", "softmax_long", "y", specs.softmax, inputs.matrix, LONG_ROWS,
           Traffic({"M": 4, "N": 4096}, lambda M, N: {"x twice": 8 * M * N, "y once": 4 * M * N}),
           special=("x",), large=("x",)),
    Puzzle("12_matmul", "matmul", "c", specs.matmul, inputs.factors, product_shapes(),
           Traffic(TRAFFIC_PRODUCT, products)),
    Puzzle("13_batched_matmul", "batched_matmul", "c", specs.matmul, inputs.batched_factors, product_shapes(B=3),
           Traffic({"B": 2, **TRAFFIC_PRODUCT}, products)),
    Puzzle("14_conv1d", "conv1d", "y", specs.conv1d, inputs.signal_and_filter,
           by_kind({"N": 1024, "T": 4}, {"N": 700, "T": 5}, {"N": 50, "T": 3}, prime={"N": 311, "T": 7},
                   one=({"N": 1, "T": 1}, {"N": 90, "T": 1}, {"N": 2, "T": 5})),
           Traffic({"N": 4096, "T": 5},
                   lambda N, T: {"x once": 4 * N, "y once": 4 * N,
                                 "w and borders of x, for each 64 elements": (4 * T + 3 * SECTOR) * N // 64}),
           special=("x",)),
    Puzzle("15_conv2d", "conv2d", "y", specs.conv2d, inputs.image_and_filter,
           by_kind({"H": 32, "W": 64, "S": 2, "T": 4}, {"H": 20, "W": 50, "S": 3, "T": 3},
                   {"H": 9, "W": 33, "S": 1, "T": 4}, prime={"H": 19, "W": 37, "S": 5, "T": 3},
                   one=({"H": 1, "W": 1, "S": 1, "T": 1}, {"H": 2, "W": 2, "S": 3, "T": 4})),
           Traffic({"H": 64, "W": 128, "S": 3, "T": 3},
                   lambda H, W, S, T: {"x with the borders of tiles": 8 * H * W, "y once": 4 * H * W,
                                       "w for each tile": 2 * SECTOR * (H * W // 128)}), special=("x",)),
    Puzzle("16_prefix_sum", "prefix_sum", "y", specs.prefix_sum, inputs.matrix, LONG_ROWS,
           Traffic(TRAFFIC_ROWS, once("x", "y")), special=("x",)),
    Puzzle("17_histogram", "histogram", "counts", specs.histogram, inputs.counted,
           by_kind({"N": 1024, "B": 16}, {"N": 700, "B": 10}, {"N": 50, "B": 100}, prime={"N": 311, "B": 7},
                   one=({"N": 1, "B": 1}, {"N": 300, "B": 1})),
           Traffic({"N": 4096, "B": 64}, lambda N, B: {"x once": 4 * N, "counts for each 64 elements": B * N // 16})),
    Puzzle("18_embedding", "embedding", "y", specs.embedding, inputs.table_and_ids,
           by_kind({"N": 64, "V": 20, "D": 64}, {"N": 50, "V": 9, "D": 70}, {"N": 5, "V": 100, "D": 40},
                   prime={"N": 41, "V": 13, "D": 67}, one=({"N": 1, "V": 1, "D": 1}, {"N": 30, "V": 3, "D": 1})),
           Traffic({"N": 128, "V": 50, "D": 128},
                   lambda N, V, D: {"a row of the table for each id": 4 * N * D, "y once": 4 * N * D,
                                    "ids for each tile": N * D}), special=("table",)),
    Puzzle("19_rms_norm", "rms_norm", "y", specs.rms_norm, inputs.rows_and_weights, MATRIX,
           Traffic(TRAFFIC_ROWS, lambda M, N: {"x once": 4 * M * N, "w for each row": 4 * M * N, "y once": 4 * M * N}),
           special=("x",)),
    Puzzle("20_rotary", "rotary", "y", specs.rotary, inputs.points_and_angles,
           by_kind({"M": 32, "H": 64}, {"M": 20, "H": 50}, {"M": 3, "H": 7}, prime={"M": 19, "H": 37},
                   one=({"M": 1, "H": 1}, {"M": 1, "H": 40})),
           Traffic({"M": 64, "H": 64},
                   lambda M, H: {"x once": 8 * M * H, "y once": 8 * M * H, "c and s once": 8 * M * H}),
           special=("x",)),
    Puzzle("21_cross_entropy", "cross_entropy", "loss", specs.cross_entropy, inputs.scores_and_labels, MATRIX,
           Traffic(TRAFFIC_ROWS, reduced("three numbers a row", 3)), special=("x",), large=("x",)),
    Puzzle("22_attention", "attention", "o", specs.attention, inputs.queries,
           by_kind({"M": 64, "N": 64, "D": 32}, {"M": 40, "N": 50, "D": 20}, {"M": 20, "N": 70, "D": 8},
                   prime={"M": 37, "N": 41, "D": 13}, one=({"M": 1, "N": 1, "D": 1}, {"M": 1, "N": 33, "D": 16})),
           Traffic({"M": 64, "N": 128, "D": 32},
                   lambda M, N, D: {"q once": 4 * M * D, "k and v once for every 32 queries": 8 * N * D * -(-M // 32),
                                    "o once": 4 * M * D}), large=("q",)),
    Puzzle("23_quantized_matmul", "quantized_matmul", "c", specs.quantized_matmul, inputs.byte_weights,
           product_shapes(),
           Traffic(TRAFFIC_PRODUCT,
                   lambda M, N, K: {"a once for every 32 columns of c": 4 * M * K * N // 32,
                                    "w once for every 32 rows of c": K * N * M // 32,
                                    "scale for each tile": 4 * N * M // 16, "c once": 4 * M * N})),
    Puzzle("24_packed_matmul", "packed_matmul", "c", specs.packed_matmul, inputs.packed_weights,
           by_kind({"M": 64, "N": 64, "H": 32}, {"M": 70, "N": 50, "H": 45}, {"M": 20, "N": 90, "H": 22},
                   prime={"M": 37, "N": 67, "H": 41}, one=({"M": 1, "N": 1, "H": 1}, {"M": 1, "N": 40, "H": 25})),
           Traffic({"M": 128, "N": 128, "H": 32},
                   lambda M, N, H: {"a twice for every 32 columns of c": 16 * M * H * N // 32,
                                    "w once for every 32 rows of c": H * N * M // 32,
                                    "scale for each tile": 4 * N * M // 16, "c once": 4 * M * N})),
)  # fmt: skip


def find(name: str) -> Puzzle:
    """The puzzle called `name`: its number, its file's name, or its kernel's. Raises LookupError."""
    for puzzle in PUZZLES:
        number, _, title = puzzle.name.partition("_")
        if name.removesuffix(".tile") in (number, number.lstrip("0"), title, puzzle.name, puzzle.kernel):
            return puzzle
    raise LookupError(f"there is no puzzle {name!r}; there are {', '.join(p.name for p in PUZZLES)}")
