"""`tilec bench`: the kernel library on the CPU against NumPy and PyTorch."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from tilelang.cli.faults import OK, USAGE, Fault

if TYPE_CHECKING:
    from tilelang.bench.measure import Machine, Outcome, Start

CONTESTANTS = ("tile", "numpy", "torch")
HEADER = (f"{'milliseconds':34s}{'tile':>10s}{'numpy':>10s}{'torch':>10s}{'ratio':>8s}{'aim':>6s}"
          f"{'cold, s':>9s}{'cached, s':>11s}{'rate':>15s}")


MARKDOWN_HEADER = """\
| | tile, ms | NumPy, ms | PyTorch, ms | ratio | aim | cold, s | cached, s | rate |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


@click.command("bench")
@click.argument("names", nargs=-1)
@click.option("--rounds", default=7, show_default=True, help="Turns of each contestant.")
@click.option("--threads", default=os.cpu_count() or 1, show_default=True, help="Threads of each contestant.")
@click.option("--reference-python", default=sys.executable, help="The Python that has NumPy and PyTorch.")
@click.option("--cpu-time", is_flag=True, help="One thread each, and processor time: for a busy machine.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown, with the machine's name.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Also write all figures to this file.")
def command(names: tuple[str, ...], rounds: int, threads: int, reference_python: str, cpu_time: bool,
            markdown: bool, json_file: Path | None) -> int:
    """Time kernels on the CPU against NumPy and, where it is installed, PyTorch.

    NAMES are beginnings of the benchmarks' names; none means all. A ratio below 1 means that the kernel is faster
    than the faster of the two. `rate` is what the kernel moves or computes, to be held against the last line. `cold` is
    the time from text to the first result with nothing compiled before, `cached` the same in a second process;
    both without what a process pays once, which the last line says.
    """
    from tilelang.bench.cases import CASES
    from tilelang.bench.measure import Contestant, contestants, measure
    from tilelang.bench.worker import KERNELS

    chosen = [(number, case) for number, case in enumerate(CASES)
              if not names or any(case.name.startswith(name) for name in names)]
    if not chosen:
        raise Fault("E0736", f"no benchmark begins with `{names[0]}`",
                    notes=("there are: " + "; ".join(case.name for case in CASES),), status=USAGE)
    if not KERNELS.is_dir():
        raise Fault("E0710", f"there is no folder {KERNELS}: the benchmarks time the course's kernels",
                    help="run `tilec bench` from an editable install of the repository: pip install -e .")
    used = 1 if cpu_time else threads
    click.echo(MARKDOWN_HEADER if markdown else HEADER)
    outcomes = []
    with TemporaryDirectory() as cache, ExitStack() as ending:
        players = contestants(used, reference_python, cache, cpu_time)
        second = Contestant("tile", sys.executable, used, cache)
        for player in (*players, second):
            ending.callback(player.close)
        start = players[0].start()
        second.start()
        for number, case in chosen:
            outcomes.append(measure(case, number, players, rounds, second))
            click.echo(markdown_line(outcomes[-1]) if markdown else line(outcomes[-1]))
        machine = next(p for p in players if p.name == "numpy").machine()
    if markdown:
        click.echo("")
    click.echo(summary(machine, start, used))
    if json_file is not None:
        json_file.write_text(as_json(machine, start, outcomes), encoding="utf-8")
    return OK


def summary(machine: Machine, start: Start, threads: int) -> str:
    """The machine, to hold the rates against, and what a process pays before its first kernel."""
    return (f"{processor()}, {threads} thread{'s' * (threads > 1)}; with NumPy it copies {machine.copy / 1e9:.1f} GB/s "
            f"and multiplies {machine.flops / 1e9:.1f} GFLOP/s. Once in a process: imports {start.imports:.2f} s, "
            f"parser, numba and driver {start.once:.2f} s.")


def processor() -> str:
    """The processor's name and the width of its vectors, as far as the system tells."""
    name, flags = platform.processor() or platform.machine(), ""
    with suppress(OSError):
        for entry in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = entry.partition(":")
            name = value.strip() if key.strip() == "model name" else name
            flags = value if key.strip() == "flags" else flags
    widest = next((isa for isa in ("avx512f", "avx2", "avx") if isa in flags.split()), "")
    return f"{name} ({widest.upper().replace('512F', '-512')})" if widest else name


def line(outcome: Outcome) -> str:
    """One row of the table."""
    cells = [f"{outcome.case.name:34s}"]
    for name in CONTESTANTS:
        seconds = outcome.seconds.get(name)
        cells.append(f"{seconds * 1e3:10.3f}" if seconds is not None else f"{'-':>10s}")
    cells.append(f"{outcome.ratio:8.2f}" if outcome.ratio is not None else f"{'-':>8s}")
    cells.append(f"{outcome.case.limit:6.2f}{outcome.cold:9.2f}{outcome.cached:11.3f}{rate(outcome):>15s}")
    return "".join(cells)


def markdown_line(outcome: Outcome) -> str:
    """One row of the table in Markdown."""
    times = [f"{outcome.seconds[name] * 1e3:.2f}" if name in outcome.seconds else "" for name in CONTESTANTS]
    ratio = f"{outcome.ratio:.2f}" if outcome.ratio is not None else ""
    cells = [outcome.case.name, *times, ratio, f"{outcome.case.limit:.2f}", f"{outcome.cold:.2f}",
             f"{outcome.cached:.3f}", rate(outcome)]
    return f"| {' | '.join(cells)} |"


def rate(outcome: Outcome) -> str:
    """What the kernel moved or computed in a second."""
    seconds = outcome.seconds.get("tile")
    if not seconds:
        return "-"
    if outcome.case.flops:
        return f"{outcome.case.flops / seconds / 1e9:.1f} GFLOP/s"
    return f"{outcome.case.bytes / seconds / 1e9:.1f} GB/s"


def as_json(machine: Machine, start: Start, outcomes: Sequence[Outcome]) -> str:
    """All figures, for machines."""
    return json.dumps({
        "copy_bytes_per_second": machine.copy, "matmul_flops_per_second": machine.flops, "cpus": os.cpu_count(),
        "import_seconds": start.imports, "once_seconds": start.once,
        "cases": [{"name": o.case.name, "seconds": o.seconds, "ratio": o.ratio, "limit": o.case.limit,
                   "cold_seconds": o.cold, "cached_seconds": o.cached, "missing": o.missing,
                   "bytes": o.case.bytes, "flops": o.case.flops}
                  for o in outcomes]}, indent=1)
