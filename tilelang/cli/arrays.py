"""Arrays for `tilec run`: loaded from `.npy` and `.npz` files, or generated."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from tilelang.cli.arguments import File, Generator, bad_generator
from tilelang.cli.faults import Fault
from tilelang.cli.files import explained
from tilelang.dtypes import BF16, DTYPES, F32, DType
from tilelang.ir.host_types import numpy_dtype
from tilelang.near import nearest
from tilelang.rendering import printable

Array = np.ndarray
Rng = np.random.Generator
NPY_MAGIC = b"\x93NUMPY"
ARCHIVE_ERRORS = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
)  # fmt: skip
"""What `zipfile` raises for a damaged archive; OSError when its table of contents points outside the file."""
RANDOM_INTEGERS = 16
"""Random integers are 0 to 15: small enough to be indexes into most things, and to sum without overflow."""


# ------------------------------------------------------------------------------------------------- files


def load(file: File, dtype: DType | None) -> Array:
    """The array in a file, in the machine's byte order. `dtype` is what the kernel wants, if that is known.

    Raises:
        Fault: E0710 to E0712, the file cannot be read; E0724, it is not an array file, or damaged; E0725, it
            holds pickled objects; E0726, which array of an `.npz` is meant.
    """
    with explained(file.path), open(file.path, "rb") as stream:
        if stream.read(4) == b"PK\x03\x04":
            array = _load_from_archive(stream, file)
        else:
            stream.seek(0)
            array = _load_npy(stream, os.fstat(stream.fileno()).st_size, file.path)
    return _usable(array, dtype)


def _load_npy(stream: BinaryIO, size: int, shown: str) -> Array:
    """Read an `.npy`, once its header has been found to be honest about the `size` of the file."""
    shown = printable(shown)
    if stream.read(len(NPY_MAGIC)) != NPY_MAGIC:
        raise Fault("E0724", f"`{shown}` is not an .npy file", help="make one with numpy.save")
    stream.seek(0)
    try:
        shape, _, dtype = _read_header(stream)
    except Exception as error:  # NumPy lets through whatever its parser raises, `TokenError` among them
        raise Fault("E0724", f"the header of `{shown}` is damaged", notes=(printable(str(error)),)) from None
    if any(type(extent) is not int or extent < 0 for extent in shape):  # NumPy takes `True` for an integer
        raise Fault("E0724", f"the header of `{shown}` is damaged", notes=(f"it gives the shape {shape}",))
    if dtype.hasobject:
        raise Fault(
            "E0725", f"`{shown}` holds pickled Python objects",
            notes=("reading them could run code from the file, so they are never read",),
            help="save an array of numbers instead: numpy.save(path, array.astype(numpy.float32))",
        )  # fmt: skip
    promised = int(np.prod([int(extent) for extent in shape], dtype=object)) * dtype.itemsize
    there = size - stream.tell()
    if promised > there:
        shape_text = ", ".join(map(str, shape))
        raise Fault(
            "E0724", f"`{shown}` is cut short",
            notes=(f"its header promises {dtype}[{shape_text}], {promised} bytes; {there} bytes follow",),
        )  # fmt: skip
    stream.seek(0)
    try:
        return np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, OverflowError) as error:  # no element, but an extent beyond 64 bits
        raise Fault("E0724", f"`{shown}` is damaged", notes=(printable(str(error)),)) from None


def _read_header(stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _load_from_archive(stream: BinaryIO, file: File) -> Array:
    """Read the member `file.key` of an `.npz`, or its only one."""
    shown = printable(file.path)
    try:
        with zipfile.ZipFile(stream) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            key = _chosen_key(file, [name.removesuffix(".npy") for name in names])
            info = archive.getinfo(key + ".npy")
            with archive.open(info) as member:
                return _load_npy(member, info.file_size, f"{file.path}:{key}")  # type: ignore[arg-type]
    except ARCHIVE_ERRORS as error:
        raise Fault("E0724", f"`{shown}` is damaged", notes=(printable(str(error)),)) from None


def _chosen_key(file: File, keys: list[str]) -> str:
    shown, listed = printable(file.path), printable(", ".join(keys)) or "none"
    if file.key is None and len(keys) == 1:
        return keys[0]
    if file.key in keys:
        return file.key
    near = nearest(file.key or "", keys)
    if file.key is None:
        title = f"`{shown}` holds {len(keys)} arrays"
        help = f"say which: {shown}:{printable(keys[0])}" if keys else ""
    else:
        title = f"`{shown}` holds no array `{printable(file.key)}`"
        help = f"did you mean `{shown}:{printable(near)}`?" if near else ""
    raise Fault("E0726", title, notes=(f"arrays in the file: {listed}",), help=help)


def _usable(array: Array, dtype: DType | None) -> Array:
    """In the machine's byte order; and as bf16 what `numpy.save` has made of a bf16 array (2-byte voids)."""
    if dtype is BF16 and array.dtype.kind == "V" and array.dtype.itemsize == 2 and array.dtype.names is None:
        return array.view(numpy_dtype(BF16))
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return array


# -------------------------------------------------------------------------------------------- generators


def generate(value: Generator, dtype: DType | None, dims: Mapping[str, int], rng: Rng) -> Array:
    """The array that a generator describes; f32 unless the kernel (`dtype`) or the generator says otherwise.

    Raises:
        Fault: E0723, it is not called as it should be; E0707, there is no memory for the array.
    """
    items = list(value.items)
    if items and isinstance(items[-1], str) and items[-1] not in dims and items[-1] in DTYPES:
        dtype = DTYPES[str(items.pop())]
    numbers = [_number(item, value, dims) for item in items]
    kind = numpy_dtype(dtype or F32)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(_MAKERS[value.name](numbers, value, rng)).astype(kind)
    except (OverflowError, ZeroDivisionError, ValueError) as error:
        raise bad_generator(value.text, value.name, printable(str(error))) from None


def _number(item: int | float | bool | str, value: Generator, dims: Mapping[str, int]) -> int | float | bool:
    if not isinstance(item, str):
        return item
    if item in dims:
        return dims[item]
    near = nearest(item, [*dims, *DTYPES])
    reason = f"`{item}` is neither a dim given on this line nor an element type"
    raise bad_generator(value.text, value.name, reason + (f"; did you mean `{near}`?" if near else ""))


def _shape(numbers: list[int | float | bool], value: Generator) -> tuple[int, ...]:
    for extent in numbers:
        if type(extent) is not int or extent < 0:
            reason = f"`{extent}` is not an extent (an integer, 0 or more)"
            raise bad_generator(value.text, value.name, reason)
    return tuple(int(extent) for extent in numbers)


def _full(numbers: list[int | float | bool], value: Generator) -> Array:
    if not numbers:
        raise bad_generator(value.text, value.name, "the value is missing")
    return np.full(_shape(numbers[:-1], value), numbers[-1])


def _arange(numbers: list[int | float | bool], value: Generator) -> Array:
    if not 1 <= len(numbers) <= 3:
        raise bad_generator(value.text, value.name, "one to three numbers are needed")
    return np.arange(*numbers)


def _randint(numbers: list[int | float | bool], value: Generator, rng: Rng) -> Array:
    if len(numbers) < 2 or not all(type(n) is int for n in numbers[:2]):
        raise bad_generator(value.text, value.name, "the first two items are integers, low and high")
    return rng.integers(int(numbers[0]), int(numbers[1]), _shape(numbers[2:], value))


_MAKERS = {
    "randn": lambda numbers, value, rng: rng.standard_normal(_shape(numbers, value)),
    "rand": lambda numbers, value, rng: rng.random(_shape(numbers, value)),
    "zeros": lambda numbers, value, rng: np.zeros(_shape(numbers, value)),
    "ones": lambda numbers, value, rng: np.ones(_shape(numbers, value)),
    "full": lambda numbers, value, rng: _full(numbers, value),
    "arange": lambda numbers, value, rng: _arange(numbers, value),
    "randint": lambda numbers, value, rng: _randint(numbers, value, rng),
}
"""How each of `arguments.GENERATORS` makes its array."""


def random_array(shape: tuple[int, ...], dtype: DType, rng: Rng) -> Array:
    """What an array holds if only its shape is given: standard normal, small integers, or coin tosses."""
    if dtype.is_float:
        return rng.standard_normal(shape).astype(numpy_dtype(dtype))
    return rng.integers(0, 2 if dtype.is_bool else RANDOM_INTEGERS, shape).astype(numpy_dtype(dtype))
