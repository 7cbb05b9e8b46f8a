"""Binding: from the arguments of a launch to its dims, its metas, its grid and the shapes of its outputs.

Launching runs this every time, so a `Binder` prepares everything that depends on the kernel alone:
expressions are lowered to closures, and every tensor axis to a few words of plan. `bind` then only
compares ints and calls closures. Messages are made in `tilelang.semantics.bind_errors`, when something
does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilelang.diagnostics import Sink
from tilelang.dtypes import DTYPES, DType
from tilelang.semantics import bind_errors
from tilelang.semantics.binding import ArgFact, Binding, ScalarFact, TensorFact
from tilelang.semantics.constants import Value
from tilelang.semantics.definitions import Role
from tilelang.semantics.evaluation import Closure, lower
from tilelang.semantics.mistakes import Mistake
from tilelang.semantics.names import Names
from tilelang.semantics.signature import MetaInfo, ParamInfo, Signature, dtype_of, signature
from tilelang.semantics.spaces import Space, check_compiler_meta, spaces
from tilelang.semantics.walking import walk
from tilelang.syntax import ast
from tilelang.syntax.limits import deep_trees

__all__ = [
    "ArgFact",
    "Binder",
    "Binding",
    "MetaInfo",
    "ParamInfo",
    "ScalarFact",
    "Signature",
    "TensorFact",
    "bind",
    "signature",
]

MetaGiven = int | float | bool | str | DType


@dataclass(frozen=True)
class Axis:
    """One axis of one tensor: the dim `dim`, or an extent that `closure` computes (`hidden` if of dims)."""

    number: int
    dim: str | None
    closure: Closure | None
    hidden: str | None


@dataclass(frozen=True)
class TensorPlan:
    param: ParamInfo
    dtype: DType | None
    dtype_meta: str | None
    axes: tuple[Axis, ...]


class Binder:
    """Everything about one kernel that does not change from launch to launch."""

    def __init__(self, names: Names, kernel: ast.KernelDef, sig: Signature | None = None):
        self.signature = sig or signature(names, kernel)
        self._names = names
        with deep_trees():
            self.tensors = tuple(
                self._plan(info, param)
                for info, param in zip(self.signature.params, kernel.params, strict=True)
                if param.dims is not None
            )
            self.grid = tuple(lower(extent, names.meanings, names.consts) for extent in kernel.grid)
        self.scalars = tuple(p for p in self.signature.params if p.dims is None)
        self._params = {p.name: p for p in self.signature.params}
        self._spaces = {s.name: s for s in self.signature.spaces}
        self._fixed = [(s.name, s.fixed) for s in self.signature.spaces if s.fixed is not None]
        self._computed = [s for s in self.signature.spaces if s.fixed is None]
        self.kernel = kernel

    def _plan(self, info: ParamInfo, param: ast.Param) -> TensorPlan:
        axes = tuple(self._axis(info.name, number, extent) for number, extent in enumerate(param.dims or ()))
        return TensorPlan(info, DTYPES.get(info.dtype), dtype_of(info), axes)

    def _axis(self, tensor: str, number: int, extent: ast.Expr) -> Axis:
        if isinstance(extent, ast.Name) and extent.text in self.signature.dims:
            return Axis(number, extent.text, None, None)
        closure = lower(extent, self._names.meanings, self._names.consts)
        uses_dims = any(isinstance(n, ast.Name) and self._role(n) is Role.DIM for n in walk(extent))
        # An extent like `cdiv(N, 64)` is a value of its own in the kernel, under a name no source can have.
        return Axis(number, None, closure, f"{tensor}.{number}" if uses_dims else None)

    def _role(self, name: ast.Name) -> Role | None:
        meaning = self._names.meaning(name)
        return meaning.role if meaning is not None else None

    def bind(
        self,
        args: Mapping[str, ArgFact],
        metas: Mapping[str, MetaGiven],
        sink: Sink,
        dims: Mapping[str, int] | None = None,
    ) -> Binding | None:
        """The binding, or None after reporting what does not fit; `dims` are extents given by name."""
        try:
            return self._bind(args, metas, dims or {})
        except RecursionError:  # expressions may be nested 200 deep, and the caller's own stack is not known
            with deep_trees():
                return self._reporting(args, metas, sink, dims or {})
        except Mistake as wrong:
            self._report(wrong, sink)
            return None

    def _reporting(
        self, args: Mapping[str, ArgFact], metas: Mapping[str, MetaGiven], sink: Sink, dims: Mapping[str, int]
    ) -> Binding | None:
        try:
            return self._bind(args, metas, dims)
        except Mistake as wrong:
            self._report(wrong, sink)
            return None

    def _report(self, wrong: Mistake, sink: Sink) -> None:
        """A mistake without diagnostics is one in a meta's declaration: nobody has reported that yet."""
        _report(wrong, sink)
        if not wrong.diagnostics:
            spaces(self._names, self.kernel, sink)

    # --- the steps, in order -----------------------------------------------------------------------

    def _bind(self, args: Mapping[str, ArgFact], metas: Mapping[str, MetaGiven], dims: Mapping[str, int]) -> Binding:
        self._check_names(args, metas, dims)
        bound: dict[str, Value] = {}
        self._given_dtypes(metas, bound)
        for plan in self.tensors:
            fact = args.get(plan.param.name)
            if fact is not None:
                self._bind_dtype(plan, fact, args, bound)
        extents = self._bind_dims(args, dims)
        self._bind_metas(metas, bound, extents)
        self._check_scalars(args, bound)
        env: dict[str, Value] = {**extents, **bound}
        all_dims, shapes = self._shapes(args, extents, env)
        dtypes = {p.param.name: p.dtype or self._dtype_value(p, bound) for p in self.tensors}
        return Binding(self.signature.name, all_dims, bound, self._grid(env), shapes, dtypes)

    def _check_names(
        self, args: Mapping[str, ArgFact], metas: Mapping[str, MetaGiven], dims: Mapping[str, int]
    ) -> None:
        known = self._params
        if not (args.keys() <= known.keys() and metas.keys() <= self._spaces.keys()):
            raise bind_errors.unknown_arguments(self.signature, args, metas)
        for name in dims:
            if name not in self.signature.dims:
                raise bind_errors.unknown_dim(self.signature, name)
        for param in self.signature.params:
            fact = args.get(param.name)
            if fact is None:
                if param.mode != "out":
                    raise bind_errors.missing_arguments(self.signature, args)
            elif isinstance(fact, TensorFact) is (param.dims is None):
                raise bind_errors.wrong_kind(self.signature, param, fact)

    def _given_dtypes(self, metas: Mapping[str, MetaGiven], bound: dict[str, Value]) -> None:
        for name, given in metas.items():
            space = self._spaces[name]
            if space.is_dtype:
                bound[name] = bind_errors.parse_meta(self.signature, space, given)

    def _bind_dtype(
        self, plan: TensorPlan, fact: ArgFact, args: Mapping[str, ArgFact], bound: dict[str, Value]
    ) -> None:
        if not isinstance(fact, TensorFact):
            return
        if plan.dtype_meta is None:
            if fact.dtype is not plan.dtype and fact.dtype != plan.dtype:
                raise bind_errors.wrong_dtype(self.signature, plan.param, fact, plan.dtype, "")
            return
        before = bound.get(plan.dtype_meta)
        if before is None:
            space = self._spaces[plan.dtype_meta]
            if space.choices and fact.dtype not in space.choices:
                raise bind_errors.dtype_not_a_choice(self.signature, plan.param, fact, space)
            bound[plan.dtype_meta] = fact.dtype
        elif fact.dtype is not before and fact.dtype != before:
            source = bind_errors.dtype_source(self.signature, plan.dtype_meta, args)
            raise bind_errors.wrong_dtype(self.signature, plan.param, fact, before, source)

    def _bind_dims(self, args: Mapping[str, ArgFact], given: Mapping[str, int]) -> dict[str, int]:
        extents: dict[str, int] = dict(given)
        for plan in self.tensors:
            fact = args.get(plan.param.name)
            if not isinstance(fact, TensorFact):
                continue
            shape = fact.shape
            if len(shape) != len(plan.axes):
                raise bind_errors.wrong_rank(self.signature, plan.param, fact)
            for axis in plan.axes:
                if axis.dim is None:
                    continue
                extent = shape[axis.number]
                if extents.setdefault(axis.dim, extent) != extent:
                    raise bind_errors.wrong_extent(self.signature, plan.param, axis.number, args, given)
        for name in self.signature.dims:
            if name not in extents:
                raise bind_errors.unbound_dim(self.signature, name)
            if extents[name] < 0:
                raise bind_errors.negative_dim(self.signature, name, extents[name])
        return extents

    def _bind_metas(self, given: Mapping[str, MetaGiven], bound: dict[str, Value], extents: Mapping[str, int]) -> None:
        """Given values and fixed defaults first; then, in order, those computed from dims and other metas."""
        for name, value in self._fixed:
            bound.setdefault(name, value)
        for name, text in given.items():
            space = self._spaces[name]
            bound[name] = bind_errors.parse_meta(self.signature, space, text)
            check_compiler_meta(name, bound[name], space.span)
        if not self._computed:
            return
        env: dict[str, Value] = {**extents, **bound}
        for space in self._computed:
            if space.name not in given:
                bound[space.name] = env[space.name] = self._default(space, env)

    def _default(self, space: Space, env: Mapping[str, Value]) -> Value:
        value = space.default_value(env)
        if space.choices and value not in space.choices:
            raise bind_errors.default_not_a_choice(self.signature, space, value)
        check_compiler_meta(space.name, value, space.span)
        return value

    def _check_scalars(self, args: Mapping[str, ArgFact], bound: Mapping[str, Value]) -> None:
        for param in self.scalars:
            fact = args[param.name]
            dtype = DTYPES.get(param.dtype) or bound[param.dtype]
            if isinstance(fact, ScalarFact) and isinstance(dtype, DType):
                bind_errors.check_scalar(self.signature, param, fact.value, dtype)

    def _shapes(
        self, args: Mapping[str, ArgFact], extents: dict[str, int], env: Mapping[str, Value]
    ) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
        """All dims with the hidden ones, and every tensor's shape; computed extents are checked."""
        shapes: dict[str, tuple[int, ...]] = {}
        for plan in self.tensors:
            shape: list[int] = []
            fact = args.get(plan.param.name)
            for axis in plan.axes:
                extent = extents[axis.dim] if axis.dim is not None else self._extent(plan, axis, env)
                if axis.dim is None and isinstance(fact, TensorFact) and fact.shape[axis.number] != extent:
                    raise bind_errors.wrong_computed_extent(self.signature, plan.param, axis.number, fact, extent)
                if axis.hidden is not None:
                    extents[axis.hidden] = extent
                shape.append(extent)
            shapes[plan.param.name] = tuple(shape)
        return extents, shapes

    def _extent(self, plan: TensorPlan, axis: Axis, env: Mapping[str, Value]) -> int:
        value = axis.closure(env) if axis.closure is not None else 0
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise bind_errors.bad_extent(self.signature, plan.param, axis.number, value)
        return value

    def _dtype_value(self, plan: TensorPlan, bound: Mapping[str, Value]) -> DType:
        value = bound.get(plan.dtype_meta or "")
        if not isinstance(value, DType):
            raise bind_errors.not_a_dtype(self.signature, plan.param)
        return value

    def _grid(self, env: Mapping[str, Value]) -> tuple[int, ...]:
        grid: list[int] = []
        for place, extent in enumerate(self.grid):
            value = extent(env)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise bind_errors.bad_grid(self.signature, self.kernel.grid[place], place, value)
            grid.append(value)
        return tuple(grid)


def bind(
    sig: Signature,
    args: Mapping[str, ArgFact],
    metas: Mapping[str, MetaGiven],
    sink: Sink,
    dims: Mapping[str, int] | None = None,
) -> Binding | None:
    """Bind once; see `Binder.bind`. Keep a `Binder` to bind a kernel often."""
    try:
        binder = Binder(sig.names, sig.kernel, sig)
    except Mistake as wrong:
        _report(wrong, sink)
        return None
    return binder.bind(args, metas, sink, dims)


def _report(wrong: Mistake, sink: Sink) -> None:
    for diagnostic in wrong.diagnostics:
        sink.report(diagnostic)
