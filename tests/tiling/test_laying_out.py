"""Layouts in tile IR: their names, where they are told, the conversions between them, and how few of those are left."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tests.corpus import Case, load_corpus
from tests.tiling.test_fragments import ATTENTION, heads
from tests.tiling.test_tensor_cores import MATMUL, agrees, compiled, pair, random
from tilelang.diagnostics import InternalError, Sink
from tilelang.ir.core import Kernel, Value
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.passes import optimize
from tilelang.tiling import assignment
from tilelang.tiling.anchors import anchor, choose_anchors
from tilelang.tiling.assignment import anchors_of, assign, families, price
from tilelang.tiling.conversions import CONVERT, converted, insert_conversions, misplaced, without_layouts
from tilelang.tiling.held import (
    Layout,
    feeds,
    has_whole_rows,
    layouts_of,
    like,
    one_below_another,
    read_layout,
    show_layout,
)
from tilelang.tiling.laying_out import LAYOUT_PASSES, lay_out
from tilelang.tiling.lower import lower
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.patch_layout import PatchLayout
from tilelang.tiling.row_layout import RowLayout
from tilelang.tiling.targets import TARGETS

F16, F32 = np.float16, np.float32
SM_80 = TARGETS["sm_80"]

AFTER = """
kernel k[T: {f16, f32}](a: f16[M, 64], b: f16[64, 64], x: T[M, 64], n: f32[64], out c: T[M, 64]) grid (cdiv(M, 64)) {
    let rows = program_id(0) * 64 +: 64;
    let cols = 0 +: 64;
    let s = dot(a[rows, cols], b[cols, cols]);
%s
}
"""


def after(body: str, dtype: type = F16) -> Kernel:
    """The optimised kernel of a product and what is done with it."""
    x = np.zeros((128, 64), dtype)
    tile, *_ = compiled(AFTER % body, np.zeros((128, 64), F16), np.zeros((64, 64), F16), x, np.zeros(64, F32), x)
    return tile


def checked(body: str, dtype: type = F16) -> None:
    """On the machine model it does what the interpreter does, and the model finds nothing."""
    a, b, x, n = random(100, 64), random(64, 64, seed=1), random(100, 64, dtype=dtype, seed=2), random(
        64, dtype=F32, seed=3)
    agrees(AFTER % body, a, b, x, n, np.zeros((100, 64), dtype), rtol=3e-3)


def conversions(kernel: Kernel) -> list[str]:
    """`f16[64, 64] to linear` for each."""
    return [f"{op.result.type} to {op.attrs['layout']}" for op in kernel.walk() if op.name == CONVERT]


def laid(kernel: Kernel, target: str = "sm_80") -> Kernel:
    return lay_out(kernel, TARGETS[target])


# ------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(("layout", "shape", "text"), [
    (AccumulatorLayout((64, 32), (4, 1)), (64, 32), "mma 4x1"),
    (AccumulatorLayout((128, 64), (4, 1), striped=True), (128, 64), "mma 4x1 striped"),
    (AccumulatorLayout((64, 32), (2, 2), woven=(True, False)), (64, 32), "mma 2x2 woven rows"),
    (AccumulatorLayout((64, 32), (2, 2), woven=(False, True)), (64, 32), "mma 2x2 woven columns"),
    (AccumulatorLayout((64, 32), (2, 2), woven=(True, True)), (64, 32), "mma 2x2 woven both"),
    (AccumulatorLayout((64, 32), (4, 1)), (2, 32, 32), "mma 4x1"),
    (RowLayout(64, 4), (64,), "rows 4"), (RowLayout(64, 4), (64, 1), "rows 4"),
    (PatchLayout((64, 64), 8), (64, 64), "patch 8")])
def test_a_layout_is_read_as_it_is_shown(layout, shape, text):
    assert show_layout(layout) == text and read_layout(text, shape) == layout


def test_the_linear_layout_has_a_name_too():
    assert show_layout(None) == "linear" and read_layout("linear", (3, 4)) is None and read_layout("", (3,)) is None


@pytest.mark.parametrize(("text", "shape"), [
    ("mma", (16, 16)), ("mma 4x1", (16,)), ("mma 4", (16, 16)), ("rows 4", (16, 16)), ("patch 4", (16,)),
    ("cube 3x3", (9, 9)), ("rows four", (16,))])
def test_what_is_no_layout(text, shape):
    with pytest.raises(InternalError, match="is no layout"):
        read_layout(text, shape)


def test_layouts_of_other_shapes():
    tile, rows = AccumulatorLayout((64, 64), (4, 1)), RowLayout(64, 4)
    assert like(tile, (64,)) == like(tile, (64, 1)) == rows and like(rows, (64, 64)) == tile
    assert like(tile, (64, 128)) == AccumulatorLayout((64, 128), (4, 1)) and like(rows, (64, 1)) == rows
    assert like(PatchLayout((64, 64), 4), (64, 128)) == PatchLayout((64, 128), 4)
    assert one_below_another((2, 3, 16, 8)) == (96, 8)


def test_whose_rows_are_whole():
    assert has_whole_rows(AccumulatorLayout((64, 64), (4, 1))) and not has_whole_rows(PatchLayout((64, 64), 4))
    for other in ({"striped": True}, {"woven": (True, False)}, {"warps": (2, 2)}):
        assert not has_whole_rows(AccumulatorLayout(**{"shape": (64, 64), "warps": (4, 1), **other}))


# ------------------------------------------------------------------------------------ all programs


@pytest.mark.parametrize("target", ["sm_80", "sm_75", "sm_90a", "simulator"])
@pytest.mark.parametrize("case", load_corpus(), ids=str)
def test_programs_mean_the_same_after_each_pass(case: Case, target: str) -> None:
    """And no operand is elsewhere than its user wants it, behind the passes that say so; and all can be read back."""
    bound = case.specialise()
    seen: list[tuple[str, Kernel]] = []
    lay_out(optimize(bound.tile), TARGETS[target], observe=lambda name, kernel: seen.append((name, kernel)))
    assert [name for name, _ in seen] == [name for name, _ in LAYOUT_PASSES]
    for name, kernel in seen:
        assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
        assert name == "anchors" or not misplaced(kernel)
    if case.fails is None and conversions(seen[-1][1]):
        wanted, got = case.arguments(), case.arguments()
        case.interpret(bound.tile, wanted, bound)
        case.interpret(seen[-1][1], got, bound)
        case.compare(got, wanted)


def test_a_kernel_without_dots_stays_as_it_is():
    tile, *_ = compiled("kernel k(x: f32[N], out y: f32[N]) grid (cdiv(N, 64)) {\n let i = program_id(0) * 64 +: 64;\n"
                        " y[i] = x[i];\n}", np.zeros(64, F32), np.zeros(64, F32))
    assert laid(tile) is tile


def test_layouts_can_be_taken_away_again():
    tile, *_ = compiled(ATTENTION, *heads(64, 64, 64))
    plain = without_layouts(laid(tile))
    assert not layouts_of(plain) and not conversions(plain)
    assert anchors_of(without_layouts(laid(tile), but_of_dots=True)) == choose_anchors(tile, SM_80).layouts


# ------------------------------------------------------------------------------------ anchors


def test_a_product_alone_has_squares():
    tile, *_ = compiled(MATMUL, *pair(64, 64, 64))
    assert {show_layout(layout) for layout in choose_anchors(tile, SM_80).layouts.values()} == {"mma 2x2"}


def test_attention_has_whole_rows():
    tile, *_ = compiled(ATTENTION, *heads(64, 64, 64))
    assert {show_layout(layout) for layout in choose_anchors(tile, SM_80).layouts.values()} == {"mma 4x1"}


@pytest.mark.parametrize(("body", "layout"), [
    ("c[rows, cols] = s as T;", "mma 2x2"),
    ("c[rows, cols] = dot(s as f16, b[cols, cols]) as T;", "mma 4x1"),  # operand A is where it is needed
    ("c[rows, cols] = (s - max(s, axis=1)[:, None]) as T;", "mma 4x1"),  # a row's reduction stays in the warp
    ("c[rows, cols] = (s - max(s, axis=0)[None, :]) as T;", "mma 2x2")])
def test_whole_rows_only_where_something_gains(body, layout):
    assert {show_layout(found) for found in choose_anchors(after(body), SM_80).layouts.values()} == {layout}
    checked(body)


@pytest.mark.parametrize("target", ["simulator", "sm_75"])
def test_what_a_target_cannot_do_has_no_layout_of_tensor_cores(target):
    tile, *_ = compiled(MATMUL, *pair(64, 64, 64, np.float32))
    held = choose_anchors(tile, TARGETS[target]).layouts.values()
    assert not any(isinstance(layout, AccumulatorLayout) for layout in held)


# ------------------------------------------------------------------------------------ conversions and how few are left


def test_conversions_stand_where_layouts_clash():
    """Anchored alone, a loop that carries the accumulator would convert it twice a trip."""
    tile, *_ = compiled(MATMUL, *pair(64, 64, 64))
    naive = insert_conversions(anchor(tile, SM_80))
    assert conversions(naive) == ["f32[64, 64] to mma 2x2", "f32[64, 64] to linear"] and not misplaced(naive)
    (loop,) = [op for op in naive.walk() if op.name == "for"]
    assert sum(op.name == CONVERT for op in loop.blocks[0].ops) == 2
    assert conversions(laid(tile)) == ["f32[64, 64] to linear"]


def test_a_value_is_converted_once_for_all_who_want_it():
    body = "let e = s * 2.0; c[rows, cols] = (e + x[cols, cols] + cumsum(e, axis=1) + cumsum(e, axis=0)) as T;"
    assert conversions(insert_conversions(anchor(after(body), SM_80))) == ["f32[64, 64] to linear"]
    checked(body)


def test_what_any_thread_can_have_is_not_converted():
    body = "let t = rows[:, None] + cols[None, :]; c[rows, cols] = dot(a[rows, cols], b[cols, cols], t as f32) as T;"
    assert conversions(laid(after(body))) == ["f16[64, 64] to linear"]
    checked(body)


@pytest.mark.parametrize(("body", "wanted"), [
    ("c[rows, cols] = s as T;", ["f16[64, 64] to linear"]),  # rounded first, then converted
    ("c[rows, cols] = (s * sigmoid(s) + n[cols][None, :]) as T;", ["f16[64, 64] to linear"]),
    ("c[rows, cols] = (x[rows, cols] as f32 + s) as T;", ["f32[64, 64] to linear"]),  # as cheap, and x stays as it is
    ("c[rows, cols] = (s / sum(s, axis=1)[:, None]) as T;", ["f16[64, 64] to linear"]),
    ("let m = max(s, axis=1); c[rows, cols] = (cumsum(s, axis=1) - m[:, None]) as T;", None)])
def test_as_few_bytes_as_possible_are_converted(body, wanted):
    kernel = laid(after(body))
    assert wanted is None or conversions(kernel) == wanted
    checked(body)


def test_numbers_for_rows_are_converted_by_themselves():
    """The tile is stored as f32, so both are wanted linear: 64 numbers and 64 x 64."""
    body = "let m = sum(s, axis=1); c[rows, 0] = m as T; c[rows, 1 +: 1] = (m * 2.0)[:, None] as T;" \
           " c[rows, cols] = dot(s as f16, b[cols, cols]) as T;"
    found = conversions(laid(after(body, F32)))
    assert "f32[64] to linear" in found and "f32[64, 64] to linear" in found
    checked(body, F32)


def test_a_view_of_rows_is_made_again_not_converted():
    """The column of row sums is wanted beside the fragments, and by a scan that is linear."""
    body = "let m = sum(s, axis=1)[:, None]; let p = (s * m) as f16;" \
           " c[rows, cols] = (dot(p, b[cols, cols]) + cumsum(x[rows, cols] as f32 * m, axis=1)) as T;"
    kernel = laid(after(body))
    assert not any(op.name == CONVERT and op.operands[0].shape in ((64, 1),) for op in kernel.walk())
    assert [text for text in conversions(kernel) if text.startswith("f32[64]")] == ["f32[64] to linear"]
    checked(body)


@pytest.mark.parametrize("body", [
    "c[rows, cols] = (s * sigmoid(s) + x[rows, cols]) as T;",
    "let e = exp(s * 0.01); c[rows, cols] = (e / sum(e, axis=1)[:, None] + x[rows, cols]) as T;",
    "let p = (s + x[rows, cols]) as f16; c[rows, cols] = (dot(p, b[cols, cols]) + s) as T;",
    "let m = max(s, axis=1); let p = (s - m[:, None]) as f16; c[rows, cols] = (dot(p, b[cols, cols]) + s) as T;",
    "c[rows, cols] = (cumsum(s * 2.0, axis=1) + s) as T;"])
def test_no_other_choice_of_sides_moves_fewer_bytes(body):
    """Against all choices of which tiles are held as the dots are."""
    anchored = anchor(after(body), SM_80)
    anchors = anchors_of(anchored)
    (family,) = families(anchors)
    could = [value for value, node in assignment._Sides(anchored, family, anchors).nodes.items() if node == value]
    assert 0 < len(could) <= 12

    def bytes_of(held: tuple[Value, ...]) -> int:
        layouts: Mapping[Value, Layout] = {**anchors, **{value: like(family.layout, value.shape) for value in held}}
        return price(converted(anchored, layouts))[0]

    chosen = tuple(value for value in assign(anchored, anchors) if value not in anchors)
    least = min(bytes_of(held) for n in range(len(could) + 1) for held in itertools.combinations(could, n))
    assert bytes_of(chosen) == least


def test_a_loop_carries_numbers_for_rows_where_its_tiles_are():
    tile, *_ = compiled(ATTENTION, *heads(64, 192, 64))
    kernel = laid(tile)
    (loop,) = [op for op in kernel.walk() if op.name == "for"]
    assert sorted(loop.attrs["layouts"]) == ["mma 4x1", "rows 4", "rows 4"]  # type: ignore[type-var, arg-type]
    assert conversions(kernel) == ["f16[64, 64] to linear"]


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_fewer_warps_than_the_block_hold_nothing_else(warps):
    """16 rows and 16 columns: one warp has the whole accumulator, and nothing else is held by it alone."""
    a, b, c = pair(16, 32, 16)
    tile, *_ = compiled(MATMUL, a, b, c, BM=16, BN=16, warps=warps)
    held = layouts_of(laid(tile))
    assert {show_layout(layout) for layout in held.values()} == {"mma 1x1"}
    agrees(MATMUL, a, b, c, BM=16, BN=16, warps=warps)


def test_operands_are_fed_from_registers_only_where_they_fit():
    whole, square = AccumulatorLayout((64, 64), (4, 1)), AccumulatorLayout((64, 64), (2, 2))
    tile, *_ = compiled(ATTENTION, *heads(64, 64, 64))
    dot = next(op for op in tile.walk() if op.name == "dot")
    assert feeds(whole, dot, whole) and not feeds(square, dot, square) and not feeds(None, dot, whole)
    assert not feeds(whole, dot, AccumulatorLayout((64, 64), (2, 1))) and not feeds(RowLayout(64, 4), dot, whole)


def test_numbers_for_rows_seen_in_all_columns_can_be_an_operand():
    """It has no fragments of its own: they are made."""
    body = "let m = tanh(sum(s, axis=1))[:, None]; let p = broadcast_to(m, [64, 64]) as f16;" \
           " c[rows, cols] = dot(p, b[cols, cols], s) as T;"
    assert sum(op.attrs.get("layout") == "mma 4x1" for op in laid(after(body)).walk() if op.name == "broadcast") == 1
    checked(body)


# ------------------------------------------------------------------------------------ what the passes refuse


def test_a_misplaced_operand_is_an_error_of_the_pass(monkeypatch):
    from tilelang.tiling import laying_out

    forgetful = (("anchors", anchor), ("conversions", lambda kernel, target: replace(kernel)))
    monkeypatch.setattr(laying_out, "LAYOUT_PASSES", forgetful)
    with pytest.raises(InternalError, match=r"pass conversions.*in another layout"):
        laid(after("c[rows, cols] = s as T;"))


def test_a_conversion_needs_a_layout():
    from tilelang.ir.verifier import verify

    kernel = parse_kernel("kernel @k() dims() tile {warps = 4} {\n  %a: f32[16] = const {value = 0.0}\n"
                          "  %b: f32[16] = convert_layout %a {layout = 3}\n}\n")
    with pytest.raises(InternalError, match="must be a string"):
        verify(kernel)


def test_the_fallback_is_a_kernel_without_layouts():
    """Too little shared memory for what tensor cores need: the dots are written the simple way, and nothing clashes."""
    tile, *_ = compiled(MATMUL, *pair(128, 64, 128), BM=128, BN=128)
    sink = Sink()
    thread = lower(tile, replace(SM_80, shared_per_block=20 * 1024), sink)
    assert not sink.diagnostics and not any(op.name == "mma" for op in thread.walk())
