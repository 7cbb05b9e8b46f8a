"""From the words of `tilec run` to a kernel's arguments: what is left out is filled in."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tilelang.cli.arguments import File, Generator, Number, Scalar, Shape, Value
from tilelang.cli.arrays import generate, load, random_array
from tilelang.cli.faults import USAGE, Fault
from tilelang.cli.kernels import Header, Setting
from tilelang.dtypes import DTYPES, F32, DType
from tilelang.ir.host_types import from_numpy, numpy_dtype
from tilelang.near import nearest
from tilelang.syntax import ast

ANY_EXTENT = 64
"""The extent that a suggested command line gives to a dim."""


@dataclass
class Inputs:
    """Arguments in the making. `made_up` lists the tensors that were filled at random."""

    header: Header
    settings: dict[str, Setting]
    seed: int
    dims: dict[str, int] = field(default_factory=dict)
    arguments: dict[str, np.ndarray | Scalar] = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)

    def rng(self, name: str) -> np.random.Generator:
        """Random numbers for one parameter: the same whatever else is on the command line."""
        return np.random.default_rng([self.seed, list(self.header.params).index(name)])


def make_inputs(
    header: Header, values: Mapping[str, Value], settings: Mapping[str, Setting], seed: int
) -> Inputs:
    """The arguments of a run; dims that were given are in `dims`, to be passed on and checked there.

    Raises:
        Fault: E0727, a name is unknown; E0733, a value is of the wrong sort; E0728, something is missing; and
            the faults of `tilelang.cli.arrays`.
    """
    inputs = Inputs(header, dict(settings), seed)
    _check_names(header, values)
    for name in header.dims:
        if name in values:
            inputs.dims[name] = _extent(name, values[name])
    known = dict(inputs.dims)
    for name, param in header.params.items():
        if name in values:
            inputs.arguments[name] = _argument(inputs, param, values[name], known)
            _learn(inputs, param, known)
    missing = [name for name in header.params if name not in values and not _fill(inputs, name, known)]
    if missing:
        raise _missing(header, missing, known)
    return inputs


def _check_names(header: Header, values: Mapping[str, Value]) -> None:
    takes = [*header.params, *header.dims]
    for name, value in values.items():
        if name in takes:
            continue
        near = nearest(name, [*takes, *header.metas])
        help = f"did you mean `{near}`?" if near else ""
        if name in header.metas:
            shown = value.value if isinstance(value, Number) else "..."
            help = f"`{name}` is a meta; it is set with --set {name}={shown}"
        raise Fault(
            "E0727", f"`{header.name}` has no parameter or dim `{name}`",
            notes=(f"signature: {header.signature()}",), help=help, status=USAGE,
        )  # fmt: skip


def _extent(name: str, value: Value) -> int:
    if isinstance(value, Number) and type(value.value) is int and value.value >= 0:
        return value.value
    title = f"the dim `{name}` is a whole number, 0 or more"
    raise Fault("E0733", title, help=f"write {name}=1000", status=USAGE)


def _argument(
    inputs: Inputs, param: ast.Param, value: Value, known: Mapping[str, int]
) -> np.ndarray | Scalar:
    """The argument that a value on the command line stands for."""
    name, dtype = param.name.text, inputs.header.element_type(param, inputs.settings)
    if param.dims is None:
        if isinstance(value, Number):
            return value.value
        example = f"{name}={'0.5' if dtype is None or dtype.is_float else '1'}"
        raise Fault("E0733", f"`{name}` is a single number", help=f"write {example}", status=USAGE)
    match value:
        case File():
            return load(value, dtype)
        case Generator():
            return generate(value, dtype, known, inputs.rng(name))
        case Shape(extents=extents) if param.mode == "out":
            return np.zeros(extents, numpy_dtype(dtype or F32))
        case Shape(extents=extents):
            inputs.made_up.append(name)
            return random_array(extents, dtype or F32, inputs.rng(name))
    axes = ", ".join(["3"] * len(param.dims))
    raise Fault(
        "E0733", f"`{name}` is a tensor, not a number",
        help=f"write {name}=full({axes}, {value.value}) for one filled with this number", status=USAGE,
    )  # fmt: skip


def _learn(inputs: Inputs, param: ast.Param, known: dict[str, int]) -> None:
    """Note the dims and the element type that an array settles; contradictions are for the launch to find."""
    array = inputs.arguments[param.name.text]
    if not isinstance(array, np.ndarray):
        return
    for expr, extent in zip(param.dims or (), array.shape, strict=False):
        if isinstance(expr, ast.Name) and expr.text in inputs.header.dims:
            known.setdefault(expr.text, extent)
    dtype = from_numpy(array.dtype)
    if param.dtype.text in inputs.header.metas and dtype is not None:
        inputs.settings.setdefault(param.dtype.text, dtype.name)


def _fill(inputs: Inputs, name: str, known: Mapping[str, int]) -> bool:
    """Make up a tensor that was left out; True if there is nothing more to do for it."""
    param = inputs.header.params[name]
    if param.dims is None:
        return False
    if param.mode == "out":
        return True  # allocated by the launch
    shape = inputs.header.shape(param, known, inputs.settings)
    if shape is None:
        return False
    dtype = inputs.header.element_type(param, inputs.settings) or F32
    inputs.arguments[name] = random_array(shape, dtype, inputs.rng(name))
    inputs.made_up.append(name)
    return True


def _missing(header: Header, missing: list[str], known: Mapping[str, int]) -> Fault:
    """The message for arguments that were left out, with words that would do."""
    listed = " and ".join(f"`{name}`" for name in missing)
    words = [f"{name}={ANY_EXTENT}" for name in _dims_needed(header, missing) if name not in known]
    for name in missing:
        param = header.params[name]
        if param.dims is None:
            words.append(f"{name}={_any_number(DTYPES.get(param.dtype.text))}")
    return Fault(
        "E0728", f"{listed} {'is' if len(missing) == 1 else 'are'} missing",
        notes=(f"signature: {header.signature()}",),
        help=f"add, for instance: {shlex.join(words)}" + _why(header, missing), status=USAGE,
    )  # fmt: skip


def _any_number(dtype: DType | None) -> str:
    if dtype is None or dtype.is_float:
        return "1.0"
    return "true" if dtype.is_bool else "1"


def _dims_needed(header: Header, missing: list[str]) -> list[str]:
    """The dims that the headers of the missing tensors name, in order; all of them if it is not so plain."""
    extents = [extent for name in missing for extent in header.params[name].dims or ()]
    named = {extent.text for extent in extents if isinstance(extent, ast.Name)}
    plain = all(isinstance(extent, (ast.Name, ast.IntLit)) for extent in extents)
    return [dim for dim in header.dims if dim in named or not plain]


def _why(header: Header, missing: list[str]) -> str:
    tensors = [name for name in missing if header.params[name].dims is not None]
    if not tensors:
        return ""
    example = f"{tensors[0]}=in.npy"
    return f"\n(arrays are then filled at random; {example} takes one from a file)"
