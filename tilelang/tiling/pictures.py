"""Layouts as pictures: which thread holds which element, in which register.

    picture(LinearLayout((2, 8), 4, vector=2))        thread.register

        0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1
        0.2 0.3 1.2 1.3 2.2 2.3 3.2 3.3
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tilelang.ir.access import access
from tilelang.ir.core import Kernel, Op, Value
from tilelang.tiling.anchors import choose_anchors
from tilelang.tiling.copy_plans import CopyPlans, plan_copies
from tilelang.tiling.dot_plans import CHUNK_BYTES, DotPlans, plan_dots
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.limits import threads_for
from tilelang.tiling.targets import Target
from tilelang.tiling.vectors import Vectors, choose_vectors

CELL = 36
"""Width and height of an element in an SVG picture, in pixels."""
GOLDEN_ANGLE = 137.508
"""Degrees of hue between a thread and the next: neighbours differ clearly, and no two of many threads are alike."""


def picture(layout: LinearLayout, rows: int = 8, columns: int = 16) -> str:
    """`thread.register` of the elements, one line for each row of the tile; at most so many, then dots."""
    lines, width = [], len(f"{layout.threads - 1}.{layout.registers - 1}")
    height, across = _extents(layout)
    for row in range(min(rows, height)):
        places = (layout.place(_coordinates(layout, row, column)) for column in range(min(columns, across)))
        line = " ".join(f"{thread}.{register}".rjust(width) for thread, register in places)
        lines.append(line + " ..." * (across > columns))
    return "\n".join([*lines, *["..."] * (height > rows)])


def svg_picture(layout: LinearLayout, rows: int = 16, columns: int = 32) -> str:
    """An SVG image: a square for each element in its thread's colour, with thread and register in it."""
    height, across = (min(extent, most) for extent, most in zip(_extents(layout), (rows, columns), strict=True))
    cells = [_cell(layout, row, column) for row in range(height) for column in range(across)]
    size = f'width="{across * CELL}" height="{height * CELL}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">',
                      *cells, "</svg>"])


def _cell(layout: LinearLayout, row: int, column: int) -> str:
    thread, register = layout.place(_coordinates(layout, row, column))
    x, y = column * CELL, row * CELL
    colour = f"hsl({thread * GOLDEN_ANGLE % 360:.0f} 60% 80%)"
    return (f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{colour}" stroke="#555"/>'
            f'<text x="{x + CELL // 2}" y="{y + CELL // 2 + 4}" text-anchor="middle">{thread}.{register}</text>')


def _extents(layout: LinearLayout) -> tuple[int, int]:
    """Rows and columns of a picture: the last axis goes across, all others down."""
    return prod(layout.shape[:-1]), (layout.shape or (1,))[-1]


def _coordinates(layout: LinearLayout, row: int, column: int) -> tuple[int, ...]:
    found = [column] if layout.shape else []
    for extent in reversed(layout.shape[:-1]):
        row, coordinate = divmod(row, extent)
        found.insert(0, coordinate)
    return tuple(found)


# ------------------------------------------------------------------------------------ a kernel's layouts


def show_layouts(kernel: Kernel, target: Target) -> str:
    """What the lowering decides for the tiles that a tile kernel loads and stores, with a picture of each shape."""
    threads = threads_for(kernel, target)
    alone = choose_anchors(kernel, target).alone if target.wgmma else {}
    kernel = lay_out(kernel, target)
    dots = plan_dots(kernel, target)
    copies = plan_copies(kernel, target, dots)
    vectors = choose_vectors(kernel, target, threads, dots, copies)
    shapes: dict[tuple[int, ...], list[str]] = {}
    for op in kernel.walk():
        if op.name in ("load", "store") and access(op).shape:
            lines = shapes.setdefault(access(op).shape, [])
            lines += [line for line in [_access_line(op, vectors, copies)] if line not in lines]
    parts = [f"{threads} threads on {target.name}", *(_product_lines(kernel, dots, alone) if target.wgmma else ())]
    for shape, lines in shapes.items():
        layout = LinearLayout(shape, threads, vectors.widths.get(prod(shape), 1))
        parts.append("\n".join(["", *_summary(layout), *lines, *_indented(picture(layout))]))
    return "\n".join(parts)


def _product_lines(kernel: Kernel, plans: DotPlans, alone: Mapping[Value, str]) -> Iterator[str]:
    """Which products warp groups do, and why not the others."""
    for op in kernel.walk():
        if op.name == "dot":
            plan, reason = plans.products.get(id(op)), alone.get(op.result, "tensor cores do not do it")
            how = "by warp groups (wgmma)" if plan is not None and plan.together else f"not by warp groups: {reason}"
            yield f"  dot {op.result.type}: {how}"


def _access_line(op: Op, vectors: Vectors, copies: CopyPlans) -> str:
    if id(op) in copies.loads:
        way = "straight" if copies.asynchronous else "and on"
        return f"  {op.name} {access(op).tensor.name}: {CHUNK_BYTES} bytes at once, {way} to shared memory"
    width = vectors.widths[prod(access(op).shape)] if id(op) in vectors.wide else 1
    dtype = access(op).tensor.dtype
    return f"  {op.name} {access(op).tensor.name}: {width * dtype.bytes} bytes at once ({width} x {dtype})"


def _summary(layout: LinearLayout) -> Iterator[str]:
    shape = ", ".join(map(str, layout.shape))
    row = f", {layout.vector} neighbours in a row" if layout.vector > 1 else ""
    yield f"[{shape}]: {layout.registers} registers in each thread{row}"


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
