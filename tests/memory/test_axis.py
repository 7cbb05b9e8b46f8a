"""Axis analysis: what is proved of tiles along their last axis, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tiling.threads import tile_kernel
from tilelang.memory.axis import MOST, UNKNOWN, Axis, AxisAnalysis

BODY = """
  %p: i64 = program_id {axis = 0}
  %c48: i64 = const {value = 48}
  %c3: i64 = const {value = 3}
  %start: i64 = mul %p, %c48
  %odd: i64 = mul %p, %c3
  %iota: i64[64] = iota
  %starts: i64[64] = broadcast %start
  %odds: i64[64] = broadcast %odd
  %dim: i64[64] = broadcast %N
  %i: i64[64] = add %starts, %iota
  %j: i64[64] = add %iota, %odds
  %k: i64[64] = sub %starts, %iota
  %twice: i64[64] = add %iota, %iota
  %narrow: i8[64] = cast %i
  %inside: bool[64] = lt %i, %dim
  %mirrored: bool[64] = gt %dim, %i
  %upto: bool[64] = le %i, %dim
  %outside: bool[64] = not %inside
  %ragged: bool[64] = lt %j, %dim
  %both: bool[64] = and %inside, %ragged
  %rows: i64[4, 64] = broadcast %i
  %column: i64[64, 1] = reshape %i
  %wide: i64[64, 8] = broadcast %column
  %turned: i64[64, 4] = permute %rows {axes = (1, 0)}
"""


def known(name: str, **facts: object) -> Axis:
    kernel = tile_kernel("%x: in f32[%N]", BODY, dims=("N",))
    stated = {f"fact.{fact.replace('_', '.')}": value for fact, value in facts.items()}
    kernel = replace(kernel, attrs={**kernel.attrs, **stated})
    analysis = AxisAnalysis(kernel)
    return next(analysis.of(op.result) for op in kernel.walk() if op.result.name == name)


@pytest.mark.parametrize(("name", "wanted"), [
    ("p", Axis(False, MOST, 1)), ("c48", Axis(False, MOST, 16)), ("start", Axis(False, MOST, 16)),
    ("odd", Axis(False, MOST, 1)), ("iota", Axis(True, 1, MOST)), ("i", Axis(True, 1, 16)), ("j", Axis(True, 1, 1)),
    ("k", UNKNOWN), ("twice", UNKNOWN), ("narrow", UNKNOWN), ("rows", Axis(True, 1, 16)), ("column", UNKNOWN),
    ("wide", Axis(False, MOST, 1)), ("turned", UNKNOWN), ("starts", Axis(False, MOST, 16))])
def test_indexes(name, wanted):
    assert known(name) == wanted


@pytest.mark.parametrize(("name", "alike"), [
    ("inside", 16), ("mirrored", 16), ("upto", 1), ("outside", 16), ("ragged", 1), ("both", 1)])
def test_masks_are_alike_in_runs_that_divide_the_extent(name, alike):
    assert known(name, N_div=16).alike == alike
    assert known(name).alike == 1


def test_a_loop_over_blocks_starts_each_at_a_multiple():
    kernel = tile_kernel("%x: in f32[%N]", """
  %lo: i64 = const {value = 8}
  %step: i64 = const {value = 64}
  for %lo, %N, %step (%k: i64) {
    yield
  }""", dims=("N",))
    (loop,) = (op for op in kernel.walk() if op.name == "for")
    assert AxisAnalysis(kernel).of(loop.blocks[0].args[0]) == Axis(False, MOST, 8)


def test_one_index_may_serve_two_axes():
    """After common subexpressions are merged, the rows and the columns of a square can be one value."""
    kernel = tile_kernel("%x: in f32[64, 64]", """
  %i: i32[64] = iota
  %v: f32[64, 64] = load %x, %i, %i {checked = (false, false), mask = false, other = false, pointwise = false}
  %d: f32[64] = load %x, %i, %i {checked = (false, false), mask = false, other = false, pointwise = true}
""")
    facts = {"fact.x.stride1": 1, "fact.x.stride0.div": 16, "fact.x.aligned": 16}
    kernel = replace(kernel, attrs={**kernel.attrs, **facts})
    square, diagonal = (op for op in kernel.walk() if op.name == "load")
    assert (AxisAnalysis(kernel).width(square, 16), AxisAnalysis(kernel).width(diagonal, 16)) == (4, 1)
