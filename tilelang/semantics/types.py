"""What a value is: an element type and a shape. A scalar is a tile of rank 0."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.dtypes import DType
from tilelang.semantics.extents import Extent

MAX_RANK = 4
MAX_TILE_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class TileType:
    """`dtype[e0, e1, ...]`; `shape` is empty for a scalar.

    While a file is checked without arguments an extent may be symbolic; after specialising all are ints.
    """

    dtype: DType
    shape: tuple[Extent, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_scalar(self) -> bool:
        return not self.shape

    @property
    def size(self) -> int:
        """Number of elements; all extents must be known."""
        total = 1
        for extent in self.shape:
            total *= int(extent)  # type: ignore[arg-type]
        return total

    def with_dtype(self, dtype: DType) -> TileType:
        return TileType(dtype, self.shape)

    def with_shape(self, shape: tuple[Extent, ...]) -> TileType:
        return TileType(self.dtype, shape)

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype.name
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"
