"""Where `tilec` runs: an old locale, odd paths, no home folder, a checkout nobody can write to, little memory.

Each test starts a `tilec` of its own, since a process has one locale, one home and one limit.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tilelang.cli.memory import wants_memory
from tilelang.runtime import address_space

ROOT = Path(__file__).parents[2]
START = "import sys; from tilelang.cli.main import main; main()"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ADD = "kernel add(x: f32[N], out y: f32[N]) grid (1) {  # größer\n    y[0 +: 8] = x[0 +: 8] + 1.0;\n}\n"


def tilec(*words: str, limits: Callable[[], None] | None = None, root: Path = ROOT,
          **variables: str) -> tuple[int, str, str]:
    """The exit code and both outputs, which are UTF-8 in any locale."""
    done = subprocess.run([sys.executable, "-c", START, *words], capture_output=True, timeout=300, preexec_fn=limits,
                          env={**os.environ, "PYTHONPATH": str(root), **variables})  # fmt: skip
    return done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")


# --------------------------------------------------------------------------------- names that are not ASCII


@pytest.fixture
def odd(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with spaces and umlauts in its name, which is the current one, with a program `größe 1.tile`."""
    place = folder / "ein Ordner für Übungen"
    place.mkdir()
    monkeypatch.chdir(place)
    Path("größe 1.tile").write_text(ADD, encoding="utf-8")
    return place


@pytest.mark.parametrize("variables", [ASCII, {}], ids=["C", "as it is"])
def test_paths_with_spaces_and_letters_beyond_ascii(odd: Path, variables: dict[str, str]) -> None:
    where = {**variables, "TILEC_CACHE_DIR": str(odd / "für später")}
    words = ("run", "größe 1.tile", "x=zeros(8)", "--device", "cpu", "--save", "y=das Maß.npy")
    status, out, err = tilec(*words, **where)
    assert (status, err) == (0, "") and "y is saved in " in out
    np.testing.assert_array_equal(np.load("das Maß.npy"), np.ones(8, "f4"))
    assert list((odd / "für später").rglob("*.nbi"))
    assert tilec("run", "größe 1.tile", "x=das Maß.npy", "--expect", "y=das Maß.npy", **where)[0] == 1
    assert tilec("compile", "größe 1.tile", "-o", "für mich.txt", **where)[0] == 0
    assert "größer" not in Path("für mich.txt").read_text(encoding="utf-8")


def test_mistakes_are_shown_whatever_the_locale_says(odd: Path) -> None:
    Path("größe 1.tile").write_text(ADD.replace("1.0", "größe"), encoding="utf-8")
    status, out, err = tilec("check", "größe 1.tile", **ASCII)
    assert status == 1 and "Traceback" not in out + err
    assert "`ö` (U+00F6" in out + err and " 1.tile:2:" in out + err
    assert ADD.split("\n")[1].replace("1.0", "größe") in out + err


def test_programs_are_utf8_whatever_the_locale_says(odd: Path) -> None:
    Path("größe 1.tile").write_text(ADD.replace("    y", "  y"), encoding="utf-8")
    assert tilec("fmt", "größe 1.tile", **ASCII)[0] == 0
    assert Path("größe 1.tile").read_text(encoding="utf-8") == ADD


# ------------------------------------------------------------------------------------------- no home folder


def run_at_home(home: str, device: str) -> tuple[int, str, str]:
    """`tilec run` where no variable but HOME says where the cache is."""
    kept = {name: value for name, value in os.environ.items() if name not in ("TILEC_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run([sys.executable, "-c", START, "run", "add.tile", "x=zeros(8)", "--device", device],
                          env={**kept, "PYTHONPATH": str(ROOT), "HOME": home}, capture_output=True, text=True,
                          timeout=300)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def add(folder: Path) -> Path:
    Path("add.tile").write_text(ADD, encoding="utf-8")
    return folder


def test_a_home_that_does_not_exist_yet_is_made(add: Path) -> None:
    status, out, err = run_at_home(str(add / "home" / "new"), "cpu")
    assert (status, err) == (0, "") and "1 1 1 1 1 1" in out
    assert list((add / "home" / "new").rglob("*.nbi"))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_home_that_cannot_exist(add: Path, device: str) -> None:
    """A file stands where the folder would have to be. What has to be compiled is, after one line that says so."""
    (add / "file").write_text("")
    status, out, err = run_at_home(str(add / "file" / "home"), device)
    assert status == 0 and "1 1 1 1 1 1" in out
    assert (err.count("\n"), "works without its on-disk cache" in err) == ((1, True) if device == "cpu" else (0, False))


@pytest.mark.parametrize("home", ["", "relative", "/"])
def test_homes_that_are_no_homes(add: Path, home: str) -> None:
    status, out, err = run_at_home(home, "reference")
    assert (status, err) == (0, "") and "1 1 1 1 1 1" in out


# ------------------------------------------------------------------------- a checkout that cannot be written to

DROP_FROM_BOUNDS, MAY_OVERRIDE = 24, (1, 2, 3)
"""Linux: prctl's PR_CAPBSET_DROP; the rights with which root passes over permissions of files."""


def mind_permissions() -> None:
    """In a child, before it starts Python: from there on root may do no more than a file's permissions say."""
    if hasattr(os, "getuid") and os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for right in MAY_OVERRIDE:
            if libc.prctl(DROP_FROM_BOUNDS, right, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "root keeps its rights")


@pytest.fixture
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout without compiled Python in it, in which nothing can be written."""
    root = tmp_path_factory.mktemp("sealed") / "checkout"
    for name in ("course", "solutions", "tilelang", "grammar"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".progress"))
    for path in [root, *root.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return root


def test_a_checkout_that_cannot_be_written_to(sealed: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sealed)
    before = set(sealed.rglob("*"))
    writes = "import tilelang; print(tilelang.__file__); open('tilelang/new.py', 'w')"
    try:
        tried = subprocess.run(
            [sys.executable, "-c", writes], capture_output=True, text=True, preexec_fn=mind_permissions,
            env={**os.environ, "PYTHONPATH": str(sealed)},
        )  # fmt: skip
    except subprocess.SubprocessError:
        pytest.skip("here root cannot give up its right to write everywhere")
    assert tried.stdout.startswith(str(sealed)) and "PermissionError" in tried.stderr, "the test must mean something"

    def sealed_tilec(*words: str) -> tuple[int, str, str]:
        return tilec(*words, limits=mind_permissions, root=sealed)

    kernel = "course/kernels/vector_add.tile"
    assert sealed_tilec("check", kernel) == (0, "", "")
    status, out, err = sealed_tilec("run", kernel, "x=ones(9)", "y=ones(9)", "--device", "cpu")
    assert (status, err) == (0, "") and "2 2 2 2 2 2" in out
    words = ("run", kernel, "x=ones(9)", "y=ones(9)", "--device", "reference", "--save", "z=z.npy")
    status, out, err = sealed_tilec(*words)
    assert status == 1 and err.startswith("error[E0713]: `z.npy` cannot be written\n")
    status, out, err = sealed_tilec("course", "grade", "ch05")
    assert (status, err) == (1, "") and "0 of 6 exercises of ch05 pass" in out
    status, out, err = sealed_tilec("course", "reset", "ch05")
    assert status == 1 and err.startswith("error[E0713]: ")
    assert set(sealed.rglob("*")) == before


# --------------------------------------------------------------------------------------------- little memory


@pytest.mark.parametrize("device", ["cpu", "reference", "simulator", "model"])
@pytest.mark.parametrize("mebibytes", [50, 200, 300, 350])
def test_a_limit_on_memory_is_no_bug_of_the_compiler(add: Path, mebibytes: int, device: str) -> None:
    """Wherever it runs out: while Python starts, NumPy or LLVM is loaded, or the kernel compiled. (Some libraries end
    the process themselves, in their own words.)"""
    size = mebibytes << 20
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))  # noqa: E731
    status, out, err = tilec("run", "add.tile", "x=zeros(8)", "--device", device, limits=limit)
    assert (status == 0 and "1 1 1 1 1 1" in out) or (status == 1 and err.startswith(("error[E0707]", "OpenBLAS"))), err
    assert "internal error" not in err and "Traceback" not in err


def test_what_needs_more_room_than_is_left_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    used = address_space._in_use() or 0
    monkeypatch.setattr(address_space, "address_space", lambda: used + (100 << 20))
    address_space.want_room(50 << 20, "compiling a kernel")
    if used:
        with pytest.raises(MemoryError, match=r"compiling a kernel takes up to 200 MiB .*; \d+ MiB are left"):
            address_space.want_room(200 << 20, "compiling a kernel")
    address_space.want_process(used, "numba's simulator")
    with pytest.raises(MemoryError, match=r"numba's simulator takes up to \d+ MiB of address space"):
        address_space.want_process(used + (101 << 20), "numba's simulator")
    monkeypatch.setattr(address_space, "address_space", lambda: None)
    address_space.want_room(1 << 60, "compiling a kernel")
    address_space.want_process(1 << 60, "numba's simulator")


def test_a_destructor_without_memory_says_nothing() -> None:
    """The failure that it shares is said once; any other is not hidden."""
    code = """
import tilelang.cli.main as main

class Leaves:
    def __init__(self, failure): self.failure = failure
    def __del__(self): raise self.failure

def run(words):
    Leaves(MemoryError())
    Leaves(KeyError("shown"))
    return 0

main.run = run
main.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0
    assert "MemoryError" not in done.stderr and "KeyError: 'shown'" in done.stderr


def test_an_array_beyond_the_limit(add: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))  # noqa: E731
    status, _, err = tilec("run", "add.tile", "x=zeros(1000000000)", "--device", "reference", limits=limit)
    assert status == 1 and err.startswith("error[E0707]: ")
    assert "this process may have 1024 MiB of address space" in err and "ulimit -v" in err


def test_which_failures_are_for_want_of_memory() -> None:
    lib = OSError("Could not find/load shared object file 'libllvmlite.so' from resource location")
    assert wants_memory(MemoryError()) and wants_memory(OSError(12, "Cannot allocate memory"))
    assert wants_memory(ImportError("_socket.so: failed to map segment from shared object"))
    assert not wants_memory(lib), "without a limit the library is missing"
    assert not wants_memory(KeyError("failed to map segment")) and not wants_memory(ImportError("no such module"))
    caused = ImportError("numpy could not be imported")
    caused.__cause__ = MemoryError()
    assert wants_memory(caused)
    caused.__cause__ = caused
    assert not wants_memory(caused)
