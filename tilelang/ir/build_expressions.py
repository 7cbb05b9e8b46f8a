"""From typed expressions to tile ops: the half of the builder that has no control flow.

An expression is built in post-order, operands from left to right, with a stack of our own: `a + b + ...` is a
tree as deep as the sum is long, and must not need a deep Python stack.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from tilelang.diagnostics import InternalError
from tilelang.dtypes import accumulator
from tilelang.ir.access import Access, access_op
from tilelang.ir.core import Value
from tilelang.ir.emit import Emitter
from tilelang.semantics import typed
from tilelang.semantics.types import TileType

Inline = Callable[[typed.Inlined, list[Value]], list[Value]]


@dataclass
class State:
    """Where the builder stands: the op list it appends to, and what every name means at this point.

    `variables` maps a variable's uid to the SSA value it has here; the builder swaps it around branches and
    loops. `inline` builds the body of a `fn` and gives its results.
    """

    out: Emitter
    tensors: dict[str, Value]
    dims: dict[str, Value]
    variables: dict[int, Value]
    inline: Inline = field(init=False)


def build_expression(state: State, expression: typed.Typed, hint: str | None = None) -> Value:
    """Emit the ops that compute `expression`; `hint` names the last of them."""
    pending: list[tuple[typed.Typed, bool]] = [(expression, False)]
    values: list[Value] = []
    while pending:
        node, operands_done = pending.pop()
        operands = operands_of(node)
        if not operands_done and operands:
            pending.append((node, True))
            pending.extend((operand, False) for operand in reversed(operands))
            continue
        start = len(values) - len(operands)
        arguments = values[start:]
        del values[start:]
        with state.out.at(node.span):
            values.append(_build_node(state, node, arguments, hint if node is expression else None))
    return values[0]


def operands_of(node: typed.Typed) -> tuple[typed.Typed, ...]:
    """The expressions that `node` is computed from, in the order of evaluation."""
    match node:
        case typed.Elementwise() | typed.Cat():
            return node.operands
        case typed.Cast() | typed.Reshape() | typed.Permute() | typed.Broadcast():
            return (node.operand,)
        case typed.Reduce() | typed.Scan():
            return (node.operand,)
        case typed.IndexRange():
            return (node.start,)
        case typed.Dot():
            return _present(node.a, node.b, node.acc)
        case typed.Load():
            return _present(*node.indices, node.mask, node.other)
        case typed.Atomic():
            return _present(*node.indices, node.value, node.expected, node.mask)
        case typed.Inlined():
            return node.args
        case _:
            return ()


def _present(*nodes: typed.Typed | None) -> tuple[typed.Typed, ...]:
    return tuple(node for node in nodes if node is not None)


def _build_node(state: State, node: typed.Typed, args: list[Value], hint: str | None) -> Value:
    """The ops of one node, whose operands have been built as `args`."""
    out, type = state.out, node.type
    match node:
        case typed.Const():
            return out.const(node.value, type, hint)
        case typed.Dim():
            return state.dims[node.name]
        case typed.Read():
            return state.variables[node.var.uid]
        case typed.Elementwise():
            return _elementwise(out, node, args, hint)
        case typed.Cast():
            return out.cast(args[0], type.dtype, hint)
        case typed.IndexRange():
            return _index_range(out, node, args[0], hint)
        case typed.Reshape():
            return out.reshape(args[0], extents(type), hint)
        case typed.Permute():
            return out.op("permute", *args, hint=hint, axes=node.axes)
        case typed.Broadcast():
            return out.broadcast(args[0], extents(type), hint)
        case typed.Cat():
            return out.op("cat", *args, hint=hint, axis=node.axis)
        case typed.Reduce():
            return _reduce(out, node, args[0], hint)
        case typed.Scan():
            return out.op("scan", *args, hint=hint, kind=node.kind, axis=node.axis, reverse=node.reverse)
        case typed.Dot():
            acc = args[2] if node.acc is not None else out.const(0, type)
            return out.op("dot", args[0], args[1], acc, hint=hint, tf32=node.tf32)
        case typed.ProgramId():
            return out.op("program_id", hint=hint, axis=node.axis)
        case typed.NumPrograms():
            return out.op("num_programs", hint=hint, axis=node.axis)
        case typed.Load():
            return _load(state, node, args, hint)
        case typed.Atomic():
            return _atomic(state, node, args, hint)
        case typed.Inlined():
            return state.inline(node, args)[0]
    raise InternalError("build", f"no rule for {node!r}")


# --- computing -----------------------------------------------------------------------------------


def extents(type: TileType) -> tuple[int, ...]:
    """The shape of a type of a specialised kernel: all numbers."""
    return tuple(int(extent) for extent in type.shape)  # type: ignore[arg-type]


def _elementwise(out: Emitter, node: typed.Elementwise, args: list[Value], hint: str | None) -> Value:
    """Operands of one shape; only the seed of `rand*` stays a scalar."""
    seeded = node.op in ("rand", "randn", "randint")
    operands = [value if seeded and position == 0 else out.broadcast(value, extents(node.type))
                for position, value in enumerate(args)]
    if node.approx:
        return out.op(node.op, *operands, hint=hint, approx=True)
    return out.op(node.op, *operands, hint=hint)


def _index_range(out: Emitter, node: typed.IndexRange, start: Value, hint: str | None) -> Value:
    """`start +: N` is `start + (0, 1, ..., N-1)`."""
    (extent,) = extents(node.type)
    if isinstance(node.start, typed.Const) and node.start.value == 0:
        return out.iota(extent, node.type.dtype, hint)
    return out.op("add", out.broadcast(start, (extent,)), out.iota(extent, node.type.dtype), hint=hint)


def _reduce(out: Emitter, node: typed.Reduce, tile: Value, hint: str | None) -> Value:
    """A `reduce` removes its axes: `keepdims` puts extents of 1 back, `argmax` over all flattens first."""
    axes = node.axes
    if node.kind in ("argmax", "argmin") and len(axes) != 1:
        tile, axes = out.reshape(tile, (math.prod(tile.shape),)), (0,)
    if not axes:
        return _reduce_scalar(out, node, tile, hint)
    result = out.op("reduce", tile, hint=hint, kind=node.kind, axes=axes)
    return out.reshape(result, extents(node.type), hint)


def _reduce_scalar(out: Emitter, node: typed.Reduce, value: Value, hint: str | None) -> Value:
    """The sum, maximum, ... of one number is that number, in the type of the sum."""
    return out.cast(value, accumulator(value.dtype) if node.kind in ("sum", "prod") else value.dtype, hint)


# --- memory --------------------------------------------------------------------------------------


def accessed_shape(indices: list[Value], pointwise: bool) -> tuple[int, ...]:
    """The shape of `tensor[indices]`: the outer product of the indexes, or, pointwise, their common shape."""
    if not pointwise:
        return tuple(extent for index in indices for extent in index.shape)
    shape: list[int] = [1] * max((len(index.shape) for index in indices), default=0)
    for index in indices:
        for axis, extent in enumerate(reversed(index.shape), start=1):
            shape[-axis] = max(shape[-axis], extent)
    return tuple(shape)


def make_access(state: State, tensor: str, indices: list[Value], pointwise: bool, *,
                value: Value | None = None, expected: Value | None = None,
                mask: Value | None = None, other: Value | None = None) -> Access:
    """The parts of a memory op, each broadcast to the accessed shape.

    Every axis is checked; the pass `bounds` finds those that need not be.
    """
    shape = accessed_shape(indices, pointwise)

    def spread(part: Value | None) -> Value | None:
        return None if part is None else state.out.broadcast(part, shape)

    if pointwise:
        indices = [state.out.broadcast(index, shape) for index in indices]
    return Access(state.tensors[tensor], tuple(indices), spread(value), spread(expected), spread(mask),
                  spread(other), pointwise, (True,) * len(indices))


def _load(state: State, node: typed.Load, args: list[Value], hint: str | None) -> Value:
    rank = len(node.indices)
    rest = iter(args[rank:])
    mask = next(rest) if node.mask is not None else None
    other = next(rest) if node.other is not None else None
    parts = make_access(state, node.tensor, args[:rank], node.pointwise, mask=mask, other=other)
    result = state.out.value(hint or node.tensor, node.type)
    state.out.append(access_op("load", parts, (result,), span=node.span))
    return result


def _atomic(state: State, node: typed.Atomic, args: list[Value], hint: str | None) -> Value:
    rank = len(node.indices)
    rest = iter(args[rank:])
    value = next(rest)
    expected = next(rest) if node.expected is not None else None
    mask = next(rest) if node.mask is not None else None
    parts = make_access(state, node.tensor, args[:rank], node.pointwise,
                        value=value, expected=expected, mask=mask)
    result = state.out.value(hint or "old", node.type)
    state.out.append(access_op("atomic", parts, (result,), kind=node.kind, span=node.span))
    return result


def build_store(state: State, node: typed.Store) -> None:
    """`tensor[indices] = value where mask;`"""
    indices = [build_expression(state, index) for index in node.indices]
    value = build_expression(state, node.value)
    mask = None if node.mask is None else build_expression(state, node.mask)
    with state.out.at(node.span):
        parts = make_access(state, node.tensor, indices, node.pointwise, value=value, mask=mask)
        state.out.append(access_op("store", parts, span=node.span))
