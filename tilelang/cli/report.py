"""`tilec report`: what the machine code of the kernel library is like on a GPU, beside Triton's. No GPU is needed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from tilelang.cli.faults import OK, USAGE, Fault
from tilelang.near import nearest

if TYPE_CHECKING:
    from tilelang.bench.gpu_code import Figures, Row

COLUMNS = ("kernel", "by", "registers", "local", "128-bit", "tensor", "LDGSTS", "LDSM", "BAR", "instructions", "ratio")
LEGEND = ("`registers` of a thread; `local`: instructions that access spilled registers; `128-bit`: accesses of global "
          "memory that move 16 bytes, of all. Per step of the kernel's loop (all of a kernel without one): tensor-core "
          "instructions, asynchronous copies, ldmatrix, barriers, instructions, and their ratio to Triton's.")


@click.command("report")
@click.argument("names", nargs=-1)
@click.option("--target", "targets", multiple=True, default=("sm_80", "sm_90"), show_default=True, metavar="TARGET",
              help="A GPU to compile for; may be given several times.")
@click.option("--reference-python", metavar="PATH", help="A Python that has Triton, for the rows beside.")
@click.option("--markdown", is_flag=True, help="Print the table in Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
def command(names: tuple[str, ...], targets: tuple[str, ...], reference_python: str | None, markdown: bool,
            as_json: bool) -> int:
    """Compile kernels for GPUs and count what their machine code consists of.

    \b
    NAMES are beginnings of the rows' names; none means all. Nothing runs, and no GPU is needed, only the compilers
    of the extra `cuda`. With a Python that has Triton (python3 -m venv t && t/bin/pip install triton, then
    --reference-python t/bin/python), Triton's kernels of the same shape stand beside.
    """
    from tilelang.bench.gpu_cases import GPU_CASES
    from tilelang.bench.gpu_code import report

    chosen = [case for case in GPU_CASES if not names or any(case.name.startswith(name) for name in names)]
    if not chosen:
        raise Fault("E0737", f"no row of the report begins with `{names[0]}`",
                    notes=("there are: " + "; ".join(case.name for case in GPU_CASES),), status=USAGE)
    _check(targets, reference_python)
    rows = report(chosen, dict.fromkeys(targets), reference_python)
    click.echo(as_text(rows, markdown) if not as_json else json.dumps([as_dict(row) for row in rows], indent=1))
    return OK


def _check(targets: Sequence[str], python: str | None) -> None:
    from tilelang.bench.worker import KERNELS
    from tilelang.tiling.targets import TARGETS

    gpus = [name for name, target in TARGETS.items() if target.capability is not None]
    for name in targets:
        if name not in gpus:
            near = nearest(name, gpus)
            raise Fault("E0734", f"there is no GPU target `{name}`", notes=("the targets are " + ", ".join(gpus),),
                        help=f"did you mean `{near}`?" if near else "", status=USAGE)
    if python is not None and shutil.which(python) is None:
        raise Fault("E0710", f"there is no program `{python}`", help="name a Python that has Triton", status=USAGE)
    if not KERNELS.is_dir():
        raise Fault("E0710", f"there is no folder {KERNELS}: the report is about the course's kernels",
                    help="run `tilec report` from an editable install of the repository: pip install -e .")


def as_text(rows: Sequence[Row], markdown: bool) -> str:
    """A table for each target, and what its columns mean."""
    parts = []
    for target in dict.fromkeys(row.target for row in rows):
        cells = [line for row in rows if row.target == target for line in _lines(row)]
        table = _markdown([COLUMNS, *cells]) if markdown else _aligned([COLUMNS, *cells])
        parts.append(f"{'### ' if markdown else ''}{target}\n\n{table}\n")
    return "\n".join([*parts, LEGEND])


def _lines(row: Row) -> Iterator[Sequence[str]]:
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    yield row.case.name, "tilec", *_cells(row.ours), ratio
    if row.triton is not None:
        yield "", "Triton", *_cells(row.triton), ""
    elif row.missing:
        yield "", "Triton", row.missing.splitlines()[0][:60]


def _cells(figures: Figures) -> list[str]:
    per_step = (figures.tensor, figures.copies, figures.matrices, figures.barriers, figures.instructions)
    return [str(figures.registers), str(figures.local), f"{figures.wide} of {figures.accesses}",
            *(f"{number:g}" for number in per_step)]


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines if len(line) == len(COLUMNS))
              for column in range(len(COLUMNS))]
    return "\n".join("  ".join(
        cell.ljust(width) if column < 2 or len(line) < len(COLUMNS) else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(line, widths, strict=False))).rstrip() for line in lines)


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rest = lines
    rule = ["---" if column < 2 else "---:" for column in range(len(head))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *rest])


def as_dict(row: Row) -> dict[str, object]:
    """One row, for machines."""
    return {"kernel": row.case.name, "target": row.target, "tilec": asdict(row.ours),
            "triton": asdict(row.triton) if row.triton else None, "ratio": row.ratio, "missing": row.missing or None}
