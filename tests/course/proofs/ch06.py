"""Chapter 6."""

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "wider": Proof(
        (
            change("f16 with bf16", " or a.bits == b.bits", "", r"wider\((f16, bf16|bf16, f16)\)[\s\S]*as wide as"),
            change("kinds forgotten", "a.kind is not b.kind or ", "", r"do not mix"),
            change(
                "the narrower", "a if a.bits > b.bits else b", "b if a.bits > b.bits else a", r"the wider type wins"
            ),
            change("always the first", "a if a.bits > b.bits else b", "a", r"order of the operands|wider type wins"),
            change("always the second", "a if a.bits > b.bits else b", "b", r"order of the operands|wider type wins"),
        ),
        (
            """
def wider(a, b):
    if a.kind is b.kind:
        if a is b or a == b:
            return b
        if a.bits > b.bits:
            return a
        if b.bits > a.bits:
            return b
    return None
""",
            """
def wider(a, b):
    first, second = sorted((a, b), key=lambda d: d.bits)
    if first == second:
        return first
    return second if first.kind == second.kind and first.bits < second.bits else None
""",
        ),
    ),
    "common_dtype": Proof(
        (
            text(
                "the first two only",
                """
def common_dtype(dtypes):
    return wider(dtypes[0], dtypes[-1])
""",
                r"widest of all|None|mix",
            ),
            change("the last wins", "together = wide\n", "together = dtype\n", r"widest of all"),
            text(
                "by width alone",
                """
def common_dtype(dtypes):
    return max(dtypes, key=lambda d: d.bits)
""",
                r"makes the answer None|no type",
            ),
            change("skips what does not mix", "return None", "continue", r"makes the answer None"),
            change("a message instead of None", "return None", "raise TypeError(dtype)", r"TypeError"),
        ),
        (
            """
import functools


def common_dtype(dtypes):
    def step(so_far, dtype):
        return None if so_far is None else wider(so_far, dtype)

    return functools.reduce(step, dtypes)
""",
            """
def common_dtype(dtypes):
    if len(dtypes) == 1:
        return dtypes[0]
    front = common_dtype(dtypes[:-1])
    return front and wider(front, dtypes[-1])
""",
        ),
    ),
    "reduced_shape": Proof(
        (
            change("keepdims forgotten", "if keepdims:", "if False:", r"keepdims"),
            change("keepdims always", "if keepdims:", "if True:", r"left out"),
            change(
                "extents taken for axes",
                "enumerate(shape) if i not in axes",
                "enumerate(shape) if extent not in axes",
                r"axis|extents",
            ),
            change("a list", "return tuple(extent", "return list(extent", r"a list, where a tuple"),
            change(
                "an axis too few",
                "enumerate(shape) if i not in axes",
                "enumerate(shape) if i not in axes[:1]",
                r"all reduced axes",
            ),
            change("0 for 1", "tuple(1 if", "tuple(0 if", r"extent 1"),
        ),
        (
            """
def reduced_shape(shape, axes, keepdims):
    result = list(shape)
    for axis in sorted(axes, reverse=True):
        if keepdims:
            result[axis] = 1
        else:
            del result[axis]
    return tuple(result)
""",
            """
def reduced_shape(shape, axes, keepdims):
    kept = ()
    for axis in range(len(shape)):
        if axis in axes:
            kept += (1,) if keepdims else ()
        else:
            kept += (shape[axis],)
    return kept
""",
        ),
    ),
    "broadcast_extents": Proof(
        (
            change("1 on the left only", "    if b == 1:\n        return a\n", "", r"either side|stretches"),
            change("unknown taken for different", "equal(a, b) is False", "equal(a, b) is not True", r"unknown"),
            change(
                "different taken for equal", "    if equal(a, b) is False:\n        return None\n", "", r"do not fit"
            ),
            change("the unknown one", "return b if isinstance(a, Sym) else a", "return a", r"8 says more"),
            change("1 wins", "return b\n    if b", "return a\n    if b", r"1 stretches"),
        ),
        (
            """
def broadcast_extents(a, b):
    if 1 in (a, b):
        return b if a == 1 else a
    if equal(a, b) is False:
        return None
    return next((e for e in (a, b) if isinstance(e, int)), a)
""",
            """
def broadcast_extents(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b) if a == b or min(a, b) == 1 else None
    if isinstance(a, int):
        a, b = b, a
    if b == 1:
        return a
    return None if equal(a, b) is False else b if isinstance(b, int) else a
""",
        ),
    ),
    "broadcast_shapes": Proof(
        (
            change(
                "aligned on the left",
                "(1,) * (rank - len(a)) + a",
                "a + (1,) * (rank - len(a))",
                r"aligned on the right|NumPy|shorter",
            ),
            change(
                "the second not padded",
                "padded_b = (1,) * (rank - len(b)) + b",
                "padded_b = b",
                r"ValueError|scalar|right",
            ),
            text(
                "the shorter decides",
                """
def broadcast_shapes(a, b):
    pairs = list(zip(a[::-1], b[::-1]))
    result = [broadcast_extents(x, y) for x, y in pairs]
    return None if None in result else tuple(result[::-1])
""",
                r"aligned on the right|scalar",
            ),
            change("a None in the shape", "            return None\n", "            pass\n", r"neither is 1"),
            change("a list", "return tuple(result)", "return result", r"a list, where a tuple"),
            change(
                "the first shape", "result.append(extent)", "result.append(extent_a)", r"aligned on the right|scalar"
            ),
        ),
        (
            """
from itertools import zip_longest


def broadcast_shapes(a, b):
    backwards = [broadcast_extents(x, y) for x, y in zip_longest(reversed(a), reversed(b), fillvalue=1)]
    return None if any(e is None for e in backwards) else tuple(backwards[::-1])
""",
            """
def broadcast_shapes(a, b):
    if not a or not b:
        return tuple(a or b)
    front, last = broadcast_shapes(a[:-1], b[:-1]), broadcast_extents(a[-1], b[-1])
    return None if front is None or last is None else (*front, last)
""",
        ),
    ),
    "dot_shape": Proof(
        (
            change("inner extents swapped", "a[-1], b[-2]", "a[-2], b[-1]", r"gives \[M, N\]|last extent"),
            change("no inner test", " or equal(a[-1], b[-2]) is False", "", r"last extent"),
            change("batches not compared", "not same_shape(a[:-2], b[:-2]) or ", "", r"batch"),
            change("unknown refused", "equal(a[-1], b[-2]) is False", "not equal(a[-1], b[-2])", r"unknown extent"),
            change("any rank", " or len(a) not in (2, 3)", "", r"rank 2|IndexError|index"),
            change("result swapped", "a[-2], b[-1])", "b[-1], a[-2])", r"gives \[M, N\]"),
            change("batch dropped", "(*a[:-2], ", "(", r"batch axis stays"),
        ),
        (
            """
def dot_shape(a, b):
    if not (len(a) == len(b) == 2 or len(a) == len(b) == 3):
        return None
    *batch_a, m, k = a
    *batch_b, l, n = b
    if equal(k, l) is False or any(equal(x, y) is False for x, y in zip(batch_a, batch_b)):
        return None
    return (*batch_a, m, n)
""",
            """
def dot_shape(a, b):
    if len(a) == 3 and len(b) == 3:
        inner = dot_shape(a[1:], b[1:])
        return None if inner is None or equal(a[0], b[0]) is False else (a[0],) + inner
    if len(a) != 2 or len(b) != 2 or equal(a[1], b[0]) is False:
        return None
    return a[0], b[1]
""",
        ),
    ),
    "holds_int": Proof(
        (
            change("one bit too many", "<= dtype.mantissa + 1", "<= dtype.mantissa + 2", r"binary digits"),
            change("one bit too few", "<= dtype.mantissa + 1", "<= dtype.mantissa", r"binary digits"),
            change(
                "trailing zeros counted", "odd.bit_length()", "abs(value).bit_length()", r"binary digits|two digits"
            ),
            change("no largest", " and abs(value) <= largest_float(dtype)", "", r"beyond the largest"),
            change("bool like an int", "return False", "return value in (0, 1)", r"no number is a bool"),
            change(
                "bounds left out",
                "dtype.min_int <= value <= dtype.max_int",
                "dtype.min_int < value < dtype.max_int",
                r"holds",
            ),
            change("zero forgotten", "    if value == 0:\n        return True\n", "", r"ZeroDivision"),
        ),
        (
            """
def holds_int(dtype, value):
    if dtype.is_bool:
        return False
    if not dtype.is_float:
        return dtype.min_int <= value <= dtype.max_int
    value = abs(value)
    if value > largest_float(dtype):
        return False
    while value and value % 2 == 0:
        value //= 2
    return value < 2 ** (dtype.mantissa + 1)
""",
            """
def holds_int(dtype, value):
    if dtype.is_integer:
        return value in range(dtype.min_int, dtype.max_int + 1)
    if dtype.is_bool:
        return False
    if abs(value) > largest_float(dtype):
        return False
    digits = bin(abs(value))[2:].rstrip("0")
    return len(digits) <= dtype.mantissa + 1
""",
        ),
    ),
    "fits": Proof(
        (
            change(
                "floats to ints",
                "return dtype.is_float and (",
                "return not dtype.is_float or (",
                r"never becomes an integer",
            ),
            change("infinity refused", ' or abs(value) == float("inf")', "", r"infinities"),
            change(
                "rounds to infinity",
                "return dtype.is_float and (abs(",
                "return dtype.is_float or dtype.is_float and (abs(",
                r"round to infinity|rounds to",
            ),
            change("unknown to bool", "return not dtype.is_bool", "return True", r"no bool"),
            change("unknown refused", "return not dtype.is_bool", "return False", r"unknown int"),
            change(
                "ints rounded",
                "return holds_int(dtype, value)",
                "return dtype.is_float or holds_int(dtype, value)",
                r"held exactly",
            ),
        ),
        (
            """
def fits(value, dtype):
    if isinstance(value, Sym):
        return dtype.is_float or dtype.is_integer
    if not isinstance(value, float):
        return holds_int(dtype, value)
    if not dtype.is_float:
        return False
    return value in (float("inf"), float("-inf")) or abs(round_float(value, dtype)) != float("inf")
""",
            """
def fits(value, dtype):
    match value:
        case float():
            if dtype.is_float:
                rounded = round_float(value, dtype)
                return rounded == value or rounded != rounded or abs(rounded) < float("inf")
            return False
        case int():
            return holds_int(dtype, value)
        case _:
            return not dtype.is_bool
""",
        ),
    ),
    "coerce": Proof(
        (
            change("anything converts", " or converts(value.type.dtype, dtype)", " or True", r"only wider types"),
            change(
                "the wrong way round",
                "converts(value.type.dtype, dtype)",
                "converts(dtype, value.type.dtype)",
                r"i8 becomes i32|E0303|without",
            ),
            change("literals refused", "isinstance(value, Literal) or ", "", r"literal takes the type|300"),
            change("another code", '"E0303"', '"E0302"', r"E0303"),
            change(
                "what is not named", 'f"{what} needs {dtype}', 'f"this needs {dtype}', r"which type|which it got|title"
            ),
            change("no help", "help=_conversion_help(value.type.dtype, dtype, what)", 'help=""', r"shows the `as`"),
            change("no span", "value.span,\n", "type(value.span)(0, 0),\n", r"span"),
            change("nothing converted", "return convert(value, dtype)", "return value", r"Cast|literal"),
        ),
        (
            """
def coerce(value, dtype, what):
    source = value.type.dtype
    allowed = isinstance(value, Literal) or converts(source, dtype)
    if not allowed:
        title = f"{what} needs {dtype}, but this is {source}"
        raise mistake("E0303", title, value.span, help=f"write `(...) as {dtype}`")
    return convert(value, dtype)
""",
            """
from tilelang.semantics.typed import Cast


def coerce(value, dtype, what):
    if isinstance(value, Literal):
        return convert(value, dtype)
    if value.type.dtype == dtype:
        return value
    if converts(value.type.dtype, dtype):
        return Cast(value, type=value.type.with_dtype(dtype), span=value.span)
    raise mistake("E0303", what + f" needs {dtype}: found {value.type}", value.span, help=f"as {dtype}")
""",
        ),
    ),
    "round_float": Proof(
        (
            change(
                "too large for `ldexp`",
                "    if abs(value) >= 2 * largest_float(dtype):\n        return math.copysign(math.inf, value)\n",
                "",
                "OverflowError[^$]*largest f64",
            ),
            change(
                "halves away from zero",
                "float(round(math.ldexp(value, -last_bit)))",
                "math.copysign(math.floor(abs(math.ldexp(value, -last_bit)) + 0.5), value)",
                r"even",
            ),
            change(
                "truncates",
                "float(round(math.ldexp(value, -last_bit)))",
                "float(int(math.ldexp(value, -last_bit)))",
                r"half|nearer|nearest|f16",
            ),
            change("no subnormals", "max(exponent - 1, smallest_normal)", "(exponent - 1)", r"2\^-24|nearest"),
            change(
                "no infinity",
                "    if abs(rounded) > largest_float(dtype):\n        return math.copysign(math.inf, value)\n",
                "",
                r"would be the next",
            ),
            change("one bit short", "- dtype.mantissa\n", "- dtype.mantissa + 1\n", r"half|nearest|nearer|already"),
            change("the sign of zero", "return math.copysign(rounded, value)", "return rounded + 0.0", r"-0\.0|2\^-24"),
            change("the sign of infinity", "return math.copysign(math.inf, value)", "return math.inf", r"-inf"),
        ),
        (
            """
from fractions import Fraction


def round_float(value, dtype):
    if dtype.bits == 64 or value == 0 or math.isnan(value) or math.isinf(value):
        return value
    step = Fraction(2) ** (2 - 2 ** (dtype.exponent - 1) - dtype.mantissa)
    size = abs(Fraction(value))
    while size / step >= 2 ** (dtype.mantissa + 1):
        step *= 2
    rounded = round(size / step) * step
    result = math.inf if rounded > Fraction(largest_float(dtype)) else float(rounded)
    return math.copysign(result, value)
""",
            """
def round_float(value, dtype):
    if value == 0.0 or not math.isfinite(value) or dtype.bits == 64:
        return value
    if abs(value) > 2 * largest_float(dtype):
        return math.copysign(math.inf, value)
    lowest = 2 - (1 << (dtype.exponent - 1)) - dtype.mantissa
    last = max(math.frexp(value)[1] - 1 - dtype.mantissa, lowest)
    scaled = abs(value) * 2.0 ** (-last // 2) * 2.0 ** (-last - -last // 2)
    whole = math.floor(scaled)
    rest = scaled - whole
    whole += rest > 0.5 or (rest == 0.5 and whole % 2 == 1)
    result = math.ldexp(whole, last)
    return math.copysign(math.inf if result > largest_float(dtype) else result, value)
""",
        ),
    ),
}
