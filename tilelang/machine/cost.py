"""What an op costs the execution units: machine instructions, and which unit each of them occupies.

The figures for real functions are read off the machine code that ptxas makes for sm_80 (`tilec compile --emit sass`),
without the paths for rare operands; they are right within a factor of two, which is enough to name a limiter.
Half floats are computed in f32, 64-bit integers in pieces of 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.dtypes import F64, DType
from tilelang.ir.attrs import int_attr
from tilelang.ir.core import Kernel, Op
from tilelang.ir.thread_ops import MMA_DEPTHS
from tilelang.ir.tile_ops import BINARY, COMPARE, UNARY
from tilelang.machine.lanes import WARP
from tilelang.machine.report import NO_INSTRUCTION


@dataclass(frozen=True)
class Cost:
    """Instructions that one execution of an op issues, and how many of them each unit runs.

    `special`: reciprocals, roots, 2^x, log2, sines. `flops`: operations in the roofline's sense, an fma counts two.
    `products`: operations of the tensor cores, of a whole warp.
    What is in `issue` and in no unit is memory accesses, branches and barriers.
    """

    issue: int = 0
    f32: int = 0
    f64: int = 0
    integer: int = 0
    special: int = 0
    flops: int = 0
    products: int = 0


FREE = Cost()
TRIP = Cost(issue=3, integer=2)
"""What a loop that is not unrolled costs a trip: add, compare, branch."""

FUNCTIONS: dict[str, tuple[int, int]] = {
    "div": (10, 1), "exp": (9, 1), "exp2": (4, 1), "expm1": (18, 1), "log": (25, 0), "log2": (25, 0), "log1p": (28, 0),
    "sqrt": (9, 1), "rsqrt": (14, 1), "sin": (28, 0), "cos": (28, 0), "tanh": (18, 2), "erf": (27, 1),
    "sigmoid": (22, 2), "pow": (70, 2), "mod": (14, 1), "floordiv": (14, 1),
}
"""Instructions of a function of floats, and how many of them are the special unit's."""

APPROXIMATIONS: dict[str, tuple[int, int]] = {
    "div": (2, 1), "exp": (2, 1), "exp2": (1, 1), "log": (2, 1), "log2": (1, 1), "sqrt": (1, 1), "rsqrt": (1, 1),
    "sin": (2, 1), "cos": (2, 1), "tanh": (1, 1), "sigmoid": (4, 2),
}
"""The same where `approx` allows an approximation."""

MEMORY = {"global.load": Cost(3, integer=2), "global.store": Cost(3, integer=2), "global.atomic": Cost(3, integer=2),
          "global.load_vector": Cost(3, integer=2), "global.store_vector": Cost(3, integer=2),
          "shared.load": Cost(1), "shared.store": Cost(1), "shared.load_matrix": Cost(1),
          "shared.load_vector": Cost(1), "shared.store_vector": Cost(1),
          "shared.copy_async": Cost(3, integer=2), "global.load_chunk": Cost(3, integer=2),
          "shared.store_chunk": Cost(1)}
"""A global access makes a 64-bit address first: two instructions."""

PHILOX = 100
"""Integer instructions of the ten rounds behind `rand`."""

DIVISION = {True: 40, False: 120}
"""Integer `//` and `%`, with the language's rules for signs and zero: 32 bits or fewer, 64 bits."""
BY_CONSTANT = {True: 8, False: 24}
"""The same by a constant: a multiplication by its inverse."""


def op_costs(kernel: Kernel, constants: set[str]) -> dict[int, Cost]:
    """The cost of each op, by `id`. Ops on `constants` (see `tilelang.machine.constants`) are free."""
    return {id(op): _cost(op, constants) for op in kernel.walk()}


def _cost(op: Op, constants: set[str]) -> Cost:
    if op.name in NO_INSTRUCTION or (op.results and not op.blocks and all(v.name in constants for v in op.results)):
        return FREE
    if op.name in MEMORY:
        return MEMORY[op.name]
    if op.name == "mma":
        depth = MMA_DEPTHS[str(op.attrs["kind"])]
        return Cost(issue=1, flops=2 * 16 * 8 * depth // WARP, products=2 * 16 * 8 * depth)
    if op.name == "shared.wgmma":  # of each warp of the group: its 16 of the 64 rows
        products = 2 * 16 * int_attr(op, "columns") * 16
        return Cost(issue=1, flops=products // WARP, products=products)
    if op.name == "permute_bytes":
        return Cost(issue=1, integer=1)
    if op.name in ("pack", "round_tf32"):
        return Cost(issue=1, f32=1)
    if op.name in ("rand", "randn", "randint"):
        special = {"randn": 3}.get(op.name, 0)
        return Cost(issue=PHILOX + 10 * special, integer=PHILOX, special=special)
    if op.name in UNARY or op.name in BINARY or op.name in COMPARE or op.name in ("fma", "select"):
        return _arithmetic(op, constants)
    return FREE if op.name in ("for", "while") else Cost(issue=1)  # if, barrier, assert, print


def _arithmetic(op: Op, constants: set[str]) -> Cost:
    dtype = op.operands[-1].dtype
    if dtype.is_float or op.result.dtype.is_float:
        return _float(op, op.result.dtype if op.result.dtype.is_float else dtype)
    return _integer(op, dtype, constants)


def _float(op: Op, dtype: DType) -> Cost:
    flops = 0 if op.name in ("cast", "select", *COMPARE, "isnan", "isinf") else 2 if op.name == "fma" else 1
    instructions, special = (APPROXIMATIONS if "approx" in op.attrs else FUNCTIONS).get(op.name, (1, 0))
    if dtype == F64:
        wide = instructions if instructions == 1 else 2 * instructions
        return Cost(issue=wide, f64=wide - special, special=special, flops=flops)
    rounding = 1 if dtype.bits == 16 and op.name != "cast" else 0
    return Cost(issue=instructions + rounding, f32=instructions - special + rounding, special=special, flops=flops)


def _integer(op: Op, dtype: DType, constants: set[str]) -> Cost:
    words = 2 if dtype.bits == 64 else 1
    if dtype.is_bool:
        count = 1
    elif op.name in ("floordiv", "mod"):
        table = BY_CONSTANT if op.operands[1].name in constants else DIVISION
        count = table[words == 1]
    elif op.name == "mul":
        count = 1 if words == 1 else 4
    elif op.name in ("shl", "shr"):
        count = words if op.operands[1].name in constants else 3 * words
    elif op.name == "cast":
        count = 1
    else:
        count = words
    return Cost(issue=count, integer=count)
