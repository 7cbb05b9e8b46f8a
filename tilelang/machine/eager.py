"""The same program, eagerly: every operation a kernel of its own on whole tensors, as array libraries run it.

A fused kernel keeps a tile in registers from one op to the next. Eagerly each op reads its operands from HBM and
writes its result back:

    let e = exp(v - max(v, axis=0));        max: reads M*N, writes M     sub: reads M*N + M, writes M*N
    y[row, cols] = e / sum(e, axis=0);      exp: reads M*N, writes M*N   sum: reads M*N, writes M    div: ...

How it is counted: a value's size over all programs is that of its space (`tilelang.machine.spaces`). Slices, casts
of shape (broadcast, reshape, transpose) and what is computed from indices alone are views or free. Storing a
fresh result costs nothing, its op wrote it in place. A `dot` whose sum is carried around a loop is one matrix product,
written once; other ops in a loop are one kernel a trip, on the whole of that trip. Both branches of an
`if` count, and a `while` counts as one trip. No cache is assumed between kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tilelang.diagnostics import Span
from tilelang.dtypes import DType
from tilelang.ir.access import Access, access
from tilelang.ir.attrs import int_attr, ints_attr
from tilelang.ir.core import Block, Kernel, Op, TensorType, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.machine.launch_scalars import LaunchScalars
from tilelang.machine.spaces import Axis, Space, Symbol, joined, merged, normal, reduced, reshaped

ROUNDS = 3
"""Loop-carried values depend on what the loop yields, so the kernel is gone through until that has settled."""

RANDOM = ("rand", "randn", "randint")


@dataclass(frozen=True)
class EagerOp:
    """One kernel of the eager version, over all its `launches`. Bytes."""

    name: str
    span: Span
    read: float
    written: float
    launches: float


@dataclass(frozen=True)
class Eager:
    """`dot_flops`: operations in matrix products (2 for a multiply-add), by the operands' element type.

    `guessed`: the trips of some loop depend on data; they were counted as one.
    """

    ops: tuple[EagerOp, ...]
    dot_flops: Mapping[DType, float]
    guessed: bool

    @property
    def read(self) -> float:
        return sum(op.read for op in self.ops)

    @property
    def written(self) -> float:
        return sum(op.written for op in self.ops)

    @property
    def bytes(self) -> float:
        return self.read + self.written

    @property
    def launches(self) -> float:
        return sum(op.launches for op in self.ops)


def eager(kernel: Kernel, args: Mapping[str, object], dims: Mapping[str, int], grid: tuple[int, ...]) -> Eager:
    """The eager version of a tile kernel. Of `args` only the numbers are used."""
    walk = _Walk(kernel, LaunchScalars(kernel, args, dims, grid), dims, grid)
    for _ in range(ROUNDS):
        walk.ops, walk.dot_flops = [], {}
        walk.block(kernel.body, ())
    return Eager(tuple(walk.ops), walk.dot_flops, walk.scalars.guessed)


@dataclass(frozen=True)
class _Held:
    """A value: its space; `elements`: how many it occupies in memory, None if it is computed from indices alone.

    `fresh`: an op wrote it to memory of its own; else it is a view.
    """

    space: Space
    elements: float | None = None
    fresh: bool = False

    @property
    def is_data(self) -> bool:
        return self.elements is not None


@dataclass
class _Walk:
    """One way through the kernel. `held` stays from round to round, so that loops know what they yielded."""

    kernel: Kernel
    scalars: LaunchScalars
    dims: Mapping[str, int]
    grid: tuple[int, ...]
    held: dict[str, _Held] = field(default_factory=dict)
    sizes: dict[Symbol, float] = field(default_factory=dict)
    ops: list[EagerOp] = field(default_factory=list)
    dot_flops: dict[DType, float] = field(default_factory=dict)
    carried: dict[Symbol, set[tuple[str, str]]] = field(default_factory=dict)
    """For each loop the pairs (carried argument, what is yielded for it)."""

    def __post_init__(self) -> None:
        self.sizes = {f"grid.{axis}": float(extent) for axis, extent in enumerate(self.grid)}
        for value in (*self.kernel.params, *self.kernel.dims):
            self.held[value.name] = _Held(Space())

    def block(self, block: Block, loops: tuple[Symbol, ...]) -> tuple[Value, ...]:
        """Go through a block; what its terminator hands over."""
        for op in block.ops:
            if TILE_OPS[op.name].terminator:
                return op.operands
            self.scalars.op(op)
            self._op(op, loops)
        return ()

    def _op(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        special = {"for": self._for, "while": self._while, "if": self._if, "load": self._load, "store": self._store,
                   "atomic": self._atomic, "dot": self._dot}
        if op.name in special:
            special[op.name](op, loops)
        elif op.name in ("broadcast", "permute", "reshape"):
            self._view(op)
        elif op.results:
            self._compute(op, loops)

    # ---------------------------------------------------------------- computing

    def _compute(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        """Elementwise ops, reductions, scans, `cat`: one kernel, if there is data in it."""
        space = self._space(op)
        data = [v for v in dict.fromkeys(op.operands) if self.held[v.name].is_data]
        if data or op.name in RANDOM:
            self._kernel(op, str(op.attrs.get("kind", op.name)), data, space, loops)
        else:
            self.held[op.result.name] = _Held(space)

    def _space(self, op: Op) -> Space:
        if op.name == "program_id":
            symbol = f"grid.{int_attr(op, 'axis')}"
            return Space((), frozenset((Axis(1, frozenset((symbol,))),) if symbol in self.sizes else ()))
        if not op.operands:
            return Space(tuple(Axis(extent) for extent in op.result.shape))
        operands = [self.held[v.name].space for v in op.operands]
        if op.name == "reduce":
            return reduced(operands[0], ints_attr(op, "axes"))
        space = merged(operands, len(op.result.shape))
        if op.name == "cat":
            axis = int_attr(op, "axis")
            parts = Axis(op.result.shape[axis], space.axes[axis].by)
            return normal((*space.axes[:axis], parts, *space.axes[axis + 1:]), space.outer)
        return space

    def _view(self, op: Op) -> None:
        held = self.held[op.operands[0].name]
        if op.name == "broadcast":
            space = merged((held.space, Space(tuple(Axis(e) for e in op.result.shape))), len(op.result.shape))
        elif op.name == "permute":
            space = Space(tuple(held.space.axes[axis] for axis in ints_attr(op, "axes")), held.space.outer)
        else:
            space = reshaped(held.space, op.result.shape, self.sizes)
        self.held[op.result.name] = _Held(space, held.elements)

    def _dot(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        a, b, acc = op.operands
        left, right = self.held[a.name].space, self.held[b.name].space
        batch = tuple(joined(x, y) for x, y in zip(left.axes[:-2], right.axes[:-2], strict=True))
        inner = joined(left.axes[-1], right.axes[-2])
        outer = (*left.outer, *right.outer)
        whole = normal((*batch, left.axes[-2], right.axes[-1], inner), outer)
        flops = 2 * whole.count(self.sizes) * self._repeats(whole, loops)
        self.dot_flops[a.dtype] = self.dot_flops.get(a.dtype, 0) + flops
        space = normal((*batch, left.axes[-2], right.axes[-1]), (*outer, Axis(1, inner.by)))
        loop = next((loop for loop in loops if (acc.name, op.result.name) in self.carried.get(loop, ())), None)
        if loop is None:
            self._kernel(op, "dot", [a, b, *([acc] if self.held[acc.name].is_data else [])], space, loops)
        else:  # the loop is one product
            around = tuple(other for other in loops if other != loop)
            self._kernel(op, "dot", [a, b], space.without(loop), around, self._bytes_read([a, b], loops))

    def _kernel(self, op: Op, name: str, operands: Iterable[Value], space: Space, loops: tuple[Symbol, ...],
                read: float | None = None) -> None:
        """A kernel that reads `operands` (or `read` bytes) and writes a new tensor of `space`."""
        elements = space.count(self.sizes)
        written = elements * self._repeats(space, loops) * op.result.dtype.bytes
        self._record(op, name, self._bytes_read(operands, loops) if read is None else read, written, loops)
        self.held[op.result.name] = _Held(space, elements, fresh=True)

    def _record(self, op: Op, name: str, read: float, written: float, loops: tuple[Symbol, ...]) -> None:
        self.ops.append(EagerOp(name, op.span, read, written, self._times(loops)))

    def _bytes_read(self, operands: Iterable[Value], loops: tuple[Symbol, ...]) -> float:
        total = 0.0
        for value in operands:
            held = self.held[value.name]
            total += (held.elements or 0.0) * self._repeats(held.space, loops) * value.dtype.bytes
        return total

    def _repeats(self, space: Space, loops: tuple[Symbol, ...]) -> float:
        """How often the loops around use the same elements again."""
        return self._times(loop for loop in loops if loop not in space.symbols)

    def _times(self, loops: Iterable[Symbol]) -> float:
        times = 1.0
        for loop in loops:
            times *= self.sizes[loop]
        return times

    # ---------------------------------------------------------------- memory

    def _accessed(self, op: Op) -> tuple[Access, Space, list[Value]]:
        """What a load, store or atomic touches: its space, and those of its indices that are data."""
        parts = access(op)
        data = [v for v in parts.indices if self.held[v.name].is_data]
        spaces = [self.held[v.name].space for v in parts.indices]
        if parts.pointwise:
            return parts, merged(spaces, len(parts.shape)), data
        axes: list[Axis] = []
        outer: list[Axis] = []
        for index, space, extent in zip(parts.indices, spaces, self._extents(parts.tensor), strict=True):
            axis = Axis(index.shape[0] if index.shape else 1, space.symbols, None if index in data else float(extent))
            (axes if index.shape else outer).append(axis)
        return parts, normal(axes, (axis for axis in outer if axis.by)), data

    def _extents(self, tensor: Value) -> list[int]:
        if not isinstance(tensor.type, TensorType):
            return []
        return [dim if isinstance(dim, int) else self.dims[dim] for dim in tensor.type.dims]

    def _load(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        """A slice is a view; a gather, or a mask that is data, is a kernel."""
        parts, space, data = self._accessed(op)
        more = [v for v in (parts.mask, parts.other) if v is not None and self.held[v.name].is_data]
        elements = space.count(self.sizes)
        if not data and not more:
            self.held[op.result.name] = _Held(space, elements)
            return
        again = self._repeats(space, loops)
        moved = elements * again * op.result.dtype.bytes
        self._record(op, "gather" if data else "where", moved + self._bytes_read([*data, *more], loops), moved, loops)
        self.held[op.result.name] = _Held(space, elements, fresh=True)

    def _store(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        parts, space, data = self._accessed(op)
        value = parts.value
        more = [v for v in (parts.mask,) if v is not None and self.held[v.name].is_data]
        if value is None or (self.held[value.name].fresh and not data and not more):
            return
        known = self.held[value.name].is_data
        read = [*data, *more, *([value] if known else [])]
        moved = space.count(self.sizes) * self._repeats(space, loops) * parts.tensor.dtype.bytes
        name = "scatter" if data else "copy" if known else "fill"
        self._record(op, name, self._bytes_read(read, loops), moved, loops)

    def _atomic(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        """Reads and writes each element that it touches; the old values are written only if somebody wants them."""
        parts, space, _ = self._accessed(op)
        read = [v for v in (*parts.indices, parts.value, parts.expected, parts.mask) if v is not None]
        moved = space.count(self.sizes) * self._repeats(space, loops) * parts.tensor.dtype.bytes
        from_hbm = self._bytes_read([v for v in read if self.held[v.name].is_data], loops)
        self._record(op, f"atomic {op.attrs['kind']}", from_hbm + moved, moved, loops)
        self.held[op.result.name] = _Held(space, space.count(self.sizes), fresh=True)

    # ---------------------------------------------------------------- control flow

    def _for(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        body = op.blocks[0]
        loop = body.args[0].name
        self.sizes[loop] = self.scalars.trips(op)
        self.held[loop] = _Held(Space((), frozenset((Axis(1, frozenset((loop,))),))))
        self._loop(op, loop, op.operands[3:], body.args[1:], body, loops)

    def _while(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        condition, body = op.blocks
        loop = f"while {id(op)}"
        self.sizes[loop] = 1.0
        self.scalars.guessed = True
        self._enter(op.operands, condition.args, loop)
        handed = self.block(condition, (*loops, loop))[1:]
        self._loop(op, loop, handed, body.args, body, loops)

    def _loop(self, op: Op, loop: Symbol, inits: tuple[Value, ...], args: tuple[Value, ...], body: Block,
              loops: tuple[Symbol, ...]) -> None:
        self._enter(inits, args, loop)
        yielded = self.block(body, (*loops, loop))
        self.carried[loop] = {(arg.name, value.name) for arg, value in zip(args, yielded, strict=True)}
        for arg, value, result in zip(args, yielded, op.results, strict=True):
            last = self.held[value.name].space.without(loop)
            self.held[result.name] = self._either([self.held[arg.name].space.without(loop), last], result,
                                                  [self.held[arg.name], self.held[value.name]])
            known = self.held[arg.name]
            self.held[arg.name] = self._either([known.space, last], arg, [known, self.held[value.name]], loop)

    def _enter(self, inits: tuple[Value, ...], args: tuple[Value, ...], loop: Symbol) -> None:
        for init, arg in zip(inits, args, strict=True):
            before = [self.held[init.name], *([self.held[arg.name]] if arg.name in self.held else [])]
            self.held[arg.name] = self._either([held.space for held in before], arg, before, loop)

    def _if(self, op: Op, loops: tuple[Symbol, ...]) -> None:
        handed = [self.block(block, loops) for block in op.blocks]
        for result, *ways in zip(op.results, *handed, strict=True):
            held = [self.held[value.name] for value in ways]
            self.held[result.name] = self._either([h.space for h in held], result, held)

    def _either(self, spaces: list[Space], value: Value, held: list[_Held], loop: Symbol | None = None) -> _Held:
        """A value that is one of several; `loop` makes a new one each trip."""
        space = merged(spaces, len(value.shape))
        if loop is not None:
            space = space.moved_by(loop)
        if not any(h.is_data for h in held):
            return _Held(space)
        return _Held(space, space.count(self.sizes), fresh=True)
