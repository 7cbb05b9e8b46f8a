"""Array files of odd sorts, as arguments of a kernel: each is read rightly or refused in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import format

import tilelang
from tilelang.cli import main
from tilelang.diagnostics import CompileError

X = np.arange(12, dtype="f4").reshape(3, 4)
TWICE = "kernel twice(x: f32[M, N], out y: f32[M, N]) grid (1) {\n    y[0 +: 4, 0 +: 4] = x[0 +: 4, 0 +: 4] * 2.0;\n}\n"


@pytest.fixture(autouse=True)
def twice(folder: Path) -> None:
    Path("twice.tile").write_text(TWICE)


def tilec(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main.run(["run", "twice.tile", "--device", "reference", *words])
    return status, capsys.readouterr().err


def saved_as(version: tuple[int, int]) -> Callable[[np.ndarray], None]:
    def save(array: np.ndarray) -> None:
        with open("x.npy", "wb") as file:
            format.write_array(file, array, version=version)

    return save


def with_shape(old: bytes, new: bytes) -> Callable[[np.ndarray], None]:
    """A file whose header tells another shape."""

    def save(array: np.ndarray) -> None:
        np.save("x.npy", array)
        data = Path("x.npy").read_bytes()
        assert len(old) == len(new) and data.count(old) == 1
        Path("x.npy").write_bytes(data.replace(old, new))

    return save


def plain(array: np.ndarray) -> None:
    np.save("x.npy", array)


READ = {
    "version 2": (saved_as((2, 0)), X),
    "version 3": (saved_as((3, 0)), X),
    "Fortran order": (plain, np.asfortranarray(X)),
    "Fortran order, version 3": (saved_as((3, 0)), np.asfortranarray(X)),
    "big-endian": (plain, X.astype(">f4")),
    "broadcast": (plain, np.broadcast_to(X[1], (3, 4))),
    "backwards": (plain, X[::-1, ::-1]),
    "one element": (plain, X[:1, :1]),
    "nothing": (plain, X[:0]),
}


@pytest.mark.parametrize(("save", "array"), READ.values(), ids=READ.keys())
def test_what_is_read_is_what_was_saved(save: Callable[[np.ndarray], None], array: np.ndarray,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    save(array)
    assert tilec(capsys, "x=x.npy", "--save", "y=y.npy") == (0, "")
    np.testing.assert_array_equal(np.load("y.npy"), array.astype("f4") * 2, strict=True)


def test_fields_of_a_shape_that_fits_another_order_of_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """A header that tells another shape of as many elements cannot be found out: it is the file's word."""
    with_shape(b"(3, 4)", b"(4, 3)")(X)
    assert tilec(capsys, "x=x.npy", "--save", "y=y.npy")[0] == 0
    np.testing.assert_array_equal(np.load("y.npy"), X.reshape(4, 3) * 2)


REFUSED = {
    "rank 0": (plain, np.float32(1), "E0412"),
    "rank 1": (plain, X[0], "E0412"),
    "rank 3": (plain, X[None], "E0412"),
    "f64": (plain, X.astype("f8"), "E0411"),
    "integers": (plain, X.astype("i4"), "E0411"),
    "complex": (plain, X.astype("c8"), "E0506"),
    "structured": (plain, np.zeros((3, 4), [("a", "f4"), ("b", "i4")]), "E0506"),
    "structured, version 3": (saved_as((3, 0)), np.zeros((3, 4), [("ä", "f4")]), "E0506"),
    "a subarray type": (plain, np.zeros((3, 4), [("a", "f4", (2,))]), "E0506"),
    "dates": (plain, np.zeros((3, 4), "M8[s]"), "E0506"),
    "texts": (plain, np.full((3, 4), "1.0"), "E0506"),
    "raw bytes": (plain, np.zeros((3, 4), "V4"), "E0506"),
    "objects": (plain, np.full((3, 4), None), "E0725"),
    "a shape of more": (with_shape(b"(3, 4)", b"(3, 5)"), X, "E0724"),
    "a shape below zero": (with_shape(b"(3, 4)", b"(-3,4)"), X, "E0724"),
    "a shape below zero twice": (with_shape(b"(3, 4), }  ", b"(-3, -4), }"), X, "E0724"),
    "a shape of truths": (with_shape(b"(3, 4), }     ", b"(True, 12), } "), X, "E0724"),
    "a shape of fractions": (with_shape(b"(3, 4), }    ", b"(3.0, 4.0), }"), X, "E0724"),
    "a shape beyond 64 bits": (with_shape(b"(3, 4), }" + b" " * 20, b"(3, 99999999999999999999), }".ljust(29)), X,
                               "E0724"),
    "no element, beyond 64 bits": (
        with_shape(b"(3, 4), }" + b" " * 20, b"(0, 99999999999999999999), }".ljust(29)), X, "E0724"),
    "more axes than a tile has": (
        with_shape(b"(3, 4), }" + b" " * 50, b"(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }".ljust(59)), X,
        "E0412"),
}  # fmt: skip


@pytest.mark.parametrize(("save", "array", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_matrix_of_f32_is_refused(save: Callable[[np.ndarray], None], array: np.ndarray, code: str,
                                             capsys: pytest.CaptureFixture[str]) -> None:
    save(array)
    status, err = tilec(capsys, "x=x.npy", "--save", "y=y.npy")
    assert status == 1 and err.startswith(f"error[{code}]: "), err
    assert "Traceback" not in err and not Path("y.npy").exists()


# ------------------------------------------------------------------------------------------- from Python


def refused(code: str, *arrays: np.ndarray, device: str = "reference") -> None:
    before = [array.copy() for array in arrays]
    with pytest.raises(CompileError) as caught:
        tilelang.compile(TWICE)["twice"](*arrays, device=device)
    assert caught.value.diagnostics[0].code == code
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_files_mapped_into_memory(device: str) -> None:
    """Read from where they are; written to if they were opened for that."""
    plain(X)
    np.save("y.npy", np.zeros_like(X))
    kernel = tilelang.compile(TWICE)["twice"]
    kernel(np.load("x.npy", mmap_mode="r"), np.load("y.npy", mmap_mode="r+"), device=device)
    np.testing.assert_array_equal(np.load("y.npy"), X * 2)
    np.save("y.npy", np.zeros_like(X))
    private = np.load("y.npy", mmap_mode="c")
    kernel(np.load("x.npy", mmap_mode="c"), private, device=device)
    np.testing.assert_array_equal(private, X * 2)
    np.testing.assert_array_equal(np.load("y.npy"), 0 * X)
    refused("E0509", X, np.load("y.npy", mmap_mode="r"), device=device)


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_outputs_that_cannot_be_written(device: str) -> None:
    frozen = np.zeros_like(X)
    frozen.flags.writeable = False
    refused("E0509", X, frozen, device=device)
    refused("E0509", X, np.broadcast_to(np.zeros(4, "f4"), (3, 4)), device=device)
    rows = np.lib.stride_tricks.as_strided(np.zeros(4, "f4"), (3, 4), (0, 4), writeable=True)
    refused("E0510", X, rows, device=device)
    refused("E0507", X, np.zeros((3, 4), ">f4"), device=device)
    refused("E0411", X, np.zeros((3, 4), "f8"), device=device)
    refused("E0412", X, np.zeros(4, "f4"), device=device)
