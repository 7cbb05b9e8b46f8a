"""What may be passed as an array: NumPy, the array interfaces, DLPack; and what may not, with what to do instead."""

from __future__ import annotations

import gc
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.lenders import Failing, Interfaced, Lender, OnGpu
from tilelang.dtypes import BF16, BOOL, DTYPES, F32, I64
from tilelang.ir.host_types import from_numpy, numpy_dtype
from tilelang.runtime.arrays import DeviceArray, Refused, as_array, describe

X = np.arange(12, dtype=np.float32).reshape(3, 4)
VIEWS = {
    "plain": X,
    "transposed": X.T,
    "reversed": X[::-1, ::-2],
    "fortran": np.asfortranarray(X),
    "column": X[:, 1],
    "empty": X[:0],
    "rank 0": X[1, 2:3].reshape(()),
    "broadcast": np.broadcast_to(X, (2, 3, 4)),
    "size 1": X[:1, :1],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_numpy_array_is_taken_as_it_is(view: np.ndarray) -> None:
    assert as_array(view) is view


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_lends_views_without_a_copy(view: np.ndarray, versioned: bool) -> None:
    lent = as_array(Lender(view, 2, 32, versioned=versioned))
    assert isinstance(lent, np.ndarray)
    assert (lent.shape, lent.dtype) == (view.shape, view.dtype)
    np.testing.assert_array_equal(lent, view)
    if view.size:
        assert np.shares_memory(lent, view) and lent.strides == view.strides


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_element_type_comes_through_dlpack(dtype) -> None:
    code = {"bool": 6, "signed": 0, "unsigned": 1, "float": 2}[dtype.kind] if dtype != BF16 else 4
    values = np.array([0, 1, 1, 0]).astype(numpy_dtype(dtype))
    lent = as_array(Lender(values, code, dtype.bits))
    assert lent.dtype == numpy_dtype(dtype)
    np.testing.assert_array_equal(lent, values)


def test_dlpack_without_strides_is_row_major_and_an_offset_is_added() -> None:
    np.testing.assert_array_equal(as_array(Lender(X, 2, 32, strides=False)), X)
    np.testing.assert_array_equal(as_array(Lender(X, 2, 32, offset=64)), X)


def test_dlpack_gives_the_memory_back_when_the_last_view_goes() -> None:
    lender = Lender(X.copy(), 2, 32)
    view = as_array(lender)[1:]
    gc.collect()
    assert lender.given_back == 0
    del view
    gc.collect()
    assert lender.given_back == 1


def test_dlpack_says_what_is_read_only() -> None:
    assert as_array(Lender(X, 2, 32)).flags.writeable
    assert not as_array(Lender(X, 2, 32, readonly=True)).flags.writeable
    assert as_array(Lender(X, 2, 32, versioned=False)).flags.writeable
    immutable = type("Array", (Lender,), {"__module__": "jaxlib.xla_extension"})
    assert not as_array(immutable(X, 2, 32, versioned=False)).flags.writeable
    assert not as_array(immutable(X[:0], 2, 32, versioned=False)).flags.writeable


def test_gpu_arrays_keep_their_address() -> None:
    array = as_array(Lender(X.astype(ml_dtypes.bfloat16), 4, 16, device=(2, 1)))
    assert isinstance(array, DeviceArray)
    assert (array.device, array.dtype, array.shape, array.strides) == (1, BF16, (3, 4), (8, 2))
    assert array.__cuda_array_interface__["typestr"] == "<u2"
    array = as_array(OnGpu((5, 2), "|b1", strides=(8, 4), readonly=True))
    assert isinstance(array, DeviceArray)
    assert (array.device, array.dtype, array.strides, array.readonly) == (0, BOOL, (8, 4), True)
    assert as_array(OnGpu((5, 2), "<i8")).strides == (16, 8)  # type: ignore[union-attr]
    assert as_array(array).address == array.address  # type: ignore[union-attr]


def test_a_gpu_array_without_the_cuda_interface_for_its_type_comes_through_dlpack() -> None:
    class Tensor(Lender):
        @property
        def __cuda_array_interface__(self) -> dict:
            raise TypeError("bfloat16 is not supported")

    array = as_array(Tensor(X.astype(ml_dtypes.bfloat16), 4, 16, device=(2, 0)))
    assert isinstance(array, DeviceArray) and array.dtype == BF16


def test_objects_with_the_array_interface_and_memory_maps(tmp_path: Path) -> None:
    lent = as_array(Interfaced(X[::2]))
    assert isinstance(lent, np.ndarray) and np.shares_memory(lent, X)
    np.save(tmp_path / "x.npy", X)
    mapped = as_array(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert type(mapped) is np.ndarray
    assert not mapped.flags.writeable
    np.testing.assert_array_equal(mapped, X)
    assert type(as_array(X.view(type("Sub", (np.ndarray,), {})))) is np.ndarray


def test_equal_numpy_dtypes_are_one_element_type() -> None:
    assert from_numpy(np.dtype("longlong")) == I64
    assert from_numpy(np.dtype(np.float32)) == F32


REFUSED = {
    "list": ([1.0], "E0505", "np.asarray(x, dtype="),
    "tuple": ((1, 2), "E0505", "np.asarray"),
    "None": (None, "E0505", "NumPy array"),
    "number": (3.5, "E0505", "NumPy array"),
    "numpy scalar": (np.float32(1), "E0505", "NumPy array"),
    "string": ("x.npy", "E0505", "NumPy array"),
    "masked": (np.ma.masked_array(X, X > 3), "E0505", "filled(0)"),
    "only __array__": (
        type("Series", (), {"__array__": lambda self, dtype=None, copy=None: X})(),
        "E0505",
        "np.asarray(x)",
    ),
    "complex": (X.astype(complex), "E0506", "astype"),
    "object": (np.array([None, 1]), "E0506", "astype"),
    "structured": (np.zeros(3, [("a", "f4")]), "E0506", "astype"),
    "long double": (X.astype(np.longdouble), "E0506", "astype"),
    "dates": (np.zeros(3, "M8[s]"), "E0506", "astype"),
    "strings": (np.array(["a"]), "E0506", "astype"),
    "f8": (X.astype(ml_dtypes.float8_e4m3fn), "E0506", "astype"),
    "foreign": (X.astype(">f4"), "E0507", "x.astype(np.float32)"),
    "misaligned": (np.zeros(9, np.uint8)[1:].view(np.float32), "E0508", "x.copy()"),
    "dlpack vector": (Lender(X, 2, 32, lanes=4), "E0506", "astype"),
    "dlpack complex": (Lender(X, 5, 64), "E0506", "astype"),
    "misaligned dlpack": (Lender(np.zeros(9, np.uint8)[1:].view(np.float32), 2, 32), "E0508", "copy"),
    "vulkan": (Lender(X, 2, 32, device=(7, 0)), "E0522", "host"),
    "future dlpack": (Lender(X, 2, 32, major=9), "E0523", "NumPy"),
    "gradient": (
        Failing(BufferError("Can't export tensors that require gradient, use tensor.detach()")),
        "E0523",
        "x.detach()",
    ),
    "broken": (Failing(RuntimeError("")), "E0523", "NumPy"),
    "gpu complex": (OnGpu((2,), "<c8"), "E0506", "astype"),
}


@pytest.mark.parametrize("value, code, help", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_says_what_to_write_instead(value: object, code: str, help: str) -> None:
    with pytest.raises(Refused) as refused:
        as_array(value)
    assert refused.value.code == code
    assert help in refused.value.help.replace("{x}", "x")
    assert refused.value.given and refused.value.why


def test_descriptions_are_short_and_readable() -> None:
    assert describe(X) == "a float32 array of shape (3, 4)"
    assert describe(X.astype(int)) == "an int64 array of shape (3, 4)"
    assert describe(as_array(OnGpu((2,)))) == "a f32 array of shape (2,) on GPU 0"
    assert describe(10**100).startswith("the number 1000") and len(describe(10**100)) < 60
    assert describe(True) == "the bool True"
    assert describe([1]) == "a list"
