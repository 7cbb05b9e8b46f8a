"""What the report of GPU code compares: kernels of `course/kernels` with their arguments, and Triton's of that shape.

Every fact of the launch that one side is told, the other is told too: all addresses and extents are multiples of 16.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tilelang.bench.worker import KERNELS
from tilelang.dtypes import F16, F32, DType
from tilelang.semantics.binding import ScalarFact, TensorFact

APPROXIMATE = Path(__file__).with_name("approximate.tile")

TRITON_TYPES = {F32: "*fp32", F16: "*fp16"}


@dataclass(frozen=True)
class GpuCase:
    """One kernel. `tensors`: element type and shape of each, in the order of the parameters; a scalar f32 has None.

    `flops`: multiplications and additions of the dots in one trip of the kernel's loop, 0 where there is no loop.
    `triton_dims`: the extents that Triton's kernel takes; all its pointers come first. `approximate`: the kernel is
    that of `approximate.tile`, whose arithmetic is what Triton makes of its kernel, not the library's.
    """

    name: str
    kernel: str
    tensors: dict[str, tuple[DType, tuple[int, ...]] | None]
    metas: dict[str, int]
    triton_dims: tuple[str, ...]
    triton_metas: dict[str, int]
    warps: int = 4
    stages: int = 3
    flops: int = 0
    approximate: bool = False

    @property
    def path(self) -> Path:
        """The file with the kernel."""
        return APPROXIMATE if self.approximate else KERNELS / f"{self.kernel}.tile"

    @property
    def arguments(self) -> list[TensorFact | ScalarFact]:
        return [TensorFact(*tensor) if tensor else ScalarFact(1.0) for tensor in self.tensors.values()]

    def triton_request(self, capability: int) -> dict[str, object]:
        """What `triton_worker.py` is asked for."""
        pointers = {n: TRITON_TYPES[tensor[0]] if tensor else "fp32" for n, tensor in self.tensors.items()}
        types = {**pointers, **dict.fromkeys(self.triton_dims, "i32"), **dict.fromkeys(self.triton_metas, "constexpr")}
        divisible = [n for n, tensor in self.tensors.items() if tensor] + list(self.triton_dims)
        return {"kernel": self.kernel, "capability": capability, "warps": self.warps, "stages": self.stages,
                "types": types, "constants": self.triton_metas, "divisible": divisible}


_ROWS, _ROW, _PER_ROW = (F32, (4096, 1024)), (F32, (1024,)), (F32, (4096,))
_LONG, _SQUARE, _HEADS = (F32, (1 << 20,)), (F16, (1024, 1024)), (F16, (8, 1024, 64))
_TILES = {"BM": 128, "BN": 128, "BK": 32}

def _as_triton(case: GpuCase) -> GpuCase:
    """The case once more with Triton's arithmetic."""
    kernel, rest = case.name.split(", ", 1)
    return replace(case, name=f"{kernel}, approximate, {rest}", approximate=True)


_EXACT = (
    GpuCase("vector add, f32, 1024 a program", "vector_add", {"x": _LONG, "y": _LONG, "z": _LONG}, {"BLOCK": 1024},
            ("N",), {"BLOCK": 1024}),
    GpuCase("softmax, f32, rows of 1024", "softmax", {"x": _ROWS, "y": _ROWS}, {}, ("N",), {"BLOCK": 1024}),
    GpuCase("layer norm, f32, rows of 1024", "layer_norm",
            {"x": _ROWS, "weight": _ROW, "bias": _ROW, "eps": None, "y": _ROWS, "mean": _PER_ROW, "rstd": _PER_ROW},
            {}, ("N",), {"BLOCK": 1024}),
    GpuCase("matmul, f16, 128 x 128 x 32", "matmul", {"a": _SQUARE, "b": _SQUARE, "c": _SQUARE},
            {**_TILES, "warps": 4, "stages": 3}, ("M", "N", "K"), {**_TILES, "GROUP": 8},
            flops=2 * 128 * 128 * 32),
    GpuCase("matmul, f16, 128 x 128 x 32, 8 warps", "matmul", {"a": _SQUARE, "b": _SQUARE, "c": _SQUARE},
            {**_TILES, "warps": 8, "stages": 3}, ("M", "N", "K"), {**_TILES, "GROUP": 8}, warps=8,
            flops=2 * 128 * 128 * 32),
    GpuCase("attention, f16, 64 x 64, d = 64", "attention",
            {"q": _HEADS, "k": _HEADS, "v": _HEADS, "scale": None, "o": _HEADS},
            {"BM": 64, "BN": 64, "warps": 4, "stages": 2}, ("M", "N", "D"), {"BM": 64, "BN": 64, "WIDTH": 64},
            stages=2, flops=2 * 2 * 64 * 64 * 64),
)

GPU_CASES = tuple(row for case in _EXACT for row in (
    (case, _as_triton(case)) if case.kernel in ("softmax", "layer_norm", "attention") else (case,)))
"""All rows. Those of softmax, layer norm and attention compare like with like where they are "approximate"."""
