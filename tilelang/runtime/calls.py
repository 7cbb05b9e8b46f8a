"""Which argument is for which parameter: the names and numbers of a call, before any value is looked at.

Positional arguments fill all parameters in order or, when there are no more of them than that, only those that are
not `out`. Keywords name parameters, metas and dims. Outputs may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np

from tilelang.diagnostics import Diagnostic, Sink, Span
from tilelang.dtypes import DType
from tilelang.ir.host_types import from_numpy
from tilelang.runtime.arrays import LONGEST_INTEGER, describe
from tilelang.semantics.signature import ParamInfo, Signature

Setting = int | float | bool | str | DType


@dataclass(frozen=True)
class Call:
    """A call sorted out: `values` by parameter name, without the outputs left out; `metas` and `dims` as given.

    A name that is none of the kernel's stands among the metas; binding reports it.
    """

    values: Mapping[str, object]
    metas: Mapping[str, Setting] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)


def complain(
    signature: Signature,
    sink: Sink,
    code: str,
    title: str,
    span: Span | None = None,
    *,
    label: str = "",
    notes: tuple[str, ...] = (),
    help: str = "",
) -> None:
    """Report a mistake in a call. Every message shows the signature; without a span the kernel's name is marked."""
    notes = (*notes, f"the signature is {signature.show()}")
    sink.report(Diagnostic(code, title, span or signature.kernel.name.span, label, (), notes, help))


def sort_out(signature: Signature, args: Sequence[object], keywords: Mapping[str, object], sink: Sink) -> Call:
    """Give each argument its parameter. Reports too many, those given twice, and settings that cannot be one."""
    values = _positional(signature, args, sink)
    if not keywords:
        return Call(values)
    metas: dict[str, Setting] = {}
    dims: dict[str, int] = {}
    params = {p.name: p for p in signature.params}
    for name, value in keywords.items():
        if name in values:
            complain(
                signature,
                sink,
                "E0503",
                f"`{name}` is given twice",
                params[name].span,
                label="once by its position, once by its name",
                help=f"leave out `{name}=`",
            )
        elif name in params:
            if not (value is None and params[name].mode == "out"):  # `y=None` leaves an output out
                values[name] = value
        elif name in signature.dims:
            _note_dim(signature, name, value, dims, sink)
        else:
            _note_meta(signature, name, value, metas, sink)
    return Call(values, metas, dims)


def given_names(signature: Signature, count: int) -> tuple[str, ...]:
    """The parameters that `count` positional arguments are for."""
    inputs = _inputs(signature)
    return tuple(p.name for p in (signature.params if count > len(inputs) else inputs)[:count])


def _positional(signature: Signature, args: Sequence[object], sink: Sink) -> dict[str, object]:
    params, inputs = signature.params, _inputs(signature)
    if len(args) > len(params):
        also = f", or {_example(signature, params)} with arrays for the outputs" if len(inputs) < len(params) else ""
        plural = "" if len(params) == 1 else "s"
        complain(
            signature,
            sink,
            "E0502",
            f"`{signature.name}` has {len(params)} parameter{plural}, and {len(args)} arguments are given",
            notes=("metas and dims are given by name",),
            help=f"write {_example(signature, inputs)}{also}",
        )
    given = zip(given_names(signature, len(args)), args, strict=False)
    modes = {p.name: p.mode for p in params}
    return {name: value for name, value in given if not (value is None and modes[name] == "out")}


def _inputs(signature: Signature) -> tuple[ParamInfo, ...]:
    return tuple(p for p in signature.params if p.mode != "out")


def _example(signature: Signature, params: Sequence[ParamInfo]) -> str:
    return f"`{signature.name}({', '.join(p.name for p in params)})`"


def _note_dim(signature: Signature, name: str, value: object, dims: dict[str, int], sink: Sink) -> None:
    setting = as_setting(value)
    if type(setting) is int:
        dims[name] = setting
        return
    complain(
        signature,
        sink,
        "E0504",
        f"the dim `{name}` cannot be {describe(value)}",
        label="",
        help=f"dims are whole numbers: `{name}=64`",
    )


def _note_meta(signature: Signature, name: str, value: object, metas: dict[str, Setting], sink: Sink) -> None:
    setting = as_setting(value)
    if setting is not None:
        metas[name] = setting
        return
    complain(
        signature,
        sink,
        "E0504",
        f"the meta `{name}` cannot be {describe(value)}",
        help=f'metas are numbers, bools and element types: `{name}=64`, `{name}="f16"`',
    )


def as_setting(value: object) -> Setting | None:
    """The value of a meta from what a caller may pass: a number, a bool, an element type in any spelling.

    None for anything else, and for integers that would take pages to print.
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, Integral):
        return int(value) if int(value).bit_length() <= LONGEST_INTEGER else None
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, (str, DType)):
        return value
    try:
        return from_numpy(np.dtype(value)) if isinstance(value, (type, np.dtype)) else None  # type: ignore[arg-type]
    except TypeError:  # a class that is no NumPy type
        return None
