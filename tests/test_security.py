"""No text in a `.tile` file can make the compiler run Python of its author's choice.

Generated Python is compiled and run, and it carries names, comments and strings of the source. Three things are shown:

* whatever stands in comments and strings, and whatever the file is called, the generated program is the same;
* whatever names the source uses, the generated program is the same up to a renaming that keeps Python's own
  names and the runtime's as they are;
* run for real on every device, hostile programs compute what they should, and nothing else happens.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilelang
from tilelang.driver import Compilation
from tilelang.dtypes import F32
from tilelang.semantics.binding import TensorFact

TEMPLATE = """# {comment}
kernel {kernel}[{meta}: {{8, 16}}]({x}: f32[{dim}], out {y}: f32[{dim}]) grid (cdiv({dim}, {meta})) {{
    let {i} = program_id(0) * {meta} +: {meta};  # {comment}
    var {acc} = zeros({meta}, f32);
    for {k} in range(0, 3) {{
        {acc} = {acc} + {x}[{i}] * ({k} as f32);  # {comment}
    }}
    assert({acc} == {acc}, "{string}");
    print("{string}", {acc});
    {y}[{i}] = {fn}({acc});  # {comment}
}}
fn {fn}({v}) {{ return {v} + 1.0; }}
"""
PLAIN = {
    "kernel": "kern",
    "meta": "META",
    "x": "xx",
    "y": "yy",
    "dim": "DIM",
    "i": "ii",
    "acc": "acc",
    "k": "kk",
    "fn": "func",
    "v": "vv",
    "comment": "plain",
    "string": "plain",
}
BACK_ENDS = ("cpu", "cuda", "simulator")

COMMAND = "__import__('os').system('touch hostile')"
COMMENTS = [
    f"\"\"\" ''' {COMMAND}",
    f"\\ {COMMAND}",
    f"\\n{COMMAND}",
    f"\x0c{COMMAND}",
    f"\u2028{COMMAND}",
    f"\x85{COMMAND}",
    f"\x1c{COMMAND}\x1d{COMMAND}\x0b{COMMAND}",
    f"{{{COMMAND}}}",
    f"%s %({COMMAND})s",
    f"\t\t{COMMAND}",
    "\\",
    "\\N{BULLET}",
    "\\x0a",
    "coding: utf-7",
    "type: ignore",
    "noqa",
    "\u202e reversed",
    f"\ufeff{COMMAND}",
    "# # #",
    "'",
    '"',
    "\x7f\x1b[31m",
]
STRINGS = [
    f"') or {COMMAND} or ('",
    f'\\"; {COMMAND} #',
    f'\\") or {COMMAND} or (\\"',
    f"\\n{COMMAND}\\n",
    f'\\\\\\"{COMMAND}',
    "\\\\",
    f'\\"\\"\\"{COMMAND}',
    f"'''{COMMAND}'''",
    f"{{{COMMAND}}}",
    "%s %d %n",
    "{0.__class__.__mro__}",
    "\u2028",
    "\x0c",
    "# no comment",
    '\\t\\n\\"',
    "",
]
FILE_NAMES = [
    "x.tile\nimport os\nos.system('touch hostile')\n",
    'a"""b.tile',
    "a\\",
    "a'b\rimport os.tile",
    "../../x.tile",
    "\u2028.tile",
]

HOSTILE_NAMES = sorted(
    {
        "__import__",
        "eval",
        "exec",
        "compile",
        "open",
        "os",
        "sys",
        "subprocess",
        "system",
        "builtins",
        "__builtins__",
        "__class__",
        "__name__",
        "__file__",
        "__doc__",
        "globals",
        "getattr",
        "type",
        "object",
        "print",
        "range",
        "max",
        "min",
        "abs",
        "int",
        "float",
        "bool",
        "len",
        "self",
        "cuda",
        "numba",
        "np",
        "numpy",
        "math",
        "njit",
        "prange",
        "cfunc",
        "intrinsic",
        "void",
        "int64",
        "float32",
        "syncthreads",
        "shared",
        "local",
        "atomic",
        "log",
        "lo",
        "hi",
        "args",
        "kwargs",
        "program",
        "thread",
        "lambda",
        "def",
        "class",
        "import",
        "from",
        "yield",
        "async",
        "await",
        "with",
        "try",
        "raise",
        "del",
        "pass",
        "global",
        "nonlocal",
        "match",
        "case",
        "type_",
        "__",
        "T",
        "N",
        "e",
        "inf_",
        "i32",
        "None_",
        "dtype",
        "x_s0",
        "x_first",
        "tmp",
        "a",
        "b",
        "c",
    }
)
"""Python's keywords and built-ins, modules, and names that generated code may well use for itself."""


def compilation(back_end: str, **parts: str) -> Compilation:
    """The template with these parts put in, compiled. Raises CompileError if it is no program."""
    name = parts.pop("file", "plain.tile")
    words = {**PLAIN, **parts}
    kernel = tilelang.compile(TEMPLATE.format(**words), name)[words["kernel"]]
    fact = TensorFact(F32, (20,))
    target = {"cuda": "sm_80", "simulator": "simulator"}.get(back_end)
    return kernel.compile(fact, target=target) if target else kernel.compile(fact, device=back_end)


def generated(back_end: str, **parts: str) -> ast.Module:
    """The generated Python, parsed."""
    made = compilation(back_end, **parts)
    text = made.cpu if back_end == "cpu" else made.cuda
    assert text is not None
    return ast.parse(text)


@pytest.fixture(scope="module")
def plain() -> dict[str, ast.Module]:
    return {back_end: generated(back_end) for back_end in BACK_ENDS}


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("comment", COMMENTS, ids=ascii)
def test_comments_never_become_code(back_end: str, comment: str, plain: dict[str, ast.Module]) -> None:
    assert ast.dump(generated(back_end, comment=comment)) == ast.dump(plain[back_end])


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("string", STRINGS, ids=ascii)
def test_strings_never_become_code(back_end: str, string: str, plain: dict[str, ast.Module]) -> None:
    found = generated(back_end, string=string)
    assert names_of(found) == names_of(plain[back_end])
    assert ast.dump(without_text(found)) == ast.dump(without_text(plain[back_end]))


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("name", FILE_NAMES, ids=ascii)
def test_file_names_never_become_code(back_end: str, name: str, plain: dict[str, ast.Module]) -> None:
    assert ast.dump(without_text(generated(back_end, file=name))) == ast.dump(without_text(plain[back_end]))


@pytest.mark.parametrize("back_end", BACK_ENDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=30))
def test_no_comment_becomes_code(back_end: str, text: str, plain: dict[str, ast.Module]) -> None:
    text = text.encode("utf-8", "replace").decode().replace("\n", "").replace("\r", "").replace("\0", "")
    text = text.replace("{", "").replace("}", "")
    assert ast.dump(generated(back_end, comment=text)) == ast.dump(plain[back_end])


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_lone_carriage_return_does_not_end_a_comment_in_one_language_only(back_end: str) -> None:
    """Python ends a line at a CR. So either the language does too, or the CR must not reach the generated file."""
    try:
        found = generated(back_end, comment=f"\r{COMMAND}\r")
    except tilelang.CompileError:
        return  # the language ends the line too: what follows is no program
    assert "system" not in names_of(found)


# ------------------------------------------------------------------------------ names

TILE_WORDS = {
    *("kernel", "fn", "const", "let", "var", "for", "in", "while", "if", "else", "return", "grid", "out", "inout"),
    *("where", "and", "or", "not", "true", "false", "as", "None"),
}
"""Keywords of the language that are none of Python's, or may be attributes there."""

PLACES = ("kernel", "meta", "x", "y", "dim", "i", "acc", "k", "fn", "v")


def assignments(names: list[str]) -> Iterator[dict[str, str]]:
    """All the names, ten at a time, three times with each name in another place."""
    for turn in range(3):
        for first in range(0, len(names), len(PLACES)):
            places = PLACES[turn * 3 :] + PLACES[: turn * 3]
            yield dict(zip(places, names[first : first + len(PLACES)], strict=False))


def check_names(back_end: str, parts: dict[str, str], plain: dict[str, ast.Module]) -> None:
    try:
        found = generated(back_end, **parts)
    except tilelang.CompileError:  # a function may not be called like a built-in: `fn max(v)`
        found = generated(back_end, **{**parts, "fn": "func"})
    assert_renamed(found, plain[back_end])


@pytest.mark.parametrize("back_end", BACK_ENDS)
@pytest.mark.parametrize("parts", list(assignments(HOSTILE_NAMES)), ids=lambda p: p.get("x", "rest"))
def test_hostile_names_are_only_renamed(back_end: str, parts: dict[str, str], plain: dict[str, ast.Module]) -> None:
    check_names(back_end, parts, plain)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_names_that_generated_code_uses_are_only_renamed(back_end: str, plain: dict[str, ast.Module]) -> None:
    """The likeliest clashes: a variable called like one that the generator makes up."""
    own = sorted(names_of(plain[back_end]) - set(PLAIN.values()) - {"_"})
    own = [name for name in own if not keyword.iskeyword(name) and name not in TILE_WORDS]
    clashes = []
    for parts in assignments(own):
        try:
            check_names(back_end, parts, plain)
        except AssertionError as error:
            clashes.append(f"{parts}: {error}")
    assert clashes == []


def test_the_comparison_sees_a_call_that_was_smuggled_in(plain: dict[str, ast.Module]) -> None:
    """The tests above can fail."""
    text = ast.unparse(plain["cpu"])
    with pytest.raises(AssertionError):
        assert_renamed(ast.parse(text + "\n__import__('os')"), plain["cpu"])
    called = next(n.func.id for n in ast.walk(plain["cpu"]) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    with pytest.raises(AssertionError):
        assert_renamed(ast.parse(text.replace(f"{called}(", "eval(")), plain["cpu"])


def assert_renamed(found: ast.Module, expected: ast.Module) -> None:
    """The same tree up to names; and a name that is free (a module's, a built-in) is the same on both sides."""
    free, renamed = free_names(expected), {}
    assert free_names(found) == free
    for a, b in zip(identifiers(found), identifiers(expected), strict=True):
        assert renamed.setdefault(b, a) == a, f"{b} has become {renamed[b]} and {a}"
        assert a == b or not {a, b} & free, f"{b} has become {a}"
    assert ast.dump(without_names(found)) == ast.dump(without_names(expected))


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Every identifier of the tree that is not an attribute, in the tree's order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name


def names_of(tree: ast.AST) -> set[str]:
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {*identifiers(tree), *attributes}


def free_names(tree: ast.Module) -> set[str]:
    """Names that are used and never bound: Python's built-ins, and what an import brings under its own name."""
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    bound |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    imported = {
        a.asname or a.name for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names
    }
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return imported | (used - bound)


class _Blank(ast.NodeTransformer):
    def __init__(self, *, names: bool):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name("_", node.ctx) if self.names else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = node.annotation and self.visit(node.annotation)
        return ast.arg("_", node.annotation) if self.names else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if self.names:
            node.name = "_"
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node


def without_names(tree: ast.Module) -> ast.Module:
    return _Blank(names=True).visit(ast.parse(ast.unparse(tree)))


def without_text(tree: ast.Module) -> ast.Module:
    return _Blank(names=False).visit(ast.parse(ast.unparse(tree)))


# ------------------------------------------------------------------------------ run for real

HOSTILE_PROGRAM = {
    "kernel": "__import__",
    "meta": "exec",
    "x": "os",
    "y": "system",
    "dim": "builtins",
    "i": "globals",
    "acc": "lambda_",
    "k": "eval",
    "fn": "open_",
    "v": "getattr",
    "comment": f'""" {COMMAND}',
    "string": f'\\"; {COMMAND} #',
}


@pytest.mark.parametrize("device", ["reference", "cpu", "simulator", "model"])
def test_a_hostile_program_computes_and_does_nothing_else(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    original = builtins.__import__
    x = np.arange(20, dtype=np.float32)
    kernel = tilelang.compile(TEMPLATE.format(**HOSTILE_PROGRAM), FILE_NAMES[0])["__import__"]
    np.testing.assert_array_equal(kernel(x, device=device, exec=8), x * 3 + 1)
    assert list(tmp_path.iterdir()) == [] and builtins.__import__ is original
    assert COMMAND in capsys.readouterr().out, "what the program prints is shown, as text"
