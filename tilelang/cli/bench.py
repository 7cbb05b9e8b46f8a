"""`tilec bench`: the kernel library on the CPU against NumPy and PyTorch."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilelang.cli.faults import OK, USAGE, Fault

if TYPE_CHECKING:
    from tilelang.bench.measure import Machine, Outcome

HEADER = (f"{'milliseconds':34s}{'tile':>10s}{'numpy':>10s}{'torch':>10s}{'ratio':>8s}{'aim':>6s}"
          f"{'cold, s':>9s}{'rate':>13s}")


@click.command("bench")
@click.argument("names", nargs=-1)
@click.option("--rounds", default=7, show_default=True, help="Turns of each contestant.")
@click.option("--threads", default=os.cpu_count() or 1, show_default=True, help="Threads of each contestant.")
@click.option("--reference-python", default=sys.executable, help="The Python that has NumPy and PyTorch.")
@click.option("--cpu-time", is_flag=True, help="One thread each, and processor time: for a busy machine.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures to this file.")
def command(names: tuple[str, ...], rounds: int, threads: int, reference_python: str, cpu_time: bool,
            json_file: Path | None) -> int:
    """Time kernels on the CPU against NumPy and, where it is installed, PyTorch.

    NAMES are beginnings of the benchmarks' names; none means all. A ratio below 1 means that the kernel is faster
    than the faster of the two. `rate` is what the kernel moves or computes, to be held against the last line.
    """
    from tilelang.bench.cases import CASES
    from tilelang.bench.measure import contestants, measure
    from tilelang.bench.worker import KERNELS

    chosen = [(number, case) for number, case in enumerate(CASES)
              if not names or any(case.name.startswith(name) for name in names)]
    if not chosen:
        raise Fault("E0736", f"no benchmark begins with `{names[0]}`",
                    notes=("there are: " + "; ".join(case.name for case in CASES),), status=USAGE)
    if not KERNELS.is_dir():
        raise Fault("E0710", f"there is no folder {KERNELS}: the benchmarks time the course's kernels",
                    help="run `tilec bench` from an editable install of the repository: pip install -e .")
    click.echo(HEADER)
    players = contestants(1 if cpu_time else threads, reference_python, cpu_time)
    outcomes = []
    try:
        for number, case in chosen:
            outcomes.append(measure(case, number, players, rounds))
            click.echo(line(outcomes[-1]))
        machine = next(p for p in players if p.name == "numpy").machine()
    finally:
        for player in players:
            player.close()
    click.echo(f"this machine, with NumPy: copies {machine.copy / 1e9:.1f} GB/s, "
               f"multiplies {machine.flops / 1e9:.1f} GFLOP/s")
    if json_file is not None:
        json_file.write_text(as_json(machine, outcomes), encoding="utf-8")
    return OK


def line(outcome: Outcome) -> str:
    """One row of the table."""
    cells = [f"{outcome.case.name:34s}"]
    for name in ("tile", "numpy", "torch"):
        seconds = outcome.seconds.get(name)
        cells.append(f"{seconds * 1e3:10.3f}" if seconds is not None else f"{'-':>10s}")
    cells.append(f"{outcome.ratio:8.2f}" if outcome.ratio is not None else f"{'-':>8s}")
    cells.append(f"{outcome.case.limit:6.2f}{outcome.cold:9.2f}{rate(outcome):>13s}")
    return "".join(cells)


def rate(outcome: Outcome) -> str:
    """What the kernel moved or computed in a second."""
    seconds = outcome.seconds.get("tile")
    if not seconds:
        return "-"
    if outcome.case.flops:
        return f"{outcome.case.flops / seconds / 1e9:.1f} GFLOP/s"
    return f"{outcome.case.bytes / seconds / 1e9:.1f} GB/s"


def as_json(machine: Machine, outcomes: Sequence[Outcome]) -> str:
    """All figures, for machines."""
    return json.dumps({
        "copy_bytes_per_second": machine.copy, "matmul_flops_per_second": machine.flops, "cpus": os.cpu_count(),
        "cases": [{"name": o.case.name, "seconds": o.seconds, "ratio": o.ratio, "limit": o.case.limit,
                   "cold_seconds": o.cold, "missing": o.missing, "bytes": o.case.bytes, "flops": o.case.flops}
                  for o in outcomes]}, indent=1)
