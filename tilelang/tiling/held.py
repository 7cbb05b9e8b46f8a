"""Layouts in the text of tile IR: which layout each value of a kernel is held in.

    %s: f32[64, 64] = dot %a, %b, %zero {layout = "mma 4x1"}       an accumulator of 4 x 1 warps of tensor cores
    %m: f32[64] = reduce %s {..., layout = "rows 4"}               a number for each row, with 4 warps
    %c: f32[64, 64] = convert_layout %s {layout = "linear"}        the layout of everything that says nothing
    ... = for ... {layouts = ("", "mma 4x1")} { ... }              of each carried value, from trip to trip

A layout in text has no extents: those are the value's. `layouts_of` reads all of a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from tilelang.diagnostics import InternalError
from tilelang.ir.core import Kernel, Op, Value
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.patch_layout import PatchLayout
from tilelang.tiling.row_layout import RowLayout

DotLayout = AccumulatorLayout | PatchLayout
Layout = DotLayout | RowLayout
"""Every layout but the linear one (`tilelang.tiling.layout`), for which None stands."""

LINEAR = "linear"
TOGETHER = "together"
"""The attribute of dots that warp groups do."""
STRIPED, WOVEN = "striped", {(False, False): "", (True, False): "woven rows", (False, True): "woven columns",
                             (True, True): "woven both"}


def show_layout(layout: Layout | None) -> str:
    """The layout as text."""
    if layout is None:
        return LINEAR
    if isinstance(layout, AccumulatorLayout):
        manner = STRIPED if layout.striped else WOVEN[layout.woven]
        return f"mma {layout.warps[0]}x{layout.warps[1]} {manner}".rstrip()
    return f"{'rows' if isinstance(layout, RowLayout) else 'patch'} {layout.warps}"


def read_layout(text: str, shape: tuple[int, ...]) -> Layout | None:
    """The layout that `show_layout` writes so, of a tile of this shape.

    Raises:
        InternalError: the text is none.
    """
    if text in (LINEAR, ""):
        return None
    found = re.fullmatch(r"(mma|rows|patch) (\d+)(?:x(\d+))?(.*)", text)
    if found is None:
        raise InternalError("layouts", f"`{text}` is no layout")
    kind, down, across, manner = found[1], int(found[2]), found[3], found[4].strip()
    if kind == "mma" and len(shape) > 1 and across is not None:
        woven = next((pair for pair, name in WOVEN.items() if name == manner), (False, False))
        return AccumulatorLayout(one_below_another(shape), (down, int(across)), manner == STRIPED, woven)
    if kind == "rows" and shape[1:] in ((), (1,)):
        return RowLayout(shape[0], down)
    if kind == "patch" and len(shape) == 2:
        return PatchLayout((shape[0], shape[1]), down)
    raise InternalError("layouts", f"`{text}` is no layout of a tile {list(shape)}")


def layouts_of(kernel: Kernel) -> dict[Value, Layout]:
    """The layout of each value of a tile kernel that is not in the linear one."""
    found = {value: read_layout(text, value.shape) for op in kernel.walk() for value, text in _told(op) if text}
    return {value: layout for value, layout in found.items() if layout is not None}


def _told(op: Op) -> Iterator[tuple[Value, str]]:
    """The values that an op gives layouts to, with these."""
    if "layout" in op.attrs:
        yield op.result, str(op.attrs["layout"])
    texts = op.attrs.get("layouts", ())
    if isinstance(texts, tuple) and texts:
        for argument, result, text in zip(op.blocks[0].args[1:], op.results, texts, strict=True):
            yield argument, str(text)
            yield result, str(text)


def like(layout: Layout, shape: tuple[int, ...]) -> Layout:
    """The layout of a tile of another shape whose elements, or numbers for rows, are where those of `layout` are."""
    if isinstance(layout, PatchLayout):
        return replace(layout, shape=one_below_another(shape))
    warps = layout.warps if isinstance(layout, RowLayout) else layout.warps[0]
    if shape[1:] in ((), (1,)):
        return RowLayout(shape[0], warps)
    if isinstance(layout, RowLayout):
        return AccumulatorLayout(one_below_another(shape), (warps, 1))
    return replace(layout, shape=one_below_another(shape))


def one_below_another(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a tile; the matrices of a batch make one tall one."""
    return prod(shape[:-1]), shape[-1]


def feeds(held: Layout | None, dot: Op, layout: Layout | None) -> bool:
    """Can a product with this layout take its operand A from where it is held? Its elements are then those of A's
    fragments, if each warp has whole rows and all that they need (`tilelang.tiling.tensor_cores`)."""
    return isinstance(held, AccumulatorLayout) and isinstance(layout, AccumulatorLayout) and has_whole_rows(layout) \
        and held.warps == layout.warps and has_whole_rows(held) and dot.operands[0].dtype.bits == 16 \
        and len(dot.result.shape) == 2


def has_whole_rows(layout: Layout) -> bool:
    """Does each warp have whole rows, those of a warp one below the other?"""
    if not isinstance(layout, AccumulatorLayout):
        return False
    return layout.warps[1] == 1 and not layout.striped and not any(layout.woven)
