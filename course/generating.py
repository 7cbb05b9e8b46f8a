"""Stubs and solutions, made from the compiler's own source text.

    def wider(a: DType, b: DType) -> DType | None:      def wider(a: DType, b: DType) -> DType | None:
        '''The type that ...'''                            '''The type that ...'''
        if a == b:                               ->        raise NotImplementedError
            return a
        ...

The solution is the function as it stands in `tilelang/`, with the imports it needs. Names of its own module become
imports from there; exercises of the same chapter call each other directly. A method becomes a function whose first
parameter, `self`, has its class as type.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.table import Chapter, Exercise

WIDTH = 110


class TableError(Exception):
    """The table of exercises names something that the compiler does not have, or that cannot be an exercise."""


@dataclass(frozen=True)
class Import:
    """`from module import name` (`import module` if `name` is empty), `as alias`; `typing`: for annotations alone."""

    module: str
    name: str
    alias: str
    typing: bool = False


@dataclass(frozen=True)
class Code:
    """A function taken from the compiler. `head` is the `def` up to its colon, `body` the rest, both unindented."""

    name: str
    head: str
    docstring: str
    body: str
    imports: frozenset[Import]


# --------------------------------------------------------------------------------------- reading the compiler


@cache
def _module(name: str) -> tuple[str, ast.Module]:
    path = importlib.import_module(name).__file__
    text = Path(str(path)).read_text(encoding="utf-8")
    return text, ast.parse(text)


def definition(exercise: Exercise) -> ast.FunctionDef:
    """The compiler's function that the exercise names. Raises TableError."""
    body: list[ast.stmt] = _module(exercise.module)[1].body
    for part in exercise.qualname.split("."):
        found = [n for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == part]
        if not found:
            raise TableError(f"{exercise.target}: there is no `{part}`")
        body = found[0].body
    node = found[0]
    if not isinstance(node, ast.FunctionDef):
        raise TableError(f"{exercise.target} is no function")
    if any(not _is_property(d) for d in node.decorator_list):
        raise TableError(f"{exercise.target} is decorated")
    return node


def _is_property(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in ("property", "cached_property")


def code(exercise: Exercise, own: frozenset[str] = frozenset()) -> Code:
    """The function with all that a file of its own needs. `own`: names that the file defines itself."""
    node = definition(exercise)
    text, tree = _module(exercise.module)
    lines = text.split("\n")[node.lineno - 1 : node.end_lineno]
    first = node.body[0].lineno - node.lineno
    head = textwrap.dedent("\n".join(lines[:first]))
    if exercise.owner:
        head = head.replace("(self", f"(self: {exercise.owner}", 1)
    documented = ast.get_docstring(node, clean=False) is not None
    after = node.body[0].end_lineno if documented else node.body[0].lineno - 1
    body = textwrap.dedent("\n".join(lines[int(after or 0) - node.lineno + 1 :]))
    return Code(
        exercise.name,
        head,
        ast.get_docstring(node) or "",
        body.strip("\n"),
        frozenset(_imports(node, tree, exercise, own)),
    )


def _imports(node: ast.FunctionDef, tree: ast.Module, exercise: Exercise, own: frozenset[str]) -> Iterator[Import]:
    known = dict(_known(tree))
    own |= {exercise.name} if not exercise.owner else frozenset()
    for name in sorted({*_free_names(node), *([exercise.owner] if exercise.owner else [])} - own):
        if name in known:
            yield known[name]
        elif hasattr(importlib.import_module(exercise.module), name):
            yield Import(exercise.module, name, name)
        elif not hasattr(builtins, name):
            raise TableError(f"{exercise.target}: nothing is known of `{name}`")


def _free_names(node: ast.FunctionDef) -> set[str]:
    """The names that a function takes from outside, its annotations included."""
    used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for inner in ast.walk(node):  # an annotation in quotes
        if isinstance(inner, ast.arg) and isinstance(inner.annotation, ast.Constant):
            used |= {n.id for n in ast.walk(ast.parse(str(inner.annotation.value))) if isinstance(n, ast.Name)}
    bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    inner_names = (ast.FunctionDef, ast.MatchAs, ast.MatchStar, ast.ExceptHandler)
    bound |= {n.name for n in ast.walk(node) if isinstance(n, inner_names) and n is not node and n.name}
    # `import x` inside the function binds x there.
    bound |= {(a.asname or a.name) for n in ast.walk(node) if isinstance(n, ast.ImportFrom) for a in n.names}
    return used - bound


def _known(tree: ast.Module) -> Iterator[tuple[str, Import]]:
    """What the module's own import statements bring in, by name."""
    for node in tree.body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from ((name, Import(i.module, i.name, i.alias, True)) for name, i in _brought(node.body))
    yield from _brought(tree.body)


def _brought(body: Iterable[ast.stmt]) -> Iterator[tuple[str, Import]]:
    for node in body:
        if isinstance(node, ast.Import):
            for item in node.names:
                yield item.asname or item.name, Import(item.name, "", item.asname or item.name)
        elif isinstance(node, ast.ImportFrom):
            for item in node.names:
                yield item.asname or item.name, Import(node.module or "", item.name, item.asname or item.name)


# --------------------------------------------------------------------------------------- writing files


def _docstring(text: str, indent: str = "    ") -> str:
    if '"""' in text:
        raise TableError("three double quotes would end the docstring: write three single ones")
    if "\\" in text:
        return f'{indent}r"""{_indented(text, indent)}"""'
    return f'{indent}"""{_indented(text, indent)}"""'


def _indented(text: str, indent: str) -> str:
    first, *rest = text.strip("\n").split("\n")
    if not rest:
        return first
    return "\n".join([first, *(indent + line if line else "" for line in rest)]) + "\n" + indent


def stub_docstring(exercise: Exercise) -> str:
    """What the learner reads: the function's docstring, the task, the example."""
    own = code(exercise).docstring
    parts = [own, *(textwrap.fill(" ".join(p.split()), WIDTH - 6) for p in exercise.task.split("\n\n") if p.strip())]
    if ">>>" not in own:
        parts.append(textwrap.dedent(exercise.example).strip("\n"))
    return "\n\n".join(p for p in parts if p)


def exercise_text(chapter: Chapter) -> str:
    """The whole of `course/chNN_slug/exercise.py`, nothing written in it yet."""
    own = _own_names(chapter)
    codes = [code(exercise, own) for exercise in chapter.exercises]
    head = [
        f'"""Chapter {chapter.number}, {chapter.title}: exercises.',
        "",
        "Each function below is one of the compiler's own. Write its body; then",
        "",
        f"    tilec course grade {chapter.short}",
        f"    tilec course hint {chapter.short} NAME",
        "",
        "What is imported here is what a solution needs. One unfinished function stops no other.",
        '"""',
        "",
        "# ruff: noqa: F401",
    ]
    parts = ["\n".join([*head, *_import_lines(codes)])]
    for exercise, made in zip(chapter.exercises, codes, strict=True):
        title = f"# --- {exercise.level}: {exercise.name} "
        body = f"{_docstring(stub_docstring(exercise))}\n    raise NotImplementedError"
        parts.append(f"{title}{'-' * (WIDTH - len(title))}\n{made.head}\n{body}")
    return "\n\n\n".join(parts) + "\n"


def solution_text(chapter: Chapter) -> str:
    """The whole of `solutions/chNN_slug.py`."""
    own = _own_names(chapter)
    codes = [code(exercise, own) for exercise in chapter.exercises]
    head = [
        f'"""Chapter {chapter.number}, {chapter.title}: solutions.',
        "",
        "Made from the compiler by `python -m course.exercises build`: this is the code that it really runs.",
        '"""',
    ]
    parts = ["\n".join([*head, *_import_lines(codes)])]
    for exercise, made in zip(chapter.exercises, codes, strict=True):
        where = f"# {exercise.module.replace('.', '/')}.py"
        docstring = f"{_docstring(made.docstring)}\n" if made.docstring else ""
        parts.append(f"{where}\n{made.head}\n{docstring}{textwrap.indent(made.body, '    ')}")
    return "\n\n\n".join(parts) + "\n"


def _own_names(chapter: Chapter) -> frozenset[str]:
    names = [exercise.name for exercise in chapter.exercises]
    if len(set(names)) < len(names):
        raise TableError(f"{chapter.name} has two exercises of one name")
    return frozenset(exercise.name for exercise in chapter.exercises if not exercise.owner)


def _import_lines(codes: list[Code]) -> list[str]:
    """The imports of a file in the usual order: standard library, others, this project."""
    found = {i for made in codes for i in made.imports}
    found -= {Import(i.module, i.name, i.alias, True) for i in found if not i.typing}
    names: dict[str, Import] = {}
    for item in sorted(found, key=lambda i: (i.alias, i.module)):
        if item.alias in names and _meaning(item) != _meaning(names[item.alias]):
            raise TableError(f"two exercises of one chapter mean different things by `{item.alias}`")
        names.setdefault(item.alias, item)
    typing = [i for i in names.values() if i.typing]
    runtime = {i for i in names.values() if not i.typing}
    if typing:
        runtime.add(Import("typing", "TYPE_CHECKING", "TYPE_CHECKING"))
    lines = ["", "from __future__ import annotations"]
    for group in range(3):
        lines += _import_group([i for i in runtime if _group(i.module) == group])
    if typing:
        lines += ["", "if TYPE_CHECKING:", *("    " + line for line in _import_group(typing) if line)]
    return lines


def _meaning(item: Import) -> object:
    module = importlib.import_module(item.module)
    return getattr(module, item.name) if item.name else module


def _group(module: str) -> int:
    root = module.split(".")[0]
    return 2 if root in ("tilelang", "course") else 0 if root in sys.stdlib_module_names else 1


def _import_group(items: list[Import]) -> list[str]:
    lines = []
    for item in sorted((i for i in items if not i.name), key=lambda i: i.module):
        lines.append(f"import {item.module}" + (f" as {item.alias}" if item.alias != item.module else ""))
    modules = sorted({i.module for i in items if i.name})
    for module in modules:
        names = sorted((i for i in items if i.module == module and i.name), key=lambda i: _order(i.name))
        shown = [i.name + (f" as {i.alias}" if i.alias != i.name else "") for i in names]
        line = f"from {module} import {', '.join(shown)}"
        lines += [line] if len(line) <= WIDTH else [f"from {module} import (", *(f"    {s}," for s in shown), ")"]
    return ["", *lines] if lines else []


def _order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, each by name, as ruff sorts them."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name.lower()
