"""All exercises of the course, and the command that makes stubs and solutions from the compiler.

    python -m course.exercises build      write solutions, and stubs where nothing was written yet
    python -m course.exercises check      fail if a file is not what `build` would write

`build` never touches a stub that somebody has worked on; it says so. `check` compares strictly, as continuous
integration wants it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from functools import cache
from pathlib import Path

from course.generating import TableError, exercise_text, solution_text
from course.table import COURSE, Chapter

USAGE = "usage: python -m course.exercises build|check"


@cache
def chapters() -> tuple[Chapter, ...]:
    """The chapters with exercises, in order."""
    found = []
    for folder in sorted(COURSE.glob("ch[0-9][0-9]_*")):
        module = importlib.import_module(f"course.{folder.name}") if (folder / "__init__.py").is_file() else None
        if hasattr(module, "CHAPTER"):  # the capstone is a kernel to write, and has none
            found.append(module.CHAPTER)
    return tuple(found)


def find_chapter(word: str) -> Chapter | None:
    """The chapter that `ch05`, `05`, `5`, `names` or `ch05_names` means."""
    wanted = word.strip("/").rpartition("/")[2].lower()
    for chapter in chapters():
        if wanted in (chapter.name, chapter.short, f"{chapter.number:02}", str(chapter.number), chapter.slug):
            return chapter
    return None


# --------------------------------------------------------------------------------------- what is in a file


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """The functions that a file defines at its top level. Raises SyntaxError."""
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def body_of(node: ast.FunctionDef) -> list[ast.stmt]:
    """The statements without the docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def is_stub(node: ast.FunctionDef) -> bool:
    """True if the function does nothing but `raise NotImplementedError`."""
    body = body_of(node)
    return len(body) == 1 and ast.unparse(body[0]) in ("raise NotImplementedError", "raise NotImplementedError()")


def fingerprint(node: ast.FunctionDef) -> str:
    """Changes when the function does, not when its docstring, comments or layout do."""
    bare = ast.FunctionDef(node.name, node.args, body_of(node), [], None)
    return hashlib.sha256(ast.dump(bare).encode()).hexdigest()[:16]


def outline(text: str) -> str:
    """A file without the bodies of its functions: what must stay as it was made, whatever a learner writes."""
    lines, result, skipped = text.split("\n"), [], 0
    for node in sorted(functions(text).values(), key=lambda n: n.lineno):
        body = body_of(node)
        result += lines[skipped : body[0].lineno - 1] if body else lines[skipped : node.end_lineno]
        skipped = int(node.end_lineno or 0)
    return "\n".join([*result, *lines[skipped:]])


# --------------------------------------------------------------------------------------- build and check


def build() -> int:
    """Write what is missing or out of step; the number of files left alone because they hold a learner's work."""
    kept = 0
    for chapter in chapters():
        _write(chapter.solution, solution_text(chapter))
        if has_work(chapter):
            print(f"{chapter.file}: left alone, it holds work; `tilec course reset {chapter.short}` begins anew")
            kept += 1
        else:
            _write(chapter.file, exercise_text(chapter))
    return kept


def has_work(chapter: Chapter) -> bool:
    """True if the learner has written a function of the chapter, or something that does not parse."""
    if not chapter.file.is_file():
        return False
    try:
        return any(not is_stub(node) for node in functions(chapter.file.read_text(encoding="utf-8")).values())
    except (SyntaxError, ValueError):
        return True


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"wrote {path}")


def out_of_step(*, strict: bool) -> list[str]:
    """The files that are not what `build` would write. Not strict: the bodies of the stubs are the learner's."""
    wrong = []
    for chapter in chapters():
        made, there = exercise_text(chapter), _read(chapter.file)
        same = there == made if strict else _outline(there) == outline(made)
        wrong += [] if same else [str(chapter.file)]
        wrong += [] if _read(chapter.solution) == solution_text(chapter) else [str(chapter.solution)]
    return wrong


def _outline(text: str) -> str:
    try:
        return outline(text)
    except (SyntaxError, ValueError):
        return "no Python"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def main(words: list[str]) -> int:
    try:
        return _main(words)
    except TableError as error:
        print(f"the table of exercises does not fit the compiler: {error}", file=sys.stderr)
        return 1


def _main(words: list[str]) -> int:
    if words == ["build"]:
        build()
        return 0
    if words == ["check"]:
        wrong = out_of_step(strict=True)
        for path in wrong:
            print(f"{path} is not in step with the compiler: run `python -m course.exercises build`")
        return 1 if wrong else 0
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
