"""The on-disk cache of machine code: it saves compiling, and whatever is wrong with it, kernels run."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import pytest

from tilelang.codegen.cpu import generate
from tilelang.diagnostics import Source
from tilelang.ir.parser import parse_kernel
from tilelang.runtime import cache
from tilelang.runtime.cpu import compile
from tilelang.runtime.cpu_modules import environment

COPY = """
kernel @copy(%x: in f32[8], %y: out f32[8]) dims() tile {
  %i: i64[8] = iota
  %v: f32[8] = load %x, %i {checked = (false,), mask = false, other = false, pointwise = false}
  store %y, %i, %v {checked = (false,), mask = false, pointwise = false}
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_gave_up", [])
    yield tmp_path / "cache"


def run() -> int:
    """Compile and run the kernel anew; how many functions came from the cache."""
    kernel = parse_kernel(COPY)
    compiled = compile(generate(kernel, Source("")), kernel)
    args = {"x": np.arange(8, dtype=np.float32), "y": np.zeros(8, np.float32)}
    compiled.launch(args, {}, (1,))
    np.testing.assert_array_equal(args["x"], args["y"])
    (variant,) = compiled._variants.values()
    return variant.code.cache_hits


def entries(folder: Path) -> list[Path]:
    return list((folder / "cpu").iterdir())


def compiled_files(folder: Path) -> list[Path]:
    return [*folder.rglob("*.nbi"), *folder.rglob("*.nbc")]


def test_the_second_time_nothing_is_compiled(folder: Path) -> None:
    assert run() == 0
    assert run() == 1
    (entry,) = entries(folder)
    assert (entry / "kernel.py").read_text().startswith('"""CPU code')


def test_only_the_user_can_look_into_it(folder: Path) -> None:
    run()
    for path in (folder, folder / "cpu", *entries(folder)):
        assert path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("damage", [b"", b"not machine code", None])
def test_a_damaged_entry_is_made_again(folder: Path, damage: bytes | None) -> None:
    run()
    for path in compiled_files(folder):
        content = path.read_bytes()
        path.write_bytes(content[:-10] + b"\xff" * 10 if damage is None else damage)
    assert run() == 0
    assert run() == 1


@pytest.mark.parametrize("name", ["kernel.py", "sums.json"])
def test_a_damaged_text_is_made_again(folder: Path, name: str) -> None:
    run()
    (entries(folder)[0] / name).write_text("\0 garbage ]")
    run()
    assert run() == 1


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "compiler": lambda patch: patch.setattr(cache, "compiler_version", lambda: "0.0.1"),
    "numba": lambda patch: patch.setattr(numba, "__version__", "0.1"),
    "llvmlite": lambda patch: patch.setattr(llvmlite, "__version__", "0.1"),
    "processor": lambda patch: patch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "i386"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_another_version_made_is_not_loaded(folder: Path, change: Callable[[pytest.MonkeyPatch], None]) -> None:
    """And it stays: who goes back to that version finds it. What it knows nothing of does no harm either."""
    (folder / "of-an-older-layout").mkdir(parents=True)
    (folder / "index").write_text("0.0.1")
    for path in (folder, folder / "of-an-older-layout"):
        path.chmod(0o700)
    try:
        with pytest.MonkeyPatch.context() as patch:
            change(patch)
            environment.cache_clear()
            assert (run(), run()) == (0, 1)
            older = set(entries(folder))
    finally:
        environment.cache_clear()
    assert (run(), run()) == (0, 1)
    assert len(entries(folder)) == 2 and older < set(entries(folder))


def test_the_version_is_that_of_the_distribution() -> None:
    assert cache.compiler_version() == metadata.version("tile-course")
    assert cache.compiler_version() in environment()


def test_a_file_that_others_can_write_is_not_loaded(folder: Path) -> None:
    run()
    for path in compiled_files(folder):
        path.chmod(0o666)
    with pytest.warns(cache.CacheWarning, match="others can write"):
        assert run() == 0


def test_a_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.warns(cache.CacheWarning, match="belongs to another user"):
        assert run() == 0


def test_a_cache_that_cannot_be_made_gives_one_warning(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run() == 0
        assert run() == 0
    assert [w.category for w in caught if w.category is cache.CacheWarning] == [cache.CacheWarning]


def test_a_full_disk_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "write", full)
    with pytest.warns(cache.CacheWarning, match="No space left"):
        run()


def test_read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.warns(cache.CacheWarning, match="not writable"):
        assert run() == 0


def test_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run() == 0
    assert cache.cache_root() is None


def test_clear(folder: Path) -> None:
    run()
    assert cache.clear() == 1
    assert not folder.exists()
    assert run() == 0


RACERS = int(os.environ.get("TILEC_RACERS", "4"))
RACER = """
import sys
from tests.runtime.test_cpu_cache import run
print("ready", flush=True)
sys.stdin.readline()
run()
print("done")
"""


def test_processes_that_race_for_an_entry(folder: Path) -> None:
    """All begin at once, on an empty cache. `TILEC_RACERS=20` has twenty of them."""
    variables = {**os.environ, cache.VARIABLE: str(folder), "PYTHONPATH": str(Path(__file__).parents[2])}
    racers = [subprocess.Popen([sys.executable, "-c", RACER], env=variables, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(RACERS)]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    outputs = [racer.communicate(timeout=300)[0] for racer in racers]
    assert outputs == ["done\n"] * RACERS
    run()
    assert run() == 1
    assert not list(folder.rglob(".new-*"))


def test_keys_tell_parts_apart() -> None:
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")
    assert cache.key_of("a") == cache.key_of("a")
