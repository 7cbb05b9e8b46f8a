"""Reading and writing files: every refusal is a coded message, and no file is ever lost."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from tilelang.cli.faults import Fault
from tilelang.cli.files import read_bytes, read_source, replacing, write_text
from tilelang.diagnostics import CompileError


def fault_of(function, *words: object) -> tuple[str, str]:  # type: ignore[no-untyped-def]
    """(code, help) of the fault that a call raises."""
    with pytest.raises(Fault) as caught:
        function(*words)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


def test_a_missing_file_names_a_similar_one() -> None:
    Path("softmax.tile").touch()
    assert fault_of(read_bytes, "sofmax.tile") == ("E0710", "did you mean `softmax.tile`?")
    assert fault_of(read_bytes, "unlike.tile") == ("E0710", "")
    assert fault_of(read_bytes, "nowhere/a.tile") == ("E0710", "the folder `nowhere` is not there either")


def test_a_folder_is_not_a_file() -> None:
    Path("kernels").mkdir()
    assert fault_of(read_bytes, "kernels/") == ("E0711", "name the files in it: kernels/*.tile")


@pytest.mark.parametrize("name", ["a" * 300, "nul\0byte", "file/below"])
def test_what_cannot_be_opened(name: str) -> None:
    Path("file").touch()
    assert fault_of(read_bytes, name)[0] == "E0712"


def test_a_file_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "secret")

    monkeypatch.setattr("builtins.open", refuse)  # not by permission bits: they mean nothing to root
    with pytest.raises(Fault) as caught:
        read_bytes("secret")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.notes) == ("E0712", ("Permission denied",))


def test_bytes_that_are_not_text_are_located() -> None:
    Path("bad.tile").write_bytes(b"kernel\n\xff\n")
    with pytest.raises(CompileError) as caught:
        read_source("bad.tile")
    assert caught.value.diagnostics[0].code == "E0001" and caught.value.source is not None


def test_an_endless_file_is_refused_and_not_read_to_its_end() -> None:
    with pytest.raises(CompileError) as caught:
        read_source("/dev/zero")
    assert caught.value.diagnostics[0].code == "E0012"


# --------------------------------------------------------------------------------------------- writing


def test_writing_replaces_at_once_and_keeps_permissions() -> None:
    Path("a").write_text("old")
    os.chmod("a", 0o640)
    with replacing("a") as file:
        file.write(b"new")
        file.flush()
        assert Path("a").read_text() == "old"
    assert Path("a").read_text() == "new"
    assert stat.S_IMODE(os.stat("a").st_mode) == 0o640
    assert os.listdir() == ["a"]


def test_a_new_file_has_the_usual_permissions() -> None:
    before = os.umask(0o027)
    try:
        write_text("a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("a").st_mode) == 0o640


def test_a_failure_leaves_the_old_file_and_no_litter() -> None:
    Path("a").write_text("old")
    with pytest.raises(ZeroDivisionError), replacing("a") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert Path("a").read_text() == "old" and os.listdir() == ["a"]


def test_a_symbolic_link_stays_one() -> None:
    Path("real").write_text("old")
    os.symlink("real", "link")
    write_text("link", "new")
    assert os.path.islink("link") and Path("real").read_text() == "new"


def test_something_that_is_no_plain_file_is_written_directly() -> None:
    write_text(os.devnull, "x")
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("name", ["folder", "nowhere/a", "nul\0", "b" * 300])
def test_what_cannot_be_written(name: str) -> None:
    Path("folder").mkdir()
    assert fault_of(write_text, name, "x")[0] == "E0713"
    assert os.listdir() == ["folder"] and os.listdir("folder") == []
