"""Arrays for `tilec run`: files of every sort, whole and damaged, and generators."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tilelang.cli.arguments import File, Generator, parse_value
from tilelang.cli.arrays import generate, load, random_array
from tilelang.cli.faults import Fault
from tilelang.dtypes import BF16, BOOL, DTYPES, F32, I8
from tilelang.ir.host_types import numpy_dtype

ARRAY = np.arange(12, dtype="f4").reshape(3, 4)


def code_of(function, *words: object) -> str:  # type: ignore[no-untyped-def]
    with pytest.raises(Fault) as caught:
        function(*words)
    return caught.value.diagnostics[0].code


# ------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "array",
    [
        ARRAY,
        np.asfortranarray(ARRAY),
        ARRAY.astype(">f4"),
        ARRAY > 3,
        ARRAY.astype("u1"),
        np.float64(3.5),
        np.zeros((0, 4), "f2"),
    ],
    ids=["plain", "fortran", "big-endian", "bool", "u8", "rank-0", "empty"],
)
def test_npy_files_come_back_as_they_were_saved(array: np.ndarray) -> None:
    np.save("a.npy", array)
    loaded = load(File("a.npy"), None)
    assert loaded.dtype == np.asarray(array).dtype.newbyteorder("=") and loaded.dtype.isnative
    np.testing.assert_array_equal(loaded, array)


def test_bf16_survives_the_npy_format_which_does_not_know_it() -> None:
    array = ARRAY.astype(ml_dtypes.bfloat16)
    np.save("a.npy", array)
    assert load(File("a.npy"), BF16).dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(load(File("a.npy"), BF16), array)


def test_a_read_only_file_and_a_link_to_it() -> None:
    np.save("a.npy", ARRAY)
    os.chmod("a.npy", 0o400)
    os.symlink("a.npy", "b.npy")
    np.testing.assert_array_equal(load(File("b.npy"), None), ARRAY)


def test_npz_files_by_key() -> None:
    np.savez("a.npz", first=ARRAY, second=ARRAY + 1)
    np.savez_compressed("b.npz", only=ARRAY)
    np.testing.assert_array_equal(load(File("a.npz", "second"), None), ARRAY + 1)
    np.testing.assert_array_equal(load(File("b.npz"), None), ARRAY)
    assert code_of(load, File("a.npz"), None) == "E0726"
    with pytest.raises(Fault) as caught:
        load(File("a.npz", "secnd"), None)
    assert "a.npz:second" in caught.value.diagnostics[0].help


def test_files_that_are_not_there() -> None:
    Path("folder").mkdir()
    assert code_of(load, File("a.npy"), None) == "E0710"
    assert code_of(load, File("folder"), None) == "E0711"


class Bomb:
    def __reduce__(self) -> tuple:
        return Path.touch, (Path("exploded"),)


def test_pickles_are_refused_and_not_opened() -> None:
    np.save("a.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    np.savez("b.npz", a=np.array([Bomb()], dtype=object), allow_pickle=True)
    Path("c.npy").write_bytes(pickle.dumps(Bomb()))
    assert code_of(load, File("a.npy"), None) == "E0725"
    assert code_of(load, File("b.npz", "a"), None) == "E0725"
    assert code_of(load, File("c.npy"), None) == "E0724"
    assert not Path("exploded").exists()


def npy_bytes(array: np.ndarray = ARRAY) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("size", [0, 1, 5, 6, 8, 9, 60, 127, 128, 129, 175])
def test_a_truncated_file_is_refused(size: int) -> None:
    whole = npy_bytes()
    assert len(whole) == 176
    Path("a.npy").write_bytes(whole[:size])
    assert code_of(load, File("a.npy"), None) == "E0724"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(3, 4)", b"(3, 9)"),
        (b"(3, 4)", b"(-3,4)"),
        (b"(3, 4)", b"'abcd'"),
        (b"'<f4'", b"'<f8'"),
        (b"'<f4'", b"'<zz'"),
        (b"'descr'", b"'dxscr'"),
        (b"{'descr", b"(('desc"),
        (b"NUMPY\x01", b"NUMPY\x07"),
    ],
)
def test_a_header_that_lies_or_makes_no_sense_is_refused(old: bytes, new: bytes) -> None:
    whole = npy_bytes()
    assert old in whole and len(old) == len(new)
    Path("a.npy").write_bytes(whole.replace(old, new))
    assert code_of(load, File("a.npy"), None) == "E0724"


def test_a_header_that_promises_more_than_memory_is_refused_before_it_is_allocated() -> None:
    whole = npy_bytes().replace(b"(3, 4), }           ", b"(99999999999999,), }")
    Path("a.npy").write_bytes(whole)
    assert b"99999999999999" in whole
    assert code_of(load, File("a.npy"), None) == "E0724"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_truncations_and_mutations_of_an_archive_are_messages(save) -> None:  # type: ignore[no-untyped-def]
    save("a.npz", a=ARRAY)
    whole = Path("a.npz").read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(300):
        data = bytearray(whole)
        if trial % 2:
            data = data[: rng.integers(len(data))]
        else:
            data[rng.integers(len(data))] = rng.integers(256)
        Path("b.npz").write_bytes(bytes(data))
        try:
            load(File("b.npz", "a"), None)
        except Fault as fault:
            assert fault.diagnostics[0].code in ("E0724", "E0725", "E0726")


def test_many_mutations_of_an_npy_are_messages() -> None:
    whole, rng = npy_bytes(), np.random.default_rng(0)
    for _ in range(500):
        data = bytearray(whole)
        data[rng.integers(128)] = rng.integers(256)
        Path("b.npy").write_bytes(bytes(data))
        try:
            load(File("b.npy"), None)
        except Fault as fault:
            assert fault.diagnostics[0].code in ("E0724", "E0725")


def test_other_files_are_not_arrays() -> None:
    Path("a.npy").write_text("1 2 3")
    with zipfile.ZipFile("b.npz", "w") as archive:
        archive.writestr("a.txt", "1 2 3")
    with zipfile.ZipFile("c.npz", "w") as archive:
        archive.writestr("a.npy", "1 2 3")
    assert code_of(load, File("a.npy"), None) == "E0724"
    assert code_of(load, File("b.npz"), None) == "E0726"
    assert code_of(load, File("c.npz"), None) == "E0724"


# -------------------------------------------------------------------------------------------- generators


def made(text: str, dtype: object = F32, seed: int = 0, **dims: int) -> np.ndarray:
    value = parse_value(text, f"x={text}")
    assert isinstance(value, Generator)
    return generate(value, dtype, dims, np.random.default_rng(seed))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("zeros(2,3)", np.zeros((2, 3), "f4")),
        ("zeros(0)", np.zeros(0, "f4")),
        ("zeros()", np.zeros((), "f4")),
        ("ones(3, f16)", np.ones(3, "f2")),
        ("full(2, 2, -inf)", np.full((2, 2), -np.inf, "f4")),
        ("full(0.5)", np.full((), 0.5, "f4")),
        ("arange(4)", np.arange(4, dtype="f4")),
        ("arange(1, 9, 3, i64)", np.array([1, 4, 7], "i8")),
        ("arange(0, 1, 0.25)", np.array([0, 0.25, 0.5, 0.75], "f4")),
        ("ones(M, 2)", np.ones((5, 2), "f4")),
    ],
)
def test_generators(text: str, expected: np.ndarray) -> None:
    array = made(text, M=5)
    assert array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


def test_random_arrays_depend_on_the_seed_and_nothing_else() -> None:
    for text in ("randn(100)", "rand(100)", "randint(0,100,100)"):
        np.testing.assert_array_equal(made(text), made(text))
        assert (made(text) != made(text, seed=1)).any()
    numbers = made("randint(-3, 4, 1000)", I8)
    assert numbers.dtype == np.int8 and (numbers.min(), numbers.max()) == (-3, 3)
    uniform = made("rand(1000)")
    assert uniform.min() >= 0 and uniform.max() < 1


def test_a_dim_called_like_a_type_is_the_dim() -> None:
    assert made("ones(f16)", f16=3).shape == (3,)


@pytest.mark.parametrize(
    "text",
    [
        "ones(2.5)", "ones(-1)", "ones(true)", "ones(K)", "full()", "arange()", "arange(1,2,3,4)",
        "arange(1,2,0)", "arange(nan)", "randint(3)", "randint(5,5,3)", "randint(0.5,1,3)",
        "zeros(" + "1," * 70 + "1)",
    ],
)  # fmt: skip
def test_generators_called_wrongly(text: str) -> None:
    assert code_of(made, text) == "E0723"


@pytest.mark.parametrize("dtype", list(DTYPES.values()), ids=str)
def test_a_shape_alone_is_filled_for_every_type(dtype) -> None:  # type: ignore[no-untyped-def]
    array = random_array((50, 20), dtype, np.random.default_rng(0))
    assert array.shape == (50, 20) and array.dtype == numpy_dtype(dtype)
    wide = array.astype(np.float64)
    if dtype == BOOL:
        assert set(np.unique(wide)) == {0, 1}
    elif dtype.is_integer:
        assert (wide.min(), wide.max()) == (0, 15)
    else:
        assert abs(wide.mean()) < 0.1 and abs(wide.std() - 1) < 0.1
