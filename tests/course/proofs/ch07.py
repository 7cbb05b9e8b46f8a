"""Chapter 7."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "reachable": Proof(
        (
            change("without the return", "statements[:position + 1]", "statements[:position]", r"itself is reached"),
            change(
                "the last return",
                "enumerate(statements):",
                "reversed(list(enumerate(statements))):",
                r"the first `return`",
            ),
            change("never cut", "return statements[:position + 1]", "return statements", r"what follows is not"),
            text(
                "inner ones too",
                """
def reachable(statements):
    for position, s in enumerate(statements):
        if isinstance(s, typed.Return) or any(isinstance(t, typed.Return) for t in getattr(s, 'then', ())):
            return statements[:position + 1]
    return statements
""",
                r"inside an `if`",
            ),
            change("one too many", "position + 1", "position + 2", r"what follows is not"),
        ),
        (
            """
def reachable(statements):
    kept = []
    for statement in statements:
        kept.append(statement)
        if type(statement) is typed.Return:
            break
    return tuple(kept)
""",
            """
def reachable(statements):
    ends = [i for i, s in enumerate(statements) if isinstance(s, typed.Return)]
    return statements[: ends[0] + 1] if ends else statements
""",
        ),
    ),
    "floor_divide": Proof(
        (
            change("divided by 0 all the same", "np.where(by_zero | wraps, _like(1, b), b)", "b", "harmless divisor"),
            change(
                "truncates",
                "np.floor_divide(a, np.where(by_zero | wraps, _like(1, b), b))",
                "np.trunc(a / np.where(by_zero | wraps, _like(1, b), b)).astype(a.dtype)",
                r"minus infinity",
            ),
            change("by zero is one", "np.where(by_zero, _like(0, a)", "np.where(by_zero, _like(1, a)", r"by 0 gives 0"),
            change("by zero is the dividend", "np.where(by_zero, _like(0, a)", "np.where(by_zero, a", r"by 0 gives 0"),
            change(
                "minus one forgotten", "np.where(wraps, np.negative(a), quotient)", "quotient", r"-1 wraps|expected"
            ),
            change(
                "minus one saturates",
                "np.negative(a)",
                "np.where(a == np.iinfo(a.dtype).min, np.iinfo(a.dtype).max, -a)",
                r"wraps|kind|iinfo",
            ),
            text(
                "through floats",
                """
def floor_divide(a, b):
    with np.errstate(all='ignore'):
        q = np.floor(a.astype(np.float64) / np.where(b == 0, 1, b))
    return np.where(b == 0, 0, q).astype(a.dtype)
""",
                r"wraps|exact division",
            ),
            text(
                "Python ints",
                """
def floor_divide(a, b):
    return np.array([0 if y == 0 else x // y for x, y in zip(a.tolist(), b.tolist())])
""",
                r"elements of int64|Overflow",
            ),
        ),
        (
            """
def floor_divide(a, b):
    safe = b.copy()
    safe[b == 0] = 1
    if b.dtype.kind == "i":
        safe[b == -1] = 1
    result = np.floor_divide(a, safe)
    if b.dtype.kind == "i":
        with np.errstate(over="ignore"):
            result[b == -1] = (a.view("u%d" % a.itemsize) * np.array(-1, a.dtype).view("u%d" % a.itemsize)).view(a.dtype)[b == -1]
    result[b == 0] = 0
    return result
""",
            """
def floor_divide(a, b):
    mask = 2 ** (8 * a.dtype.itemsize) - 1
    exact = [0 if y == 0 else (x // y) & mask for x, y in zip(a.tolist(), b.tolist())]
    return np.array(exact, dtype=np.uint64).astype(a.dtype)
""",
        ),
    ),
    "_float_to_integer": Proof(
        (
            change(
                "converted all but NaN",
                "(whole >= low) & (whole < above)",
                "(whole >= low) | (whole < above)",
                "only what is inside",
            ),
            change("rounds", "np.trunc(array)", "np.rint(array)", r"cut off"),
            change("floors", "np.trunc(array)", "np.floor(array)", r"cut off"),
            change(
                "does not saturate above",
                "np.where(whole >= above, numpy_dtype(dtype).type(dtype.max_int), result)",
                "result",
                r"at the end|beyond",
            ),
            change(
                "does not saturate below",
                "np.where(whole < low, numpy_dtype(dtype).type(dtype.min_int), result)",
                "result",
                r"at the end|only 0",
            ),
            text(
                "NaN is the smallest",
                """
def _float_to_integer(array, dtype):
    host = numpy_dtype(dtype)
    out = [dtype.min_int if v != v else int(max(dtype.min_int, min(dtype.max_int, v))) for v in array.tolist()]
    return np.array(out, host)
""",
                r"NaN becomes 0",
            ),
            text(
                "by clipping",
                """
def _float_to_integer(array, dtype):
    whole = np.nan_to_num(np.trunc(array), nan=0.0)
    with np.errstate(all='ignore'):
        return np.clip(whole, float(dtype.min_int), float(dtype.max_int)).astype(numpy_dtype(dtype))
""",
                r"2\^63 itself",
            ),
            text(
                "wraps",
                """
def _float_to_integer(array, dtype):
    return np.array([0 if v != v or abs(v) == float('inf') else int(v) % 2**64 for v in array.tolist()], np.uint64).astype(numpy_dtype(dtype))
""",
                r"at the end",
            ),
        ),
        (
            """
import math


def _float_to_integer(array, dtype):
    def one(v):
        if math.isnan(v):
            return 0
        if v >= dtype.max_int:
            return dtype.max_int
        return dtype.min_int if v <= dtype.min_int else int(v)

    return np.array([one(v) for v in array.ravel().tolist()], numpy_dtype(dtype)).reshape(array.shape)
""",
            """
def _float_to_integer(array, dtype):
    host = numpy_dtype(dtype)
    whole = np.trunc(array)
    low = whole < float(dtype.min_int)
    high = whole >= float(dtype.max_int + 1)
    kept = np.zeros(array.shape, host)
    good = ~(low | high | np.isnan(whole))
    kept[good] = whole[good].astype(host)
    kept[low], kept[high] = dtype.min_int, dtype.max_int
    return kept
""",
        ),
    ),
    "broadcast": Proof(
        (
            change("both ways", "a in (1, r) for", "a in (1, r) or r == 1 for", r"does not stretch"),
            change(
                "aligned on the left",
                "(1,) * missing + operand.shape",
                "operand.shape + (1,) * missing",
                r"missing axes|does not stretch",
            ),
            change(
                "any element type",
                '    require(operand.dtype == result.dtype, "keeps the element type")\n',
                "",
                r"element type stays",
            ),
            change(
                "no test",
                '    require(stretches, f"{operand} does not stretch to {result}")\n',
                "",
                r"does not stretch",
            ),
            change("no missing axes", "missing >= 0", "missing == 0", r"missing axes"),
            change("a bare type", "return (result,)", "return result", r"no tuple"),
            change("the operand's type", "return (result,)", "return (operand,)", r"stretch"),
        ),
        (
            """
def broadcast(op):
    operand, result = tile(op.operands[0]), own_result(op)
    require(result.dtype == operand.dtype, "one element type")
    require(result.rank >= operand.rank, "axes do not go")
    for a, r in zip(operand.shape[::-1], result.shape[::-1]):
        require(a == r or a == 1, f"{a} does not become {r}")
    return (result,)
""",
            """
import numpy as np


def broadcast(op):
    operand, result = tile(op.operands[0]), own_result(op)
    try:
        together = np.broadcast_shapes(operand.shape, result.shape)
    except ValueError:
        together = None
    require(together == result.shape and operand.dtype == result.dtype, f"{operand} is not {result}")
    return (result,)
""",
        ),
    ),
    "dot": Proof(
        (
            change("any batch", "a.shape[:-2] == b.shape[:-2] and ", "", r"does not multiply"),
            change(
                "inner extents swapped",
                "a.shape[-1] == b.shape[-2]",
                "a.shape[-2] == b.shape[-1]",
                r"\[M, N\]|does not multiply|expected",
            ),
            change("bool too", " and not a.dtype.is_bool", "", r"one number type|bool"),
            change("two types", "a.dtype == b.dtype and ", "", r"one number type"),
            change(
                "any rank",
                '    require(a.rank in (2, 3) and a.rank == b.rank, "operands must have rank 2, or 3 with a batch axis")\n',
                "",
                r"does not multiply|IndexError",
            ),
            change("narrow accumulator", "dot_accumulator(a.dtype)", "a.dtype", r"\[M, N\]|accumulator"),
            change(
                "any accumulator",
                '    require(acc == expected, f"the accumulator must be {expected}")\n',
                "",
                r"accumulator",
            ),
            change(
                "tf32 for all",
                '    require(not op.attrs["tf32"] or a.dtype == F32, "{tf32} is for f32 operands")\n',
                "",
                r"tf32 is for",
            ),
            change(
                "tf32 a number",
                '    require(isinstance(op.attrs.get("tf32"), bool), "{tf32} must be true or false")\n',
                "",
                r"tf32",
            ),
        ),
        (
            """
def dot(op):
    a, b, acc = (tile(v) for v in op.operands)
    require(a.rank == b.rank and 2 <= a.rank <= 3, "rank 2 or 3")
    require(a.dtype == b.dtype, "one type")
    require(not b.dtype.is_bool, "numbers")
    *batch, m, k = a.shape
    *other, inner, n = b.shape
    require(batch == other and k == inner, "does not fit")
    product = TileType(dot_accumulator(a.dtype), (*batch, m, n))
    require(product == acc, "acc")
    flag = op.attrs.get("tf32")
    require(flag is True or flag is False, "a flag")
    require(flag is False or a.dtype == F32, "f32 only")
    return (product,)
""",
            """
from tilelang.semantics.builtins.products import dot_shape


def dot(op):
    a, b, acc = map(tile, op.operands)
    shape = dot_shape(a.shape, b.shape)
    require(shape is not None and a.dtype == b.dtype and not a.dtype.is_bool, f"{a} and {b}")
    require(acc.dtype == dot_accumulator(a.dtype) and acc.shape == shape, f"{acc}")
    require(type(op.attrs.get("tf32")) is bool, "tf32")
    require(a.dtype == F32 or not op.attrs["tf32"], "tf32")
    return (acc,)
""",
        ),
    ),
}
