"""What can be wrong with the arguments of a launch, in words. Every message ends with the signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilelang.dtypes import DTYPES, DType
from tilelang.near import nearest
from tilelang.semantics.binding import ArgFact, ScalarFact, TensorFact
from tilelang.semantics.constants import Value
from tilelang.semantics.literals import article, show_number
from tilelang.semantics.mistakes import Mistake, mistake
from tilelang.semantics.rounding import holds_int, round_float
from tilelang.semantics.signature import ParamInfo, Signature
from tilelang.semantics.spaces import Space, show
from tilelang.syntax import ast


def _note(sig: Signature) -> str:
    return f"the signature is {sig.show()}"


def _dims(shape: Iterable[int]) -> str:
    return f"[{', '.join(map(str, shape))}]"


# --- names -----------------------------------------------------------------------------------------


def unknown_arguments(sig: Signature, args: Iterable[str], metas: Iterable[str]) -> Mistake:
    params, spaces = [p.name for p in sig.params], [m.name for m in sig.metas]
    known = [*params, *spaces, *sig.dims]
    found: list[Mistake] = []
    for given, allowed, what in ((args, params, "parameter"), (metas, spaces, "meta")):
        for name in given:
            if name not in allowed:
                near = nearest(name, known)
                found.append(
                    mistake(
                        "E0416",
                        f"`{sig.name}` has no {what} `{name}`",
                        sig.kernel.name.span,
                        notes=(_note(sig),),
                        help=f"did you mean `{near}`?" if near else "",
                    )
                )
    return Mistake(d for m in found for d in m.diagnostics)


def unknown_dim(sig: Signature, name: str) -> Mistake:
    near = nearest(name, [*sig.dims, *(m.name for m in sig.metas)])
    return mistake(
        "E0416",
        f"`{sig.name}` has no dim `{name}`",
        sig.kernel.name.span,
        notes=(_note(sig),),
        help=f"did you mean `{near}`?" if near else "",
    )


def missing_arguments(sig: Signature, args: Mapping[str, ArgFact]) -> Mistake:
    missing = [p for p in sig.params if p.mode != "out" and p.name not in args]
    return Mistake(
        d
        for p in missing
        for d in mistake(
            "E0416",
            f"the argument `{p.name}` is missing",
            p.span,
            label=f"`{p.show()}` must be passed",
            notes=(_note(sig), "only `out` tensors may be left out: they are allocated"),
        ).diagnostics
    )


def wrong_kind(sig: Signature, param: ParamInfo, fact: ArgFact) -> Mistake:
    if isinstance(fact, TensorFact):
        given = f"an array of {fact.dtype}{_dims(fact.shape)} is given for the scalar `{param.name}`"
    else:
        given = f"the number {show_number(fact.value)} is given for the tensor `{param.name}`"
    return mistake("E0411", given, param.span, label=f"`{param.show()}`", notes=(_note(sig),))


# --- element types ---------------------------------------------------------------------------------


def wrong_dtype(sig: Signature, param: ParamInfo, fact: TensorFact, expected: Value | None, source: str) -> Mistake:
    name, wanted = param.name, show(expected) if expected is not None else "?"
    if param.dtype in DTYPES:
        title = f"`{name}` is {fact.dtype}, but the kernel takes {wanted}"
    else:
        title = f"`{name}` is {fact.dtype}, but {param.dtype} is {wanted}{source}"
    return mistake(
        "E0411", title, param.span, notes=(_note(sig),), help=f"convert the array to {wanted} before the call"
    )


def dtype_source(sig: Signature, meta: str, args: Mapping[str, ArgFact]) -> str:
    """Where a dtype meta got its value: " (from `a`)"."""
    for param in sig.params:
        if param.dtype == meta and isinstance(args.get(param.name), TensorFact):
            return f" (from `{param.name}`)"
    return ""


def dtype_not_a_choice(sig: Signature, param: ParamInfo, fact: TensorFact, space: Space) -> Mistake:
    choices = ", ".join(map(show, space.choices))
    return mistake(
        "E0411",
        f"`{param.name}` is {fact.dtype}, and {space.name} is one of {choices}",
        param.span,
        notes=(_note(sig),),
        help=f"convert the array before the call, or add {fact.dtype} to the choices",
    )


def not_a_dtype(sig: Signature, param: ParamInfo) -> Mistake:
    return mistake("E0411", f"`{param.dtype}` is no element type", param.span, notes=(_note(sig),))


# --- dims ------------------------------------------------------------------------------------------


def wrong_rank(sig: Signature, param: ParamInfo, fact: TensorFact) -> Mistake:
    rank = len(param.dims or ())
    return mistake(
        "E0412",
        f"`{param.name}` has shape {_dims(fact.shape)}, but the kernel takes {rank} {'axis' if rank == 1 else 'axes'}",
        param.span,
        label=f"`{param.show()}`",
        notes=(_note(sig),),
    )


def wrong_extent(
    sig: Signature, param: ParamInfo, axis: int, args: Mapping[str, ArgFact], given: Mapping[str, int]
) -> Mistake:
    """A dim that appears again with another value."""
    dim = (param.dims or ())[axis]
    fact = args[param.name]
    found = fact.shape[axis] if isinstance(fact, TensorFact) else 0
    value, source = _first_value(sig, dim, args, given)
    return mistake(
        "E0410",
        f"{param.name}.shape[{axis}] is {found}, but {dim} is {value} ({source})",
        param.span,
        label=f"`{param.show()}`",
        notes=(_note(sig),),
        help=_transpose_help(sig, param, fact, args, given),
    )


def _first_value(sig: Signature, dim: str, args: Mapping[str, ArgFact], given: Mapping[str, int]) -> tuple[int, str]:
    if dim in given:
        return given[dim], "as given"
    for param in sig.params:
        fact = args.get(param.name)
        for axis, name in enumerate(param.dims or ()):
            if name == dim and isinstance(fact, TensorFact):
                return fact.shape[axis], f"from {param.name}.shape[{axis}]"
    return 0, "unknown"


def _transpose_help(
    sig: Signature, param: ParamInfo, fact: ArgFact, args: Mapping[str, ArgFact], given: Mapping[str, int]
) -> str:
    """Offers the transposed array if all its dims would then agree."""
    if not isinstance(fact, TensorFact) or len(fact.shape) != 2:
        return ""
    others = {name: f for name, f in args.items() if name != param.name}
    for dim, extent in zip(param.dims or (), fact.shape[::-1], strict=True):
        value, source = _first_value(sig, dim, others, given)
        if source != "unknown" and value != extent:
            return ""
    return f"the transposed array would fit: `{param.name}.T`"


def wrong_computed_extent(sig: Signature, param: ParamInfo, axis: int, fact: TensorFact, expected: int) -> Mistake:
    written = (param.dims or ())[axis]
    value = f"{written} is {expected}" if written != str(expected) else f"the kernel takes {expected}"
    return mistake(
        "E0410",
        f"{param.name}.shape[{axis}] is {fact.shape[axis]}, but {value}",
        param.span,
        label=f"`{param.show()}`",
        notes=(_note(sig),),
    )


def unbound_dim(sig: Signature, name: str) -> Mistake:
    params = [p for p in sig.params if name in (p.dims or ())]
    return mistake(
        "E0414",
        f"{name} is not known",
        params[0].span if params else sig.kernel.name.span,
        label="left out, so its extents must come from elsewhere",
        notes=(_note(sig),),
        help=f"give `{name}=...`" + (f", or pass `{params[0].name}`" if params else ""),
    )


def negative_dim(sig: Signature, name: str, value: int) -> Mistake:
    return mistake(
        "E0414",
        f"{name} cannot be {value}",
        sig.kernel.name.span,
        notes=(_note(sig),),
        help="extents start at 0",
    )


def bad_extent(sig: Signature, param: ParamInfo, axis: int, value: Value) -> Mistake:
    return mistake(
        "E0410",
        f"the extent {(param.dims or ())[axis]} of `{param.name}` cannot be {show(value)}",
        param.span,
        notes=(_note(sig),),
        help="extents are ints from 0 on",
    )


def bad_grid(sig: Signature, expr: ast.Expr, axis: int, value: Value) -> Mistake:
    return mistake(
        "E0408",
        f"the grid cannot have {show(value)} programs along axis {axis}",
        expr.span,
        notes=(_note(sig),),
        help="grid extents are ints from 0 on",
    )


# --- metas and scalars -----------------------------------------------------------------------------


def parse_meta(sig: Signature, space: Space, given: int | float | bool | str | DType) -> Value:
    """The value of a meta, given as a number, a type, or its text; E0413 if it is no choice."""
    value: Value | None = _from_text(given) if isinstance(given, str) else given
    if isinstance(value, int) and not isinstance(value, bool) and space.choices and isinstance(space.choices[0], float):
        value = float(value)
    if value is None or (isinstance(value, DType) is not space.is_dtype and space.choices):
        raise _not_a_choice(sig, space, str(given))
    if space.choices and not any(value == c and isinstance(value, bool) is isinstance(c, bool) for c in space.choices):
        raise _not_a_choice(sig, space, show(value))
    if not space.choices and isinstance(value, DType):
        raise _not_a_choice(sig, space, show(value))
    return value


def _from_text(text: str) -> Value | None:
    if text in DTYPES:
        return DTYPES[text]
    if text in ("true", "false"):
        return text == "true"
    for convert in (lambda t: int(t, 0), float):
        try:
            return convert(text)  # type: ignore[no-any-return, operator]
        except ValueError:
            continue
    return None


def _not_a_choice(sig: Signature, space: Space, given: str) -> Mistake:
    if space.choices:
        helps = f"`{space.name}` is one of {', '.join(map(show, space.choices))}"
    else:
        helps = f"`{space.name}` is a number"
    return mistake("E0413", f"`{space.name}` cannot be {given}", space.span, notes=(_note(sig),), help=helps)


def default_not_a_choice(sig: Signature, space: Space, value: Value) -> Mistake:
    return mistake(
        "E0413",
        f"the default of `{space.name}` is {show(value)} here, which is none of its choices",
        space.span,
        notes=(f"the choices are {', '.join(map(show, space.choices))}", _note(sig)),
        help=f"give one: `{space.name}={show(space.choices[0])}`",
    )


def check_scalar(sig: Signature, param: ParamInfo, value: int | float | bool, dtype: DType) -> None:
    """E0415 unless the number fits the parameter: ints exactly, floats rounded, a bool for bool only."""
    if isinstance(value, bool):
        fits = dtype.is_bool
    elif isinstance(value, int):
        fits = (dtype.is_float and abs(value) <= 1 << 1023) or holds_int(dtype, value)
    else:
        fits = dtype.is_float
    if fits and not isinstance(value, bool) and dtype.is_float and abs(value) != float("inf"):
        fits = abs(round_float(float(value), dtype)) != float("inf")
    if not fits:
        limits = (
            f"{dtype} holds {dtype.min_int} to {dtype.max_int}"
            if dtype.is_integer
            else f"`{param.name}` is {article(str(dtype))}"
        )
        raise mistake(
            "E0415",
            f"the argument {show_number(value)} does not fit `{param.show()}`",
            param.span,
            notes=(limits, _note(sig)),
        )


__all__ = [
    "ScalarFact",
    "bad_extent",
    "bad_grid",
    "check_scalar",
    "default_not_a_choice",
    "dtype_not_a_choice",
    "dtype_source",
    "missing_arguments",
    "negative_dim",
    "not_a_dtype",
    "parse_meta",
    "unbound_dim",
    "unknown_arguments",
    "unknown_dim",
    "wrong_computed_extent",
    "wrong_dtype",
    "wrong_extent",
    "wrong_kind",
    "wrong_rank",
]
