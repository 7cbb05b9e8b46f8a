"""Source, IR and generated code side by side; what comes from one line of the source has one colour and is linked.

    let e = exp(v - m);  ────  %sub = sub %v, %m     ────  e_1 = exp(v_1 - m)
                          └──  %e = exp %sub
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tilelang.diagnostics import NOWHERE, InternalError, Source
from tilelang.driver import Compilation, chosen_kernel
from tilelang.ir.core import Kernel, Op
from tilelang.ir.printer import BLOCK_WORDS, op_head, show_attrs
from tilelang.notebook import svg

SIZE = 10.5
"""Of the letters."""
STEP = 15.0
"""From one line to the next."""
GAP = 36.0
TOP = 34.0
TOTAL = 162
"""Characters of all columns together, for a page 1160 pixels wide."""

TELLING = ("value", "kind", "axis", "axes")
"""The attributes of an op that are shown; the others say how it is done, not what."""

MARK = re.compile(r"\s*# (\d+): ")
"""The generated code quotes the line of the source that what follows comes from."""


@dataclass(frozen=True)
class Row:
    """One line of text; `key` is the line of the source it comes from, 0 if from none."""

    text: str
    key: int = 0


@dataclass(frozen=True)
class Column:
    """`head`: the first row may be long, and is cut rather than make the column wide."""

    title: str
    rows: tuple[Row, ...]
    head: bool = False


def linked(compilation: Compilation, *stages: str) -> svg.Picture:
    """The source beside some of what the compiler made of it: `tile_ir`, `optimized`, `thread_ir`, `cuda`, `cpu`.

    Raises:
        InternalError: the compilation has not gone as far as one of the stages.
    """
    columns = [source_column(compilation)]
    for stage in stages:
        made = getattr(compilation, stage)
        if made is None:
            raise InternalError("notebook", f"`{stage}` is to be shown, but the compiler was not asked for it")
        if isinstance(made, Kernel):
            columns.append(ir_column(TITLES[stage], made, compilation.source))
        else:
            columns.append(code_column(TITLES[stage], str(made)))
    return side_by_side(columns)


TITLES = {"tile_ir": "tile IR", "optimized": "tile IR, optimised", "thread_ir": "thread IR",
          "cuda": "GPU code (numba.cuda)", "cpu": "CPU code (numba)"}


# ------------------------------------------------------------------------------------ the columns


def source_column(compilation: Compilation) -> Column:
    """The kernel's own lines, each its own key."""
    source = compilation.source
    span = chosen_kernel(compilation).span
    first, last = source.position(span.start)[0], source.position(max(span.start, span.end - 1))[0]
    rows = [Row(source.line(n), n) for n in range(first, last + 1)]
    return Column(f"source ({source.name})", tuple(_without_comment(row) for row in rows), head=True)


def _without_comment(row: Row) -> Row:
    return Row(row.text.partition("#")[0].rstrip(), row.key)


def ir_column(title: str, kernel: Kernel, source: Source, telling: Sequence[str] = TELLING) -> Column:
    """The ops of a kernel, each with the line of its span, and of its attributes those that tell something."""
    return Column(title, tuple(_op_rows(kernel.body.ops, 0, source, telling)))


def _op_rows(ops: Sequence[Op], depth: int, source: Source, telling: Sequence[str]) -> Iterator[Row]:
    for op in ops:
        key = 0 if op.span == NOWHERE else source.position(op.span.start)[0]
        pad = "  " * depth
        head = pad + short_head(op, telling)
        for number, block in enumerate(op.blocks):
            takes = f" ({', '.join(map(str, block.args))})" if block.args else ""
            word = f" {BLOCK_WORDS[op.name]}" if op.name in BLOCK_WORDS else ""
            yield Row(f"{pad}}}{word}{takes} {{" if number else f"{head}{takes} {{", key)
            yield from _op_rows(block.ops, depth + 1, source, telling)
        yield Row(pad + "}" if op.blocks else head, key)


def short_head(op: Op, telling: Sequence[str] = TELLING) -> str:
    """An op's first line with the telling attributes only."""
    shown = {name: op.attrs[name] for name in telling if name in op.attrs}
    bare = op_head(Op(op.name, op.operands, op.results))
    return f"{bare} {show_attrs(shown)}" if shown else bare


def code_column(title: str, code: str) -> Column:
    """The body of the generated function; the comments that quote the source become keys."""
    lines = code.split("\n")
    start = next((n for n, text in enumerate(lines) if text.startswith("def ")), 0)
    rows: list[Row] = []
    key = 0
    for text in lines[start:]:
        mark = MARK.match(text)
        if mark:
            key = int(mark.group(1))
        elif text.strip():
            rows.append(Row(text, key))
    return Column(title, tuple(rows), head=True)


# ------------------------------------------------------------------------------------ the picture


def side_by_side(columns: Sequence[Column]) -> svg.Picture:
    """The columns with bands between rows of the same key."""
    widths = _widths(columns)
    made = {row.key for column in columns[1:] for row in column.rows}
    keys = sorted(made & {row.key for row in columns[0].rows})
    shades = {key: svg.colour(place) for place, key in enumerate(keys)}
    parts: list[str] = []
    left = 8.0
    places: list[tuple[float, float]] = []
    for column, width in zip(columns, widths, strict=True):
        pixels = svg.columns(width, SIZE) + 8
        places.append((left, left + pixels))
        parts += _column(column, width, left, pixels, shades)
        left += pixels + GAP
    for (one, (_, x1)), (two, (x2, _)) in zip(
        zip(columns[:-1], places[:-1], strict=True), zip(columns[1:], places[1:], strict=True), strict=True
    ):
        parts += _bands(one, two, x1, x2, shades)
    height = TOP + STEP * max(len(column.rows) for column in columns) + 10
    says = " beside ".join(column.title for column in columns) + ", lines of one origin in one colour"
    return svg.Picture(left - GAP + 8, height, tuple(parts), says)


def _widths(columns: Sequence[Column]) -> list[int]:
    """Characters for each column: what it needs, or a fair part of the whole."""
    needs = [max([len(c.title) + 2, *(len(row.text) for row in c.rows[c.head :])]) for c in columns]
    fair = TOTAL // len(columns)
    spare = sum(max(0, fair - need) for need in needs)
    greedy = sum(1 for need in needs if need > fair) or 1
    return [min(need, fair + spare // greedy) for need in needs]


def _column(column: Column, width: int, x: float, pixels: float, shades: dict[int, tuple[str, str]]) -> list[str]:
    parts = [svg.text(x, 20, column.title, size=12, bold=True)]
    for number, row in enumerate(column.rows):
        y = TOP + STEP * number
        if row.key in shades:
            parts.append(svg.rect(x, y, pixels, STEP, shades[row.key][0], radius=0))
        shown = row.text if len(row.text) <= width else row.text[: width - 1] + "…"
        parts.append(svg.text(x + 4, y + 11, shown, size=SIZE, mono=True))
    return parts


def _bands(one: Column, two: Column, x1: float, x2: float, shades: dict[int, tuple[str, str]]) -> list[str]:
    """A band from each run of rows to the runs of the same key beside it."""
    parts = []
    for key, top, bottom in _runs(one):
        for other, above, below in _runs(two):
            if key == other and key in shades:
                corners = [(x1, top), (x2, above), (x2, below), (x1, bottom)]
                parts.append(svg.polygon(corners, shades[key][0], opacity=0.6))
                middles = (top + bottom) / 2, (above + below) / 2
                parts.append(svg.line(x1, middles[0], x2, middles[1], shades[key][1], 0.8))
    return parts


def _runs(column: Column) -> list[tuple[int, float, float]]:
    """(key, top, bottom) of each run of rows with one key."""
    found, place = [], 0
    for key, rows in groupby(column.rows, key=lambda row: row.key):
        count = len(list(rows))
        found.append((key, TOP + STEP * place, TOP + STEP * (place + count)))
        place += count
    return found
