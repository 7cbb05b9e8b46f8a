"""Graders of chapter 11."""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword

import ml_dtypes
import numpy as np

from course.checking import check, fresh
from course.harness import kernel_of
from course.learner import Learner, Wrong
from tilelang.codegen.cpu_coords import Coord
from tilelang.codegen.cpu_words import OPERATORS, WITH_OPERATORS, WORDS
from tilelang.dtypes import BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, U32, U64
from tilelang.ir.core import Op, Value
from tilelang.semantics.types import TileType

# --- printable --------------------------------------------------------------------------------------


def test_what_can_be_printed_stays(printable: Learner) -> None:
    for text in ("let v = x[i];", "größer ≤ 3", "漢字 😀", "", '# "quoted" \\n'):
        check(printable, text, gives=text, why="every character of it can be printed")


def test_line_ends_become_escapes(printable: Learner) -> None:
    for char, escape in (
        ("\n", "\\n"),
        ("\r", "\\r"),
        ("\x0b", "\\x0b"),
        ("\u2028", "\\u2028"),
        ("\x85", "\\x85"),
        ("\x0c", "\\x0c"),
    ):
        check(printable, f"a{char}import os", gives=f"a{escape}import os", why="it would end the comment")


def test_invisible_characters(printable: Learner) -> None:
    for char, escape in (
        ("\x1b", "\\x1b"),
        ("\u202e", "\\u202e"),
        ("\x00", "\\x00"),
        ("\U000e0001", "\\U000e0001"),
        ("\t", "\\t"),
    ):
        check(printable, f"x{char}y", gives=f"x{escape}y", why="it cannot be seen, or moves what can")


def test_lone_surrogates(printable: Learner) -> None:
    check(printable, "a\ud800b", gives="a\\ud800b", why="half a surrogate pair is written as an escape, and no crash")


# --- identity ---------------------------------------------------------------------------------------


def test_sums_and_products(identity: Learner) -> None:
    for dtype in (F32, F16, F64):
        check(identity, "sum", dtype, gives=0.0, why="a float plus 0.0")
        check(identity, "prod", dtype, gives=1.0, why="a float times 1.0")
    for dtype in (I32, U8):
        check(identity, "sum", dtype, gives=0, why="an int plus 0")
        check(identity, "prod", dtype, gives=1, why="an int times 1")


def test_extremes_of_integers(identity: Learner) -> None:
    for dtype in (I8, U8, I32, U32, I64, U64):
        low, high = (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1) if dtype.is_signed else (0, 2**dtype.bits - 1)
        for kind, expected in (("max", low), ("argmax", low), ("min", high), ("argmin", high)):
            check(identity, kind, dtype, gives=expected, why=f"every {dtype} beats it, or is equal")


def test_extremes_of_floats(identity: Learner) -> None:
    for dtype in (F16, BF16, F32, F64):
        for kind, expected in (("max", "-inf"), ("argmax", "-inf"), ("min", "inf"), ("argmin", "inf")):
            check(identity, kind, dtype, gives=float(expected), why="an infinity, not merely a large number")


def test_any_and_all(identity: Learner) -> None:
    check(identity, "any", BOOL, gives=False, why="no element is true yet")
    check(identity, "all", BOOL, gives=True, why="no element is false yet")
    check(identity, "max", BOOL, gives=False, why="false is the smaller one")
    check(identity, "min", BOOL, gives=True, why="true is the larger one")


# --- literal ----------------------------------------------------------------------------------------


def test_integers_and_bools(literal: Learner) -> None:
    for value, dtype, expected in (
        (7, I64, "7"),
        (-7, I64, "(-7)"),
        (-1, I64, "(-1)"),
        (0, I64, "0"),
        (255, U8, "u8(255)"),
        (-1, I8, "i8(-1)"),
        (2**64 - 1, U64, f"u64({2**64 - 1})"),
        (True, BOOL, "True"),
        (False, BOOL, "False"),
    ):
        check(literal, value, dtype, gives=expected, why="as the task says for bools, i64 and other integers")


def test_bools_as_integers(literal: Learner) -> None:
    check(literal, 1, BOOL, gives="True", why="a bool is written as one, whatever holds it")
    check(literal, True, I32, gives="i32(1)", why="an integer is written as one, whatever holds it")


def test_floats_are_exact(literal: Learner) -> None:
    rng = fresh()
    for value in (0.1, -0.0, 1e300, 5e-324, float("inf"), float("-inf"), *(rng.uniform(-9, 9) for _ in range(5))):
        check(literal, value, F64, gives=f"f64({value!r})", why="repr reads back exactly, -0.0 too")
    check(literal, 3, F32, gives="f32(3.0)", why="a whole number is written as a float")
    check(literal, float("nan"), F32, gives="f32(nan)", why="NaN is a name that the generated code knows")


def test_half_floats_are_rounded(literal: Learner) -> None:
    rng = fresh()
    for dtype, host in ((F16, np.float16), (BF16, ml_dtypes.bfloat16)):
        for value in (0.1, 1.0, -2.5, 1 / 3, *(np.float32(rng.uniform(-9, 9)).item() for _ in range(5))):
            expected = float(np.float32(value).astype(host)) if dtype == BF16 else float(np.float16(value))
            check(literal, value, dtype, gives=f"f32({expected!r})", why=f"rounded to {dtype} now, and held as f32")


# --- _call ------------------------------------------------------------------------------------------


def _op(name: str, dtype: object, result: object = None) -> Op:
    operand = Value("a", TileType(dtype))  # type: ignore[arg-type]
    return Op(name, (operand, operand), (Value("r", TileType(result or dtype)),))  # type: ignore[arg-type]


def test_operators(_call: Learner) -> None:
    for name, symbol in OPERATORS.items():
        for dtype in (F32, F64, BF16, F16):
            check(
                _call,
                _op(name, dtype),
                dtype,
                ["x", "y"],
                gives=f"x {symbol} y",
                why=f"{symbol} does what the op does on {dtype}",
            )


def test_words_where_operators_would_widen(_call: Learner) -> None:
    for name in OPERATORS:
        for dtype in (I32, U8, BOOL, U64, I64):
            if dtype.name not in WITH_OPERATORS:
                check(
                    _call,
                    _op(name, dtype),
                    dtype,
                    ["x", "y"],
                    gives=f"{WORDS[name]}(x, y)",
                    why=f"on {dtype} numba's operator would do something else",
                )


def test_other_words(_call: Learner) -> None:
    for name, operands in (
        ("exp", ["x"]),
        ("maximum", ["x", "y"]),
        ("floordiv", ["x", "y"]),
        ("select", ["c", "x", "y"]),
        ("and", ["x", "y"]),
    ):
        for dtype in (F32, I64):
            check(
                _call,
                _op(name, dtype),
                dtype,
                operands,
                gives=f"{WORDS[name]}({', '.join(operands)})",
                why="a word of the vocabulary",
            )


def test_casts_and_powers(_call: Learner) -> None:
    for source, target in itertools.product((F32, I8, BOOL), (F16, I64, U8, BOOL)):
        check(
            _call,
            _op("cast", source, target),
            source,
            ["x"],
            gives=f"to_{target}(x)",
            why="the result's type is in the word",
        )
    for dtype in (F32, F64, F16):
        check(_call, _op("pow", dtype), dtype, ["x", "y"], gives="power(x, y)", why="powers of floats")
    for dtype in (I64, U8, I32):
        check(_call, _op("pow", dtype), dtype, ["x", "y"], gives="int_power(x, y)", why="powers of integers")


# --- offset_text ------------------------------------------------------------------------------------


def test_sums_of_terms(offset_text: Learner) -> None:
    check(
        offset_text, [Coord("i", 1), Coord("j", 2)], [64, 1], gives="i * 64 + j", why="coordinate times stride, summed"
    )
    check(
        offset_text,
        [Coord("i", 1)],
        ["x_stride0"],
        "first",
        gives="first + i * x_stride0",
        why="strides may be names; the base comes first",
    )
    check(offset_text, [], [], gives="0", why="nothing is left: 0")


def test_what_is_nothing_vanishes(offset_text: Learner) -> None:
    check(offset_text, [Coord("0", 0), Coord("j", 2)], [64, 1], gives="j", why="coordinate 0 adds nothing")
    check(offset_text, [Coord("i", 1), Coord("j", 2)], [0, 8], gives="j * 8", why="stride 0 adds nothing")
    for base in ("", "0"):
        check(offset_text, [Coord("0", 0)], [5], base, gives="0", why="nothing is left: 0")
        check(offset_text, [Coord("i", 0)], [5], base, gives="i * 5", why="a base of 0 adds nothing")
    check(offset_text, [Coord("0", 0)], [5], "b", gives="b", why="the base alone")


def test_brackets(offset_text: Learner) -> None:
    check(offset_text, [Coord("i + 1", 1)], [64], gives="(i + 1) * 64", why="i + 1 * 64 would be another number")
    check(offset_text, [Coord("i + 1", 1)], [1], gives="i + 1", why="nothing is multiplied: no brackets")
    check(offset_text, [Coord("i", 1)], [64], gives="i * 64", why="a plain name needs no brackets")


def test_the_text_computes_the_offset(offset_text: Learner) -> None:
    rng = fresh()
    values = {name: rng.randint(1, 50) for name in ("i", "j", "k", "s0", "s1", "base")}
    for _ in range(25):
        rank = rng.randint(1, 3)
        coords = [Coord(rng.choice(("i", "j", "0", "k - 1", "i + j")), 1) for _ in range(rank)]
        strides = [rng.choice((0, 1, 7, 64, "s0", "s1")) for _ in range(rank)]
        base = rng.choice(("", "0", "base"))
        text = check(offset_text, coords, strides, base, why="an expression")
        expected = sum(
            eval(c.text, {}, values) * (values[s] if isinstance(s, str) else s)
            for c, s in zip(coords, strides, strict=True)
        )
        expected += values["base"] if base == "base" else 0
        try:
            found = eval(
                compile(ast.parse(str(text), mode="eval"), "<offset>", "eval"), {"__builtins__": {}}, dict(values)
            )
        except (SyntaxError, NameError, TypeError) as error:
            found = f"{type(error).__name__}: {error}"
        if found != expected:
            call = f"offset_text({[c.text for c in coords]}, {strides}, {base!r})"
            raise Wrong(f"{call} gives {text!r}\n  which is  {found}\n  expected  {expected}")


# --- _fresh -----------------------------------------------------------------------------------------


def test_names_that_are_free(_fresh: Learner) -> None:
    check(
        _fresh.via("fresh_names"),
        ["row", "x_1", "_tmp", "B"],
        [],
        gives=["row", "x_1", "_tmp", "B"],
        why="free names stay",
    )


def test_names_that_are_taken(_fresh: Learner) -> None:
    names = _fresh.via("fresh_names")
    check(
        names, ["a", "a", "a", "a"], [], gives=["a", "a_", "a_2", "a_3"], why="each is given once: then with _, _2, _3"
    )
    check(
        names,
        ["load", "load"],
        ["load", "load_"],
        gives=["load_2", "load_3"],
        why="what the module uses itself is taken",
    )
    check(names, ["a", "a_", "a"], [], gives=["a", "a_", "a_2"], why="a_ was given to somebody else")


def test_words_of_python(_fresh: Learner) -> None:
    for word in (*keyword.kwlist, "match", *(n for n in dir(builtins) if n.isidentifier() and not n.startswith("_"))):
        check(_fresh.via("fresh_names"), [word], [], gives=[f"{word}_"], why="a keyword or builtin of Python")


def test_odd_names(_fresh: Learner) -> None:
    names = _fresh.via("fresh_names")
    check(names, ["größe", "a.b", "a b"], [], gives=["gr__e", "a_b", "a_b_"], why="other characters become _")
    check(
        names,
        ["", "1st", "__class__", "_1"],
        [],
        gives=["v", "v1st", "v__class__", "_1"],
        why="empty, a digit or __ in front: a v before it",
    )
    check(
        names,
        ["é", "__import__"],
        [],
        gives=["__", "v__import__"],
        why="`_` alone is a word of `match`; no name of Python's own machinery",
    )


# --- operand_coords ---------------------------------------------------------------------------------


def _view(operand: str, op: str) -> str:
    return kernel_of(f"%v: f32{operand} = const {{value = 0.0}}\n{op}")


def _operand(learner: Learner, operand: str, op: str, coords: tuple, expected: tuple, why: str) -> None:
    check(learner.via("on_op"), _view(operand, op), coords, "zero", gives=expected, why=why)


def test_permutations(operand_coords: Learner) -> None:
    for axes in itertools.permutations(range(3)):
        shape = [2, 3, 4]
        result = [shape[a] for a in axes]
        coords = ("i", "j", "k")
        expected = tuple(coords[axes.index(a)] for a in range(3))
        op = f"%w: f32{result} = permute %v {{axes = {axes}}}"
        _operand(operand_coords, str(shape), op, coords, expected, f"result axis n is operand axis {axes}[n]")


def test_broadcasts(operand_coords: Learner) -> None:
    for operand, result, coords, expected in (
        ("[8]", "[4, 8]", ("i", "j"), ("j",)), ("[4, 1]", "[4, 8]", ("i", "j"), ("i", "zero")),
        ("", "[4, 8]", ("i", "j"), ()), ("[1, 8]", "[4, 8]", ("i", "j"), ("zero", "j")),
        ("[1]", "[2, 3, 4]", ("i", "j", "k"), ("zero",)),
    ):  # fmt: skip
        op = f"%w: f32{result} = broadcast %v"
        _operand(
            operand_coords,
            operand,
            op,
            coords,
            expected,
            "aligned on the right; a stretched extent of 1 is read at zero",
        )


def test_reshapes_that_add_axes(operand_coords: Learner) -> None:
    for operand, result, coords, expected in (
        ("[8]", "[8, 1]", ("i", "j"), ("i",)), ("[8]", "[1, 8]", ("i", "j"), ("j",)),
        ("[4, 8]", "[4, 1, 8]", ("i", "j", "k"), ("i", "k")), ("", "[1, 1]", ("i", "j"), ()),
    ):  # fmt: skip
        op = f"%w: f32{result} = reshape %v"
        _operand(
            operand_coords, operand, op, coords, expected, "the coordinates of the extents above 1 keep their order"
        )


def test_reshapes_that_remove_axes(operand_coords: Learner) -> None:
    for operand, result, coords, expected in (
        ("[8, 1]", "[8]", ("i",), ("i", "zero")), ("[1, 4, 1, 8]", "[4, 8]", ("i", "j"), ("zero", "i", "zero", "j")),
        ("[1]", "", (), ("zero",)), ("[1, 8, 1]", "[8, 1]", ("i", "j"), ("zero", "i", "zero")),
    ):  # fmt: skip
        op = f"%w: f32{result} = reshape %v"
        _operand(operand_coords, operand, op, coords, expected, "an extent of 1 is read at zero, wherever it stands")
