"""The road is one-way: a room imports the rooms before it; the front end starts without heavy libraries."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilelang

PACKAGE = Path(tilelang.__file__).parent

ROAD: tuple[tuple[str, ...], ...] = (
    ("diagnostics", "dtypes", "near", "rendering", "catalogue"),
    ("syntax",),
    ("semantics",),
    ("ir",),
    ("passes",),
    ("tiling", "memory"),
    ("codegen", "machine"),
    ("driver",),
    ("runtime",),
    ("tilelang",),  # tilelang/__init__.py: what users of the package see
    ("bench",),
    ("notebook",),
    ("cli",),
)
"""The rooms in order. Rooms side by side may import each other."""

ALLOWED = {
    # Run as a command, the catalogue puts its examples through the command line.
    ("catalogue/__main__.py", "cli"),
}

HEAVY = {"numpy", "numba", "llvmlite", "ml_dtypes", "rich", "IPython", "jupyter", "nbformat", "cuda"}
LIGHT_ROOMS = {room for rooms in ROAD[:5] for room in rooms}
"""From `diagnostics` to `passes`: what `tilec check` and a look at the tile IR go through."""
COMPUTING = {
    "ir/batch.py", "ir/divergence.py", "ir/fused.py", "ir/host_types.py", "ir/interpreter.py",
    "ir/memory_access.py", "ir/numerics.py", "ir/philox.py", "ir/reductions.py", "ir/rounding.py",
}
"""Files of the front half that are about running programs, and are imported only for that."""

FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "tilelang" if parts == ("__init__",) else parts[0]


def rank_of(room: str) -> int:
    ranks = [rank for rank, rooms in enumerate(ROAD) if room in rooms]
    assert ranks, f"tilelang/{room} is not on the road: put it into ROAD, where it belongs"
    return ranks[0]


def modules_of(node: ast.Import | ast.ImportFrom, path: Path) -> Iterator[str]:
    """The full names a statement imports; `from a import b` counts as `a.b`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        package = ("tilelang", *path.relative_to(PACKAGE).parts[:-1])
        base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [base])))
    yield from (f"{base}.{alias.name}" for alias in node.names)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import in a file, also those inside functions; `tilelang.load` counts as one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((node.lineno, name) for name in modules_of(node, path))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tilelang":
            yield node.lineno, f"tilelang.{node.attr}"


def imports_at_start(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of what is imported as soon as the file is: not in functions, not for type checkers."""
    todo: list[ast.stmt] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((node.lineno, name) for name in modules_of(node, path))
        elif isinstance(node, ast.If):
            todo += node.orelse if "TYPE_CHECKING" in ast.unparse(node.test) else node.body + node.orelse
        elif isinstance(node, (ast.Try, ast.With, ast.ClassDef)):
            todo += node.body


def room_imported(module: str) -> str | None:
    """The room that a module name belongs to, None for other people's modules."""
    parts = module.split(".")
    if parts[0] != "tilelang" or len(parts) == 1:
        return None  # the package itself is there before any of its parts
    known = {room for rooms in ROAD for room in rooms}
    if parts[1] not in known and not (PACKAGE / parts[1]).exists():
        return "tilelang"  # `from tilelang import load`
    return parts[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_only_go_backwards(path: Path) -> None:
    relative, own = path.relative_to(PACKAGE).as_posix(), rank_of(room_of(path))
    forward = []
    for line, module in imports(path):
        room = room_imported(module)
        if room is not None and rank_of(room) > own and (relative, room) not in ALLOWED:
            forward.append(f"{relative}:{line} imports {module}")
    assert forward == []


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if room_of(p) in LIGHT_ROOMS and p.relative_to(PACKAGE).as_posix() not in COMPUTING],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_the_front_end_imports_nothing_heavy(path: Path) -> None:
    heavy = [f"line {line}: {m}" for line, m in imports_at_start(path) if m.split(".")[0] in HEAVY]
    own = [f"line {line}: {m}" for line, m in imports_at_start(path) if is_computing(m)]
    assert heavy + own == []


def is_computing(module: str) -> bool:
    return any(module.startswith("tilelang." + c.removesuffix(".py").replace("/", ".")) for c in COMPUTING)


def test_the_reader_of_imports_sees_relative_and_nested_ones(tmp_path: Path) -> None:
    """The tests above can fail: a forward import is seen in each form it can be written in."""
    text = "from ..cli import main\ndef f():\n    import tilelang.runtime.x\n"
    text += "from tilelang import driver, load\n"
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    found = {room_imported(m) for n in nodes for m in modules_of(n, PACKAGE / "syntax" / "x.py")}
    assert found == {"cli", "runtime", "driver", "tilelang"}


def test_checking_a_program_loads_nothing_heavy(tmp_path: Path) -> None:
    program = tmp_path / "copy.tile"
    program.write_text(
        "kernel copy[B = 64](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {\n"
        "    let i = program_id(0) * B +: B;\n    y[i] = x[i];\n}\n"
    )
    script = (
        "import sys; from tilelang.cli.main import run; status = run(['check', sys.argv[1]]);"
        f"print(status, sorted({HEAVY!r} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(program)], capture_output=True, text=True, timeout=60
    )
    assert result.stdout.splitlines()[-1:] == ["0 []"], result.stdout + result.stderr
