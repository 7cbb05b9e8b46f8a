"""The one family of data that every IR stage is made of: Value, Op, Block, Kernel.

All are frozen: a pass builds a new kernel and changes nothing in place. SSA: each `Value` is defined once, by
an op or as a block argument, and its name is unique in the kernel, so a value is its name and type.
Control flow is structured: `for`, `while` and `if` are ops that hold blocks. A block hands values back to
its op with a final `yield`.

The same family has two vocabularies: tile ops (`tilelang.ir.tile_ops`: one value is a whole tile) and thread
ops (`tilelang.ir.thread_ops`: one value is what one thread holds).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from tilelang.diagnostics import NOWHERE, Span
from tilelang.dtypes import DType
from tilelang.semantics.types import TileType


@dataclass(frozen=True)
class TensorType:
    """A tensor in global memory. `dims` holds, per axis, an int or the name of the kernel dim it equals.

    `mode` is `in`, `out` or `inout`. Strides are the launch's business.
    """

    dtype: DType
    dims: tuple[int | str, ...]
    mode: str = "in"

    @property
    def rank(self) -> int:
        return len(self.dims)

    def __str__(self) -> str:
        return f"{self.mode} {self.dtype}[{', '.join(str(d) if isinstance(d, int) else '%' + d for d in self.dims)}]"


@dataclass(frozen=True)
class LocalType:
    """Thread level: an array of `size` elements in one thread's registers."""

    dtype: DType
    size: int

    def __str__(self) -> str:
        return f"local {self.dtype}[{self.size}]"


@dataclass(frozen=True)
class SharedType:
    """Thread level: an array of `size` elements in the block's shared memory."""

    dtype: DType
    size: int

    def __str__(self) -> str:
        return f"shared {self.dtype}[{self.size}]"


Type = TileType | TensorType | LocalType | SharedType

Attr = int | float | bool | str | DType | tuple["Attr", ...]


@dataclass(frozen=True)
class Value:
    """One SSA value; `name` is unique in its kernel and has no `%`."""

    name: str
    type: Type

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of a tile value (empty for a scalar)."""
        if not isinstance(self.type, TileType):
            raise TypeError(f"%{self.name} is a {self.type}, not a tile")
        return self.type.shape  # type: ignore[return-value]

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True)
class Op:
    """One operation: `results = name operands {attrs} blocks`."""

    name: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attrs: Mapping[str, Attr] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attrs", MappingProxyType(dict(self.attrs)))

    def __hash__(self) -> int:
        return hash((self.name, self.operands, self.results))

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def with_operands(self, *operands: Value) -> Op:
        return replace(self, operands=operands)


@dataclass(frozen=True)
class Block:
    """Ops in order; `args` are the values it is entered with. The last op of a nested block is its terminator."""

    args: tuple[Value, ...]
    ops: tuple[Op, ...]

    def walk(self) -> Iterator[Op]:
        """All ops of this block and of the blocks inside, outer before inner, in order."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


@dataclass(frozen=True)
class Kernel:
    """A kernel at one level (`tile` or `thread`), specialised: every extent is a number.

    `params` are tensors and scalars in the order of the source. `dims` are i64 scalars bound at launch: the named
    dims of the signature, and one hidden value for each tensor extent that is an expression. `attrs` holds
    `warps`, `stages`, the metas' values (`meta.BM`), and the facts that later stages add.
    """

    name: str
    params: tuple[Value, ...]
    dims: tuple[Value, ...]
    body: Block
    level: str = "tile"
    attrs: Mapping[str, Attr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attrs", MappingProxyType(dict(self.attrs)))

    def walk(self) -> Iterator[Op]:
        yield from self.body.walk()
