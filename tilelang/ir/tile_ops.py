"""The tile vocabulary: every op whose values are whole tiles, declared in one table.

An op's entry says what it needs, whether it is pure, and which memory it touches. Shapes never broadcast
implicitly here: the builder puts `broadcast` where the language allows different shapes, so every elementwise op has
operands and result of one shape. Its NumPy meaning is in `tilelang.ir.numerics` (elementwise) and
`tilelang.ir.interpreter` (the rest), under the same name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OpInfo:
    """What every pass may know about an op without knowing the op.

    `operands` is the number of operands, or None if it varies. `pure`: no effect and the same result for the same
    operands, so it may be dropped, shared or moved. `reads`/`writes`: touches the tensor that is operand 0.
    `ordered`: must keep its place among the other ordered ops (`print`, `assert`).
    `elementwise`: result[i] depends on operands[i] alone.
    """

    name: str
    operands: int | None
    doc: str
    pure: bool = True
    reads: bool = False
    writes: bool = False
    ordered: bool = False
    elementwise: bool = False
    terminator: bool = False


UNARY = ("neg", "not", "invert", "abs", "sign", "floor", "ceil", "round", "exp", "exp2", "expm1", "log", "log2",
         "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "sigmoid", "isnan", "isinf", "cast")
"""`not` is on bool, `invert` is `~` on integers; `cast` converts to the result dtype (floats to integers saturate)."""

BINARY = ("add", "sub", "mul", "div", "floordiv", "mod", "and", "or", "xor", "shl", "shr", "maximum", "minimum", "pow")
"""`div` on floats; `floordiv`/`mod` on integers; `and or xor` on integers (bitwise) and bool."""

COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
"""Operands of one dtype (bool too for eq, ne); the result is bool."""

APPROXIMATE = ("div", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid")
"""May have the attribute `approx`, which is true, but not on f64: a backend may give what the language reference calls
an approximation. Their NumPy meaning, which all but the GPU's code have, stays the accurate one."""

REDUCE_KINDS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")
SCAN_KINDS = ("sum", "prod", "max", "min")
ATOMIC_KINDS = ("add", "max", "min", "xchg", "cas")


def _elementwise(names: tuple[str, ...], operands: int) -> list[OpInfo]:
    return [OpInfo(n, operands, f"elementwise {n}", elementwise=True) for n in names]


TILE_OPS: dict[str, OpInfo] = {info.name: info for info in [
    *_elementwise(UNARY, 1),
    *_elementwise(BINARY, 2),
    *_elementwise(COMPARE, 2),
    OpInfo("fma", 3, "a * b + c, rounded once (floats)", elementwise=True),
    OpInfo("select", 3, "bool condition, then-value, else-value, all of one shape", elementwise=True),
    OpInfo("rand", 2, "operands seed, offsets (i64); f32 in [0, 1): Philox 4x32-10, see ir.philox", elementwise=True),
    OpInfo("randn", 2, "operands as rand; f32, standard normal (Box-Muller on two Philox words)", elementwise=True),
    OpInfo("randint", 2, "operands as rand; u32, first Philox word", elementwise=True),

    OpInfo("const", 0, "{value}: a scalar, or a tile with every element equal to value (a splat)"),
    OpInfo("iota", 0, "the index tile 0, 1, ..., N-1 (result: integer, rank 1)"),
    OpInfo("program_id", 0, "{axis}: i64 scalar"),
    OpInfo("num_programs", 0, "{axis}: i64 scalar"),
    OpInfo("broadcast", 1, "to the result's shape, by NumPy's rule: align on the right, stretch extents of 1"),
    OpInfo("convert_layout", 1, "{layout}: the same tile, held by threads in another way: see `tilelang.tiling.held`"),
    OpInfo("reshape", 1, "same elements in row-major order, another shape"),
    OpInfo("permute", 1, "{axes}: result axis i is operand axis axes[i] (np.transpose)"),
    OpInfo("cat", None, "{axis}: operands joined along axis"),
    OpInfo("reduce", 1, "{kind, axes}: kind in REDUCE_KINDS; axes: sorted tuple of axes, removed from the shape. "
           "argmax/argmin: one axis, result i32; sum/prod: result dtype is accumulator(operand dtype); any/all: bool"),
    OpInfo("scan", 1, "{kind, axis, reverse}: inclusive prefix; kind in SCAN_KINDS; dtype as for reduce"),
    OpInfo("dot", 3, "{tf32}: a[M,K], b[K,N], acc[M,N] -> acc + a @ b, or all with a leading batch axis. a, b of one "
           "dtype; acc f32 for f16, bf16, f32; f64 for f64; i32 for i8, i16, i32, i64 for i64; u32/u64 for unsigned"),

    OpInfo("load", None, "tensor, one index per axis, [mask], [other]. {pointwise, mask, other, checked}",
           pure=False, reads=True),
    OpInfo("store", None, "tensor, one index per axis, value, [mask]. {pointwise, mask, checked}",
           pure=False, writes=True),
    OpInfo("atomic", None, "tensor, one index per axis, value, [expected if kind is cas], [mask]. "
           "{kind, pointwise, mask, checked} -> old values (0 where masked off or outside)",
           pure=False, reads=True, writes=True),
    OpInfo("assert", 1, "{text}: bool scalar or tile; every element must be true", pure=False, ordered=True),
    OpInfo("print", None, "{text}: no or one operand", pure=False, ordered=True),

    OpInfo("for", None, "lo, hi, step, inits...; one block (iv, carried...) that yields the next carried values; "
           "results: the last ones. lo, hi, step and iv share one integer dtype; Python's range semantics, step is "
           "never 0 (an assert guards it)", pure=False),
    OpInfo("while", None, "inits...; block 0 (carried...) ends in `condition cond, carried...`; block 1 (carried...) "
           "yields; results: carried values when the condition was false", pure=False),
    OpInfo("if", 1, "bool scalar; two blocks without args, each yields as many values as there are results",
           pure=False),
    OpInfo("yield", None, "hands values to the op around", pure=False, terminator=True),
    OpInfo("condition", None, "bool scalar, then the carried values", pure=False, terminator=True),
]}
"""Index operands of load, store, atomic (attribute `pointwise`):

* `pointwise = false`: each index is an integer scalar or a rank-1 integer tile; the accessed shape is the
  concatenation of the rank-1 indexes' extents, in axis order (the outer product). All scalars: a scalar access.
* `pointwise = true`: the indexes all have the accessed shape (broadcast by the builder).

`checked` is a tuple of one bool per tensor axis: true while the access must be tested against [0, extent) there.
Outside, a load gives `other` (0 if there is none) and a store does nothing. `mask` and `other` have the accessed
shape. Indexes may be of any integer dtype.
"""
