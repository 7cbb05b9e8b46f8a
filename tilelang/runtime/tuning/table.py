"""A tuning result as a table: for a terminal (by rich), as plain text, and in HTML for notebooks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from html import escape

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tilelang.runtime.tuning.result import ESTIMATED, Trial, TuningResult
from tilelang.semantics.constants import Value
from tilelang.semantics.spaces import show

ROWS = 10
"""Configurations that are listed, if not all are asked for; and failures."""
WIDTH = 140
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))



def _headings(result: TuningResult) -> tuple[str, ...]:
    return ("time", "of default" if result.has_default else "of first", "rate", "runs", "")


def as_text(result: TuningResult, everything: bool = False) -> str:
    """The table without colours."""
    sheet = io.StringIO()
    console = Console(file=sheet, width=WIDTH, no_color=True, highlight=False, markup=False, emoji=False,
                      force_terminal=False, force_jupyter=False)  # in a notebook rich would show it, and write nothing
    for part in parts(result, everything):
        console.print(part)
    return "\n".join(line.rstrip() for line in sheet.getvalue().rstrip("\n").split("\n"))


def parts(result: TuningResult, everything: bool = False) -> Iterator[RenderableType]:
    """Title, table, and what stands below, for a rich console."""
    yield Text(title(result), style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in _names(result):
        table.add_column(name, justify="right", no_wrap=True)
    for heading in _headings(result):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=bool(heading))
    for trial in _rows(result, everything):
        style = "bold green" if trial is result.winner else "dim" if trial.failed else ""
        table.add_row(*(Text(cell) for cell in _cells(result, trial)), style=style)
    yield table
    for line in remarks(result, everything):
        yield Text(line)


def as_html(result: TuningResult, everything: bool = False) -> str:
    """The table for a notebook; it needs no style sheet."""
    cell = '<td style="text-align:{}">{}</td>'
    rows = []
    for trial in _rows(result, everything):
        *figures, remark = _cells(result, trial)
        cells = [cell.format("right", escape(text)) for text in figures] + [cell.format("left", escape(remark))]
        weight = ' style="font-weight:bold"' if trial is result.winner else ""
        rows.append(f"<tr{weight}>{''.join(cells)}</tr>")
    heads = (*_names(result), *_headings(result))
    head = "".join(f'<th style="text-align:right">{escape(text)}</th>' for text in heads)
    below = "".join(f"<div>{escape(line)}</div>" for line in remarks(result, everything))
    return (f"<div><b>{escape(title(result))}</b></div><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table>{below}")


# ------------------------------------------------------------------------------------ the words


def title(result: TuningResult) -> str:
    """`matmul, M=512, K=512, N=512, T=f32: 81 configurations, measured on znver3, 2 threads`."""
    known = "".join(f", {item}" for item in settings(result.settled))
    how = "estimated for" if result.by == ESTIMATED else "measured on"
    count = len(result.trials)
    return f"{result.kernel}{known}: {count} configuration{'s' if count != 1 else ''}, {how} {result.device}"


def remarks(result: TuningResult, everything: bool = False) -> Iterator[str]:
    """What stands below the table."""
    best = result.winner
    hidden = len(result.trials) - len(_rows(result, everything))
    if hidden:
        twins = sum(t.twin is not None for t in result.trials)
        yield f"... and {hidden} more" + (f", {twins} of them with the same code as another" if twins else "")
    if result.idle:
        yield f"{', '.join(result.idle)}: without effect here, not varied"
    if best is not None:
        other = "the default" if result.has_default else "the first"
        gain = f", {result.gain:.2f} times as fast as {other}" if result.gain is not None else ""
        chosen = " ".join(settings(best.metas))
        yield f"best: {chosen}{gain}" if best is not result.default else f"best: {other}, {chosen}"
    if result.by == ESTIMATED:
        yield "these are estimates by the machine model (the least time by its roofline); nothing was run on a GPU"
    if not result.flops and result.bytes:
        yield "rate: bytes of all arrays, each moved once"
    if result.note:
        yield result.note


def settings(metas: Mapping[str, Value]) -> list[str]:
    return [f"{name}={show(value)}" for name, value in metas.items()]


def duration(seconds: float) -> str:
    """`1.23 ms`."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def speed(amount: float, unit: str) -> str:
    """`801 GB/s`."""
    factor, prefix = next(((f, p) for f, p in PREFIXES if amount >= 0.9995 * f), (1.0, ""))
    return f"{amount / factor:.3g} {prefix}{unit}"


# ------------------------------------------------------------------------------------ the cells


def _names(result: TuningResult) -> list[str]:
    return list(result.trials[0].metas)


def _rows(result: TuningResult, everything: bool) -> list[Trial]:
    """The fastest, the default, and those that failed."""
    failed = [t for t in result.trials if t.failed and t.twin is None]
    if everything:
        return [*result.ranked, *failed, *(t for t in result.trials if t.twin is not None)]
    ranked = [t for place, t in enumerate(result.ranked) if place < ROWS or t is result.default]
    return [*ranked, *failed[:ROWS]]


def _cells(result: TuningResult, trial: Trial) -> list[str]:
    metas = [show(value) for value in trial.metas.values()]
    if trial.failed or trial.seconds is None:
        return [*metas, "-", "-", "-", "-", _why_not(trial)]
    base = result.default.seconds
    ratio = f"{trial.seconds / base:.2f}" if base else "-"
    rate = result.rate(trial)
    shown = speed(*rate) if rate is not None else "-"
    runs = str(trial.runs) if result.by != ESTIMATED else "-"
    return [*metas, duration(trial.seconds), ratio, shown, runs, _remark(result, trial)]


def _why_not(trial: Trial) -> str:
    return f"skipped: {trial.failed}" if trial.failed else "not measured"


def _remark(result: TuningResult, trial: Trial) -> str:
    words = ["best"] if trial is result.winner else []
    words += ["default"] if result.has_default and trial is result.default else []
    if trial.twin is not None:
        words.append(f"same code as {' '.join(settings(result.trials[trial.twin].metas))}")
    words += ["clearly slower, left early"] if trial.left else []
    return ", ".join(words)
