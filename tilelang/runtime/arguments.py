"""From what a caller passed to what a kernel can be launched with: arrays checked, numbers made plain.

The checks here are about the values themselves. Whether element types and extents fit the kernel's header is
decided by binding (`tilelang.semantics.specialize`); whether outputs overlap, at the end, when all arrays are known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilelang.diagnostics import Sink
from tilelang.dtypes import DTYPES
from tilelang.ir.host_types import numpy_dtype
from tilelang.runtime.arrays import (
    LONGEST_INTEGER,
    WRITEABLE,
    Argument,
    Array,
    DeviceArray,
    HostArray,
    Number,
    Refused,
    as_array,
    describe,
    offers,
)
from tilelang.runtime.calls import complain
from tilelang.runtime.devices import Device
from tilelang.runtime.overlap import meets_itself, share_an_element
from tilelang.semantics.binding import Binding
from tilelang.semantics.signature import ParamInfo, Signature


def convert(signature: Signature, values: Mapping[str, object], sink: Sink) -> dict[str, Argument]:
    """Every value as an array or a number, in the order of the parameters; reports all that cannot be."""
    arguments: dict[str, Argument] = {}
    for param in signature.params:
        if param.name not in values:
            continue
        try:
            if param.dims is None:
                arguments[param.name] = as_number(values[param.name])
                continue
            arguments[param.name] = array = as_array(values[param.name])
        except Refused as refused:
            _complain_refused(signature, param, refused, sink)
        else:
            if param.mode != "in" and not _is_writeable(array):
                _complain_read_only(signature, param, array, sink)
    return arguments


def _complain_refused(signature: Signature, param: ParamInfo, refused: Refused, sink: Sink) -> None:
    kind = f"np.{numpy_dtype(DTYPES[param.dtype]).name}" if param.dtype in DTYPES else "..."
    help = refused.help.replace("{x}", param.name).replace("{dtype}", kind.replace("np.bfloat16", "ml_dtypes.bfloat16"))
    title = f"`{param.name}` cannot be {refused.given}"
    complain(signature, sink, refused.code, title, param.span, label=refused.why, help=help)


def as_number(value: object) -> Number:
    """A Python number, from one or from NumPy's scalars and rank-0 arrays. Raises Refused."""
    try:
        number = value if type(value) in (int, float, bool) else _converted(value)
    except Refused:
        raise
    except Exception as error:  # the object is a stranger's: whatever its methods raise is the caller's to see
        raise Refused("E0517", describe(value), f"reading it failed: {error}", "pass a plain number") from error
    if type(number) is int and number.bit_length() > LONGEST_INTEGER:
        raise Refused("E0517", describe(number), "no element type holds it", "pass a smaller number")
    return number  # type: ignore[return-value]


def _converted(value: object) -> Number:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) or type(value).__name__ == "bfloat16":
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, (complex, np.complexfloating)):
        raise Refused("E0517", f"the complex number {value}", "a real number is needed", "write `{x}.real`")
    if offers(value, "item") and getattr(value, "shape", None) in ((), (1,)):
        raise Refused("E0517", describe(value), "a plain number is needed", "write `{x}.item()`")
    is_array = isinstance(value, np.ndarray)
    help = "for an array, give the parameter axes: `{x}: f32[N]`" if is_array else "pass a number, such as `{x}=1`"
    raise Refused("E0517", describe(value), "a number is needed", help)


def allocate(
    signature: Signature, binding: Binding, arguments: Mapping[str, Argument], sink: Sink
) -> dict[str, HostArray]:
    """Arrays for the outputs that were left out.

    They hold zeros, so that a kernel that does not write all of its output gives the same result every time.
    """
    made: dict[str, HostArray] = {}
    for param in signature.params:
        if param.name in arguments:
            continue
        shape, dtype = binding.shapes[param.name], binding.dtypes[param.name]
        try:
            made[param.name] = np.zeros(shape, numpy_dtype(dtype))
        except (MemoryError, ValueError):  # ValueError: more bytes than an address can count
            complain(
                signature,
                sink,
                "E0512",
                f"there is no memory for the output `{param.name}`",
                param.span,
                label=f"{dtype} of shape {shape}",
                help="use smaller arrays",
            )
    return made


def check_places(signature: Signature, arguments: Mapping[str, Argument], device: Device, sink: Sink) -> None:
    """Report outputs that overlap, and arrays that the device cannot reach."""
    arrays = {name: a for name, a in arguments.items() if isinstance(a, (np.ndarray, DeviceArray))}
    _check_overlaps(signature, arrays, sink)
    for name, array in arrays.items():
        if isinstance(array, DeviceArray) and array.device != device.gpu:
            complain(
                signature,
                sink,
                "E0522",
                f"the device `{device}` cannot reach `{name}`",
                signature.param(name).span,
                label=f"given {describe(array)}",
                help=f"use the device `cuda:{array.device}`, or copy the array to the host",
            )


def _check_overlaps(signature: Signature, arrays: Mapping[str, Array], sink: Sink) -> None:
    """Report every output that meets itself or another argument."""
    for index, param in enumerate(signature.params):
        if param.mode == "in" or param.name not in arrays:
            continue
        array = arrays[param.name]
        if meets_itself(array):
            complain(
                signature,
                sink,
                "E0510",
                f"elements of the output `{param.name}` share memory",
                param.span,
                label=f"given {describe(array)} with strides {array.strides}",
                notes=("programs run in any order, so which of two writes would stay is not decided",),
                help=f"pass an array whose elements lie apart: `{param.name}.copy()`",
            )
        # Each pair once: an earlier output has looked at this one's side already.
        for other in (*signature.params[:index], *(p for p in signature.params[index + 1 :] if p.mode == "in")):
            if other.name in arrays and share_an_element(array, arrays[other.name]):
                _complain_shared(signature, param, other, sink)


def _complain_shared(signature: Signature, output: ParamInfo, other: ParamInfo, sink: Sink) -> None:
    in_place = "" if other.mode != "in" else f", or declare one parameter `inout {output.name}` to work in place"
    complain(
        signature,
        sink,
        "E0511",
        f"the output `{output.name}` shares memory with `{other.name}`",
        output.span,
        label=f"overlaps `{other.name}`",
        notes=("programs run in any order, so one could overwrite what another has yet to read",),
        help=f"pass an array of its own{in_place}",
    )


def _is_writeable(array: Array) -> bool:
    return not array.readonly if isinstance(array, DeviceArray) else bool(array.flags.num & WRITEABLE)


def _complain_read_only(signature: Signature, param: ParamInfo, array: Array, sink: Sink) -> None:
    remedy = f"pass `{param.name}.copy()`" if param.mode == "inout" else f"leave `{param.name}` out: it is allocated"
    complain(
        signature,
        sink,
        "E0509",
        f"the kernel writes `{param.name}`, and the array is read-only",
        param.span,
        label=f"given {describe(array)}",
        help=remedy,
    )
