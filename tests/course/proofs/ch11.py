"""Chapter 11."""

# ruff: noqa: E501  (pieces of the solutions, as they stand there)

from __future__ import annotations

from tests.course.proving import Proof, change, text

PROOFS = {
    "printable": Proof(
        (
            text(
                "the line feed only",
                """
def printable(text):
    return text.replace('\\n', '\\\\n')
""",
                r"end the comment",
            ),
            text(
                "repr",
                """
def printable(text):
    return repr(text)[1:-1]
""",
                r"can be printed|quoted",
            ),
            text(
                "ASCII only",
                """
def printable(text):
    return text.encode('unicode_escape', 'surrogatepass').decode('ascii')
""",
                r"can be printed",
            ),
            change(
                "surrogates crash",
                '"unicode_escape"',
                '"utf-8"',
                r"UnicodeEncodeError|UnicodeDecodeError|end the comment",
            ),
            text(
                "dropped",
                """
def printable(text):
    return ''.join(c for c in text if c.isprintable())
""",
                r"end the comment",
            ),
            text(
                "question marks",
                """
def printable(text):
    return ''.join(c if c.isprintable() else '?' for c in text)
""",
                r"end the comment",
            ),
        ),
        (
            """
def printable(text):
    out = []
    for char in text:
        code = ord(char)
        if char.isprintable():
            out.append(char)
        elif char in "\\n\\r\\t":
            out.append({"\\n": "\\\\n", "\\r": "\\\\r", "\\t": "\\\\t"}[char])
        else:
            out.append(f"\\\\x{code:02x}" if code < 256 else f"\\\\u{code:04x}" if code < 65536 else f"\\\\U{code:08x}")
    return "".join(out)
""",
            """
def printable(text):
    def shown(char):
        return char if char.isprintable() else repr(char)[1:-1]

    return "".join(map(shown, text))
""",
        ),
    ),
    "identity": Proof(
        (
            change("ints for floats", "0.0 if dtype.is_float else 0", "0", r"an int, where a float"),
            change("products from zero", "1.0 if dtype.is_float else 1", "0.0 if dtype.is_float else 0", r"times 1"),
            change("any is true", 'return kind == "all"', 'return kind == "any"', r"no element is true"),
            change(
                "max from zero", "return _lowest(dtype)", "return 0.0 if dtype.is_float else 0", r"beats it|infinity"
            ),
            change("max and min swapped", 'case "max" | "argmax":', 'case "min" | "argmin":', r"beats it|infinity"),
            change("argmax forgotten", 'case "max" | "argmax":', 'case "max":', r"beats it"),
            change("minus the lowest", "dtype.max_int)", "-dtype.min_int)", r"beats it"),
            change(
                "bool like an int", "(True if dtype.is_bool else dtype.max_int)", "dtype.max_int", r"true is the larger"
            ),
        ),
        (
            """
def identity(kind, dtype):
    number = float if dtype.is_float else int
    if kind in ("sum", "prod"):
        return number(kind == "prod")
    if kind in ("any", "all"):
        return kind != "any"
    low = _lowest(dtype)
    if kind.endswith("max"):
        return low
    if dtype.is_float:
        return float("inf")
    return not low if dtype.is_bool else dtype.max_int
""",
            """
def identity(kind, dtype):
    kind = kind.removeprefix("arg")
    if dtype.is_float:
        return {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}[kind]
    if dtype.is_bool and kind not in ("sum", "prod"):
        return {"any": False, "all": True, "max": False, "min": True}[kind]
    return {"sum": 0, "prod": 1, "max": dtype.min_int, "min": dtype.max_int}[kind]
""",
        ),
    ),
    "literal": Proof(
        (
            change("no brackets", 'f"({number})" if int(value) < 0 else number', "number", r"i64"),
            change("brackets always", 'f"({number})" if int(value) < 0 else number', 'f"({number})"', r"i64"),
            change("bools as numbers", '"True" if value else "False"', "str(value)", r"written as one"),
            change("integers as bools", "str(int(value))", "str(value)", r"written as one"),
            change(
                "halves not rounded",
                '    if dtype.name in ("f16", "bf16"):\n        value = python_number(scalar(value, dtype).astype("float64"))\n',
                "",
                r"rounded to",
            ),
            change("bf16 not rounded", 'in ("f16", "bf16")', 'in ("f16",)', r"rounded to bf16"),
            change("not exact", "{float(value)!r}", "{float(value):g}", r"reads back exactly|rounded"),
            change("halves by their own name", "'f64' if dtype.bits == 64 else 'f32'", "dtype", r"held as f32"),
            change("whole numbers", "float(value)!r", "value!r", r"written as a float"),
        ),
        (
            """
def literal(value, dtype):
    if dtype.is_bool:
        return repr(bool(value))
    if dtype.is_float:
        if dtype.bits == 16:
            value = python_number(scalar(value, dtype).astype("float64"))
        return ("f64" if dtype.bits == 64 else "f32") + "(" + repr(float(value)) + ")"
    whole = int(value)
    if dtype.name != "i64":
        return dtype.name + "(" + str(whole) + ")"
    return str(whole) if whole >= 0 else "(" + str(whole) + ")"
""",
            """
def literal(value, dtype):
    match dtype.kind.value:
        case "bool":
            return "True" if bool(value) else "False"
        case "float":
            narrow = float(scalar(value, dtype).astype("float64")) if dtype.bits < 32 else float(value)
            return f"f{max(dtype.bits, 32)}({narrow!r})"
    if (dtype.bits, dtype.is_signed) == (64, True):
        return f"({value:d})" if value < 0 else f"{value:d}"
    return f"{dtype.name}({value:d})"
""",
        ),
    ),
    "_call": Proof(
        (
            change("operators for all types", " and dtype.name in WITH_OPERATORS", "", r"something else"),
            change("no operators", "op.name in OPERATORS and ", "False and ", r"does what the op does"),
            change("the source's type", "to_{op.result.dtype}", "to_{dtype}", r"result's type"),
            change(
                "powers of integers", "'power' if dtype.is_float else 'int_power'", "'power'", r"powers of integers"
            ),
            change(
                "operands swapped",
                "{operands[0]} {OPERATORS[op.name]} {operands[1]}",
                "{operands[1]} {OPERATORS[op.name]} {operands[0]}",
                r"does what the op does",
            ),
            change("the op's own name", "WORDS[op.name]", "op.name", r"vocabulary|something else"),
            change("two operands at most", "', '.join(operands)", "', '.join(operands[:2])", r"vocabulary"),
        ),
        (
            """
def _call(op, dtype, operands):
    name = op.name
    if name == "cast":
        word = f"to_{op.result.type.dtype.name}"
    elif name == "pow":
        word = ("int_power", "power")[dtype.is_float]
    elif name in OPERATORS and dtype.name in WITH_OPERATORS:
        return f" {OPERATORS[name]} ".join(operands)
    else:
        word = WORDS[name]
    return word + "(" + ", ".join(operands) + ")"
""",
            """
def _call(op, dtype, operands):
    inside = ", ".join(operands)
    match op.name:
        case "cast":
            return f"to_{op.results[0].dtype}({inside})"
        case "pow":
            return f"power({inside})" if dtype.is_float else f"int_power({inside})"
        case name if dtype.name in WITH_OPERATORS and name in OPERATORS:
            left, right = operands
            return f"{left} {OPERATORS[name]} {right}"
        case name:
            return f"{WORDS[name]}({inside})"
""",
        ),
    ),
    "offset_text": Proof(
        (
            change(
                "no brackets",
                'coord.text if coord.text.isidentifier() or stride == 1 else f"({coord.text})"',
                "coord.text",
                r"another number",
            ),
            change(
                "brackets always",
                'coord.text if coord.text.isidentifier() or stride == 1 else f"({coord.text})"',
                'f"({coord.text})"',
                r"stride, summed|no brackets",
            ),
            change("times one", "text if stride == 1 else ", "", r"stride, summed"),
            change("zeros stay", 'coord.text == "0" or stride == 0', "False", r"adds nothing"),
            change(
                "the base twice nothing",
                'if base and base != "0" else []',
                "if base else []",
                r"nothing is left|base of 0",
            ),
            change(
                "the base last",
                'return " + ".join(terms)',
                'return " + ".join(terms[1:] + terms[:1])',
                r"base comes first|summed",
            ),
            change("nothing at all", ' or "0"', "", r"nothing is left"),
            change("the base forgotten", '[base] if base and base != "0" else []', "[]", r"base"),
        ),
        (
            """
def offset_text(coords, strides, base=""):
    def term(coord, stride):
        if stride == 1:
            return coord.text
        simple = coord.text.isidentifier()
        return coord.text + f" * {stride}" if simple else "(" + coord.text + ")" + f" * {stride}"

    pairs = [(c, s) for c, s in zip(coords, strides) if c.text != "0" and s != 0]
    parts = ([] if base in ("", "0") else [base]) + [term(c, s) for c, s in pairs]
    return " + ".join(parts) if parts else "0"
""",
            """
def offset_text(coords, strides, base=""):
    text = "" if base == "0" else base
    for coord, stride in zip(coords, strides, strict=True):
        if coord.text != "0" and stride != 0:
            if stride == 1:
                part = coord.text
            elif coord.text.isidentifier():
                part = f"{coord.text} * {stride}"
            else:
                part = f"({coord.text}) * {stride}"
            text = text + " + " + part if text else part
    return text or "0"
""",
        ),
    ),
    "_fresh": Proof(
        (
            change("not noted", "    self._taken.add(candidate)\n", "", r"given once"),
            change(
                "numbers from one",
                'f"{base}_" if number == 1 else f"{base}_{number}"',
                'f"{base}_{number}"',
                r"given once|keyword",
            ),
            change(
                "keywords allowed",
                "while candidate in self._taken:",
                "while candidate in self._taken and candidate.endswith('_'):",
                r"given once|keyword|taken",
            ),
            text(
                "letters of the world",
                """
def _fresh(self, wished):
    base = re.sub(r'\\W', '_', wished)
    if not base or base[0].isdigit() or base.startswith('__'):
        base = 'v' + base
    candidate, number = base, 0
    while candidate in self._taken:
        number += 1
        candidate = f'{base}_' if number == 1 else f'{base}_{number}'
    self._taken.add(candidate)
    return candidate
""",
                r"other characters",
            ),
            change("dunder names", ' or base.startswith("__")', "", r"v before it|machinery"),
            change("digits in front", " or base[0].isdigit()", "", r"v before it"),
            change("empty names", "if not base or base[0].isdigit()", "if base[:1].isdigit()", r"v before it"),
            change("dropped characters", '"_", wished', '"", wished', r"other characters"),
        ),
        (
            """
import itertools


def _fresh(self, wished):
    base = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in wished)
    if base == "" or base[0] in "0123456789" or base[:2] == "__":
        base = f"v{base}"
    attempts = itertools.chain([base, base + "_"], (f"{base}_{n}" for n in itertools.count(2)))
    name = next(a for a in attempts if a not in self._taken)
    self._taken |= {name}
    return name
""",
            """
def _fresh(self, wished):
    base = re.sub("[^a-zA-Z_0-9]", "_", wished)
    if not re.match("[A-Za-z]|_(?!_)", base):
        base = "v" + base
    name, suffix = base, 1
    while name in self._taken:
        name = base + "_" + (str(suffix) if suffix > 1 else "")
        suffix += 1
    self._taken.add(name)
    return name
""",
        ),
    ),
    "operand_coords": Proof(
        (
            change("the permutation the other way", "coords[axes.index(axis)]", "coords[axes[axis]]", r"result axis n"),
            change("not permuted", "coords[axes.index(axis)] for", "coords[axis] for", r"result axis n"),
            change(
                "aligned on the left",
                "coords[len(result) - len(shape):]",
                "coords[:len(shape)]",
                r"aligned on the right",
            ),
            change("stretched axes read", "zero if extent == 1 else c for", "c for", r"read at zero"),
            change(
                "reshape like broadcast",
                "    long = iter([c for extent, c in zip(result, coords, strict=True) if extent != 1])\n",
                "    long = iter(coords)\n",
                r"keep their order",
            ),
            change("zero everywhere", "else next(long) for", "else zero for", r"keep their order|extent of 1"),
            change(
                "a list",
                "return tuple(zero if extent == 1 else next",
                "return list(zero if extent == 1 else next",
                r"a list, where a tuple",
            ),
        ),
        (
            """
def operand_coords(op, coords, zero):
    shape = op.operands[0].shape
    if op.name == "permute":
        found = [zero] * len(shape)
        for coord, axis in zip(coords, ints_attr(op, "axes")):
            found[axis] = coord
        return tuple(found)
    if op.name == "broadcast":
        missing = len(coords) - len(shape)
        return tuple(zero if e == 1 else coords[missing + a] for a, e in enumerate(shape))
    moving = [c for e, c in zip(op.result.shape, coords) if e > 1]
    return tuple(zero if e == 1 else moving.pop(0) for e in shape)
""",
            """
def operand_coords(op, coords, zero):
    match op.name:
        case "permute":
            by_axis = dict(zip(op.attrs["axes"], coords))
            return tuple(by_axis[a] for a in sorted(by_axis))
        case "broadcast":
            pairs = zip(reversed(op.operands[0].shape), reversed(list(coords)))
            return tuple([zero if e == 1 else c for e, c in pairs][::-1])
    kept = [i for i, e in enumerate(op.result.shape) if e != 1]
    result = []
    for extent in op.operands[0].shape:
        result.append(zero if extent == 1 else coords[kept.pop(0)])
    return tuple(result)
""",
        ),
    ),
}
