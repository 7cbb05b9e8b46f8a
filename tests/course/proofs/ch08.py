"""Chapter 8."""

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "wrap": Proof(
        (
            change(
                "never negative",
                " if signed and low >> (bits - 1) else low",
                " if False else low",
                r"type holds it|other end",
            ),
            change("unsigned too", "if signed and low", "if low", r"type holds it|other end"),
            text(
                "clamped",
                """
def wrap(number, bits, signed):
    top = 2 ** (bits - signed) - 1
    return max(-top - 1 if signed else 0, min(top, number))
""",
                r"other end",
            ),
            change("the wrong bit", "low >> (bits - 1)", "low >> bits", r"type holds it|other end"),
            text(
                "by remainder",
                """
import math


def wrap(number, bits, signed):
    return int(math.fmod(number, 2 ** bits))
""",
                r"other end|low bits",
            ),
        ),
        (
            """
def wrap(number, bits, signed):
    half = 2 ** (bits - 1)
    return (number + half) % (2 * half) - half if signed else number % (2 * half)
""",
            """
def wrap(number, bits, signed):
    data = (number % (1 << bits)).to_bytes(bits // 8, "little")
    return int.from_bytes(data, "little", signed=signed)
""",
        ),
    ),
    "clobbers": Proof(
        (
            change("read-only ones too", "        return False\n", "        pass\n", r"mode `in`"),
            change("atomics forgotten", "ANY in writes or ", "", r"after an atomic"),
            change(
                "anything written",
                "return ANY in writes or tensor.name in writes",
                "return bool(writes)",
                r"never overlap",
            ),
            change("atomics only", " or tensor.name in writes", "", r"itself is written"),
            change(
                "read-only is inout",
                'tensor.type.mode == "in"',
                'tensor.type.mode != "in"',
                r"itself is written|after an atomic|mode",
            ),
        ),
        (
            """
def clobbers(writes, tensor):
    read_only = getattr(tensor.type, "mode", "") == "in"
    return not read_only and not writes.isdisjoint({ANY, tensor.name})
""",
            """
def clobbers(writes, tensor):
    if tensor.type.mode != "in":
        return any(name in (ANY, tensor.name) for name in writes)
    return False
""",
        ),
    ),
    "written": Proof(
        (
            change(
                "blocks forgotten",
                "        for block in op.blocks:\n            names |= written(block.ops)\n",
                "",
                r"body of a loop",
            ),
            change("the first block only", "for block in op.blocks:", "for block in op.blocks[:1]:", r"other side"),
            change("atomics by name", "names.add(ANY)", "names.add(op.operands[0].name)", r"ANY"),
            change("atomics by both", "names.add(ANY)", "names.update((ANY, op.operands[0].name))", r"ANY alone"),
            change("loads too", 'op.name == "store"', 'op.name in ("store", "load")', r"a load writes nothing"),
            change(
                "the value's name",
                "names.add(op.operands[0].name)",
                "names.add(op.operands[-1].name)",
                r"writes its tensor",
            ),
            change("a set", "return frozenset(names)", "return names", r"a set, where a frozenset"),
        ),
        (
            """
def written(ops):
    found = []
    todo = list(ops)
    while todo:
        op = todo.pop()
        if op.name in ("store", "atomic"):
            found.append(ANY if op.name == "atomic" else op.operands[0].name)
        for block in op.blocks:
            todo.extend(block.ops)
    return frozenset(found)
""",
            """
def written(ops):
    result = frozenset()
    for op in ops:
        own = {"store": lambda: {op.operands[0].name}, "atomic": lambda: {ANY}}.get(op.name, set)()
        result = result.union(own, *(written(b.walk()) for b in op.blocks))
    return result
""",
        ),
    ),
    "is_neutral": Proof(
        (
            change(
                "zero is zero",
                "repr(number) == FLOAT_RIGHT_NEUTRAL.get(name)",
                "number == float(FLOAT_RIGHT_NEUTRAL.get(name, 'nan'))",
                r"sign would be lost|-0\.0",
            ),
            change(
                "floats like integers",
                "    if dtype.is_float:\n        return repr(number) == FLOAT_RIGHT_NEUTRAL.get(name)\n",
                "",
                r"sign|x \+ -0\.0|-0\.0",
            ),
            change("and with one", "(-1 if dtype.is_signed else dtype.max_int)", "1", r"all bits set"),
            change("and unsigned", "(-1 if dtype.is_signed else dtype.max_int)", "-1", r"all bits set"),
            change("bool forgotten", "number is True if dtype.is_bool else ", "", r"all bits set"),
            change(
                "not in the table",
                "return name in RIGHT_NEUTRAL and number == RIGHT_NEUTRAL[name]",
                "return number == RIGHT_NEUTRAL.get(name, 0)",
                r"no neutral number",
            ),
            change("unknown is a crash", "return False", "return True", r"not known"),
            change("the table asked directly", "name in RIGHT_NEUTRAL and ", "", r"KeyError"),
        ),
        (
            """
def is_neutral(name, dtype, number):
    if number is None:
        return False
    if dtype.is_float:
        return name in FLOAT_RIGHT_NEUTRAL and FLOAT_RIGHT_NEUTRAL[name] == repr(number)
    if name == "and":
        every_bit = {"bool": True, "signed": -1, "unsigned": 2**dtype.bits - 1}[dtype.kind]
        return number == every_bit
    wanted = RIGHT_NEUTRAL.get(name)
    return wanted is not None and wanted == number
""",
            """
import math


def is_neutral(name, dtype, number):
    if number is None:
        return False
    match dtype.kind.value:
        case "float":
            wanted = FLOAT_RIGHT_NEUTRAL.get(name)
            if wanted is None:
                return False
            return float(wanted) == number and math.copysign(1, number) == math.copysign(1, float(wanted))
        case "bool" if name == "and":
            return bool(number)
        case _ if name == "and":
            return number == dtype.max_int or number == -1 if not dtype.is_signed else number == -1
    return RIGHT_NEUTRAL.get(name, "none") == number
""",
        ),
    ),
    "is_exact": Proof(
        (
            change("mantissa alone", " and target.exponent >= source.exponent", "", r"exponent must both"),
            change("exponent alone", "target.mantissa >= source.mantissa and ", "", r"mantissa and exponent"),
            change(
                "by width",
                "return target.min_int <= source.min_int and source.max_int <= target.max_int",
                "return target.bits >= source.bits",
                r"every value of the source",
            ),
            change("one digit less", "digits <= target.mantissa + 1", "digits <= target.mantissa", r"all digits"),
            change("floats are wide enough", "return digits <= target.mantissa + 1 and", "return", r"all digits"),
            change(
                "anything to bool",
                "    if target.is_bool:\n        return False\n",
                "",
                r"survives as bool|ValueError|shift",
            ),
            change("bool to nothing", "    if source.is_bool:\n        return True\n", "", r"survive as 1 and 0"),
        ),
        (
            """
def is_exact(source, target):
    if source == target or source.is_bool:
        return True
    if target.is_bool:
        return False
    if source.is_float and target.is_float:
        return source.mantissa <= target.mantissa and source.exponent <= target.exponent
    if source.is_float:
        return False
    if not target.is_float:
        return source.min_int >= target.min_int and source.max_int <= target.max_int
    digits = source.max_int.bit_length()
    return digits <= target.mantissa + 1
""",
            """
def is_exact(source, target):
    match (source.kind.value, target.kind.value):
        case (a, b) if source == target:
            return True
        case ("bool", _):
            return True
        case (_, "bool") | ("float", "signed" | "unsigned"):
            return False
        case ("float", "float"):
            return target.bits > source.bits
        case (_, "float"):
            return source.bits - (source.kind.value == "signed") <= target.mantissa + 1
        case ("signed", "unsigned"):
            return False
        case ("unsigned", "signed"):
            return target.bits > source.bits
        case _:
            return target.bits >= source.bits
""",
        ),
    ),
    "_mul": Proof(
        (
            text(
                "as if all were positive",
                """
def _mul(op, operands):
    a, b = operands
    return Range(a.lo * b.lo, a.hi * b.hi)
""",
                r"turns the order round",
            ),
            text(
                "the first and last corner",
                """
def _mul(op, operands):
    a, b = operands
    corners = [a.lo * b.lo, a.hi * b.hi]
    return Range(min(corners), max(corners))
""",
                r"turns the order round|all pairs",
            ),
            change(
                "limits kept",
                "Range(min(corners), max(corners))",
                "Range(min(corners), max(corners), a.limits)",
                r"may be beyond N",
            ),
            text(
                "too wide",
                """
def _mul(op, operands):
    a, b = operands
    far = max(abs(a.lo), abs(a.hi)) * max(abs(b.lo), abs(b.hi))
    return Range(-far, far)
""",
                r"smallest by smallest",
            ),
            text(
                "a sum",
                """
def _mul(op, operands):
    a, b = operands
    return Range(a.lo + b.lo, a.hi + b.hi)
""",
                r"smallest by smallest",
            ),
            change(
                "turned round",
                "Range(min(corners), max(corners))",
                "Range(max(corners), min(corners))",
                r"smallest by smallest",
            ),
        ),
        (
            """
import itertools


def _mul(op, operands):
    ends = [(r.lo, r.hi) for r in operands]
    products = sorted(x * y for x, y in itertools.product(*ends))
    return Range(products[0], products[-1])
""",
            """
def _mul(op, operands):
    a, b = operands
    lo = min(min(a.lo * b.lo, a.lo * b.hi), min(a.hi * b.lo, a.hi * b.hi))
    hi = -min(min(-a.lo * b.lo, -a.lo * b.hi), min(-a.hi * b.lo, -a.hi * b.hi))
    return Range(lo, hi)
""",
        ),
    ),
}
