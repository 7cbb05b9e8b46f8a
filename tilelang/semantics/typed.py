"""The typed tree of one specialised kernel: what the checker hands to the IR builder.

Every name is resolved, every `fn` call is inlined with the types it was called with, every literal has the type
it took, every element type and meta is bound. Shapes may still differ where the language broadcasts: the builder
broadcasts operands to the shape of the result. Element types never differ implicitly: the checker has put a `Cast`
wherever the language converts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tilelang.diagnostics import NOWHERE, Span
from tilelang.dtypes import DType
from tilelang.semantics.types import TileType


@dataclass(frozen=True)
class Var:
    """A variable of the kernel or of one inlined call; `uid` is unique in the kernel, `name` is the source's."""

    name: str
    uid: int
    type: TileType


@dataclass(frozen=True, kw_only=True)
class Typed:
    """What all typed expressions share."""

    type: TileType
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Const(Typed):
    """A scalar known at compile time: a literal, `const`, meta or constant expression, in the type it took."""

    value: int | float | bool


@dataclass(frozen=True)
class Dim(Typed):
    """A kernel dim, an i64 scalar known at launch."""

    name: str


@dataclass(frozen=True)
class Read(Typed):
    """The value of a variable or scalar parameter."""

    var: Var


@dataclass(frozen=True)
class Elementwise(Typed):
    """An elementwise op of `tilelang.ir.tile_ops` by its name (`add`, `lt`, `not`, `exp`, `select`, `fma`, ...).

    Operands broadcast to `type.shape`. They share one element type, except the bool condition of `select` and
    the seed and offsets of `rand*` (both cast to i64 already). `clamp(x, lo, hi)` arrives as `minimum` of `maximum`.
    `approx`: the program allows an approximation.
    """

    op: str
    operands: tuple[Typed, ...]
    approx: bool = False


@dataclass(frozen=True)
class Cast(Typed):
    """Conversion to `type.dtype`."""

    operand: Typed


@dataclass(frozen=True)
class IndexRange(Typed):
    """`start +: N`; `start` is an integer scalar of the result's element type, N is the result's extent."""

    start: Typed


@dataclass(frozen=True)
class Reshape(Typed):
    """Row-major reshape to `type.shape`; also `v[:, None]`."""

    operand: Typed


@dataclass(frozen=True)
class Permute(Typed):
    """Result axis i is operand axis `axes[i]`; also `transpose`."""

    operand: Typed
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Broadcast(Typed):
    """`broadcast_to`, `zeros`, `ones`, `full`: the operand (often a scalar) stretched to `type.shape`."""

    operand: Typed


@dataclass(frozen=True)
class Cat(Typed):
    operands: tuple[Typed, ...]
    axis: int


@dataclass(frozen=True)
class Reduce(Typed):
    """`axes` sorted, non-negative, never empty unless the operand is a scalar. `type` is after `keepdims`.

    `argmax`/`argmin` without an axis index the flattened tile.
    """

    kind: str
    operand: Typed
    axes: tuple[int, ...]
    keepdims: bool = False


@dataclass(frozen=True)
class Scan(Typed):
    kind: str
    operand: Typed
    axis: int
    reverse: bool = False


@dataclass(frozen=True)
class Dot(Typed):
    """`acc` is None where the source gives none; `type.dtype` is the accumulator's."""

    a: Typed
    b: Typed
    acc: Typed | None = None
    tf32: bool = False


@dataclass(frozen=True)
class ProgramId(Typed):
    axis: int


@dataclass(frozen=True)
class NumPrograms(Typed):
    axis: int


@dataclass(frozen=True)
class Load(Typed):
    """`tensor[indices]`; `mask` and `other` broadcast to `type.shape`; `other` None reads as 0."""

    tensor: str
    indices: tuple[Typed, ...]
    pointwise: bool = False
    mask: Typed | None = None
    other: Typed | None = None


@dataclass(frozen=True)
class Atomic(Typed):
    """Gives the old values. `value`, `expected`, `mask` broadcast to `type.shape`."""

    kind: str
    tensor: str
    indices: tuple[Typed, ...]
    value: Typed
    expected: Typed | None = None
    pointwise: bool = False
    mask: Typed | None = None


@dataclass(frozen=True)
class Inlined(Typed):
    """A call of a `fn`, its body checked for these arguments. `type` is that of the first result.

    Evaluate `args` in the caller, bind them to `params`, run `body` (no `Return` inside), then `results`.
    """

    fn: str
    params: tuple[Var, ...]
    args: tuple[Typed, ...]
    body: tuple[Statement, ...]
    results: tuple[Typed, ...]


# --- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Statement:
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Bind(Statement):
    """`let`, `var` and assignment alike: `vars` get the values of `value` (several only from an `Inlined`).

    `declares` is true for `let`/`var`. Literals and narrower values are cast to the variables' types already.
    """

    vars: tuple[Var, ...]
    value: Typed
    declares: bool = True


@dataclass(frozen=True)
class Store(Statement):
    """`value` and `mask` broadcast to the accessed shape; `y[i] += v` has been spelt out with a `Load`."""

    tensor: str
    indices: tuple[Typed, ...]
    value: Typed
    pointwise: bool = False
    mask: Typed | None = None


@dataclass(frozen=True)
class Evaluate(Statement):
    """An `Atomic` or `Inlined` for its effect."""

    value: Typed


@dataclass(frozen=True)
class Assert(Statement):
    condition: Typed
    text: str


@dataclass(frozen=True)
class Print(Statement):
    text: str
    value: Typed | None = None


@dataclass(frozen=True)
class For(Statement):
    """`lo`, `hi`, `step` are integer scalars of `var`'s element type."""

    var: Var
    lo: Typed
    hi: Typed
    step: Typed
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class While(Statement):
    condition: Typed
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class If(Statement):
    condition: Typed
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Return(Statement):
    """Ends this program; in kernels only."""


# --- kernel --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorParam:
    """`dims`: per axis an int, or the name of a dim in `TypedKernel.dims`."""

    name: str
    dtype: DType
    dims: tuple[int | str, ...]
    mode: str = "in"


@dataclass(frozen=True)
class ScalarParam:
    var: Var

    @property
    def name(self) -> str:
        return self.var.name


@dataclass(frozen=True)
class TypedKernel:
    """One kernel, specialised.

    `dims`: the named dims of the signature in order of appearance, then one hidden name `x.1` (tensor x, axis 1)
    for each extent that is an expression over dims. `metas`: name -> value (int, float, bool or DType), `warps` and
    `stages` included if the kernel has them. `grid`: per axis of the launch grid its extent where it is a number
    or exactly one dim (`grid (M)`), else None; with it the range analysis knows how large `program_id` can be.
    """

    name: str
    params: tuple[TensorParam | ScalarParam, ...]
    dims: tuple[str, ...]
    body: tuple[Statement, ...]
    metas: Mapping[str, int | float | bool | DType]
    grid: tuple[int | str | None, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
