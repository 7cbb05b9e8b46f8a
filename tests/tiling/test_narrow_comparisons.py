"""Comparisons of 64-bit numbers that are known to fit into 32 bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tiling.threads import lowered, tile_kernel
from tilelang.dtypes import DTYPES
from tilelang.ir.core import Kernel
from tilelang.machine import execute
from tilelang.passes.bounds import value_ranges

U32, I64 = DTYPES["u32"], DTYPES["i64"]

MASK = """
  %c0: i64 = const {value = 0}
  %c64: i64 = const {value = 64}
  %iota: i64[64] = iota
  %dim: i64[64] = broadcast %N
  for %c0, %N, %c64 (%start: i64) {
    %starts: i64[64] = broadcast %start
    %i: i64[64] = add %starts, %iota
    %odd: i64[64] = sub %i, %dim
    %inside: bool[64] = COMPARED
    %one: f32[64] = cast %inside
    store %y, %i, %one {checked = (true,), mask = false, pointwise = false}
    yield
  }
"""


def kernel(compared: str, **facts: object) -> Kernel:
    made = tile_kernel("%y: out f32[%N]", MASK.replace("COMPARED", compared), dims=("N",))
    return replace(made, attrs={**made.attrs, **{f"fact.{name}": value for name, value in facts.items()}})


def compared_as(thread: Kernel) -> set[str]:
    """The types of what the mask compares: the result is made a number."""
    masks = {op.operands[0] for op in thread.walk() if op.name == "cast" and op.operands[0].dtype.is_bool}
    return {str(op.operands[0].dtype) for op in thread.walk() if op.results and op.results[0] in masks}


@pytest.mark.parametrize(("compared", "facts", "wanted"), [
    ("lt %i, %dim", {"small": True}, "u32"), ("ge %dim, %i", {"small": True}, "u32"),
    ("eq %i, %dim", {"small": True}, "u32"), ("lt %i, %dim", {}, "i64"),
    ("lt %odd, %dim", {"small": True}, "i64")], ids=["less", "mirrored", "equal", "no facts", "maybe negative"])
def test_what_fits_is_compared_in_32_bits(compared, facts, wanted):
    assert compared_as(lowered(kernel(compared, **facts))) == {wanted}


def test_a_sum_beyond_31_bits_has_a_place_in_32_without_a_sign():
    ranges = value_ranges(kernel("lt %i, %dim", small=True))
    assert (1 << 31) - 1 < ranges["i"].hi <= U32.max_int and ranges["i"].lo == 0
    assert ranges["N"].hi == (1 << 31) - 1 and value_ranges(kernel("lt %i, %dim"))["N"].hi == I64.max_int


def test_the_mask_is_the_same():
    y = np.full(100, 7, np.float32)
    report = execute(lowered(kernel("lt %i, %dim", small=True)), {"y": y}, {"N": 100}, (1,))
    assert not report.findings and (y == 1).all()
