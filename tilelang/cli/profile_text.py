"""A profile as text (tables by rich, in colour on a terminal only) and as data for `--json`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tilelang.cli.terminal import is_terminal, plural
from tilelang.diagnostics import Source
from tilelang.machine.profile import LineCounts, Profile
from tilelang.rendering import printable

WIDTH = 140
"""Columns where the output is not a terminal."""

SOURCE_WIDTH = 56
FIGURES_WIDTH = 70
"""What the other columns of the lines' table take; a narrow terminal shows less of the source."""

LAUNCH = 5e-6
"""Seconds that a launch takes, about."""

ADVICE = {
    "HBM": "move fewer bytes: fuse more, read each element once, use a narrower element type",
    "L2": "larger tiles, so that fewer programs read the same; or use all of each sector (`used` above)",
    "shared memory": "fewer accesses to shared memory for each operation, and no bank conflicts",
    "f32 arithmetic": "this is the best there is without tensor cores, if the operations are needed",
    "f64 arithmetic": "f64 is slow on this GPU; use f32 where it is enough",
    "integer arithmetic": "index arithmetic: more elements for each thread, powers of two as extents",
    "special functions": "fewer exp, log, div and the like for each element",
    "instruction issue": "fewer instructions for each element: wider accesses, less index arithmetic",
}


def show(profile: Profile, settled: Mapping[str, object], source: Source, list_eager: bool = False) -> None:
    """Print a profile to standard output."""
    terminal = is_terminal(sys.stdout)
    console = Console(file=sys.stdout, highlight=False, no_color=not terminal, markup=False, emoji=False,
                      width=None if terminal else WIDTH, force_terminal=terminal, soft_wrap=not terminal)
    for block in (_header(profile, settled, source), _lines(profile, console.width), _memory(profile),
                  _occupancy(profile), _roofline(profile), _limiter(profile), _findings(profile, source)):
        for part in block:
            console.print(part)
    if list_eager:
        for part in _eager_ops(profile, source):
            console.print(part)


# ------------------------------------------------------------------------------------ the blocks


def _header(p: Profile, settled: Mapping[str, object], source: Source) -> Iterable[Text]:
    gpu = p.gpu
    known = ", ".join(f"{name}={value}" for name, value in settled.items())
    yield Text(f"{p.kernel} ({printable(source.name)})" + (f", {known}" if known else ""), style="bold")
    yield Text(f"on {gpu.title} ({gpu.target}): {gpu.sms} SMs at {gpu.clock / 1e9:.2f} GHz, "
               f"HBM {_amount(gpu.memory_rate, 'B')}/s, L2 {gpu.l2 >> 20} MiB at {_amount(gpu.l2_rate, 'B')}/s, "
               f"f32 {gpu.f32 / 1e12:.1f} TFLOP/s")
    grid = " x ".join(map(str, p.grid))
    ran = f"{p.ran} of them were run, counts are scaled up" if p.sampled else "all were run"
    yield Text(f"grid {grid}: {plural(p.programs, 'program')} of {plural(p.resources.threads, 'thread')}; {ran}")
    yield Text()


def _lines(p: Profile, width: int) -> Iterable[Table | Text]:
    columns = (("line", "right"), ("", "left"), ("sectors", "right"), ("used", "right"), ("shared", "right"),
               ("conflicts", "right"), ("instructions", "right"), ("% of limit", "right"))
    room = max(12, min(SOURCE_WIDTH, width - FIGURES_WIDTH))
    rows = [(str(line.line or ""), _shortened(line.text if line.line else "(the launch)", room), *_figures(line))
            for line in p.lines]
    yield _table(columns, [*rows, ("", "total", *_figures(p.total))])
    yield Text("sectors: 32 bytes of global memory that a warp asks for; used: the part of them that threads want;\n"
               "shared: a warp's accesses to shared memory; conflicts: passes too many for them;\n"
               "% of limit: the line's part of what limits the kernel", style="dim")
    yield Text()


def _figures(line: LineCounts) -> tuple[str, ...]:
    used = "" if line.efficiency is None else f"{100 * line.efficiency:.0f}%"
    return (_count(line.sectors), used, _count(line.shared), _count(line.conflicts), _count(line.instructions),
            f"{100 * line.share:.1f}")


def _memory(p: Profile) -> Iterable[Table | Text]:
    """The fused kernel's traffic beside the eager version's."""
    t, e = p.traffic, p.eager
    rate = p.gpu.memory_rate
    rows = [(name, _amount(mine, "B"), _amount(theirs, "B"), f"{theirs / mine:.1f}x" if mine else "")
            for name, mine, theirs in (("HBM read", t.read, e.read), ("HBM written", t.written, e.written),
                                       ("HBM together", t.total, e.bytes))]
    rows.append(("time for it", _time(t.total / rate), _time(e.bytes / rate), ""))
    rows.append(("kernels", "1", _count(e.launches), ""))
    yield _table((("", "left"), ("this kernel", "right"), ("eager", "right"), ("ratio", "right")), rows)
    if t.total > t.compulsory:
        yield Text(f"with each sector read and written once: {_amount(t.compulsory, 'B')}, if the L2 cache were larger")
    if p.sampled:
        yield Text("HBM traffic of a sample: the L2 cache is taken to keep what programs share")
    if e.guessed:
        yield Text("eager: a loop whose trips depend on data is counted as one trip")
    yield Text()


def _occupancy(p: Profile) -> Iterable[Text]:
    o, r = p.occupancy, p.resources
    how = "ptxas" if r.measured else "estimate"
    if not o.blocks:
        yield Text(f"occupancy: no block fits on an SM; the limit is {o.limiter}", style="bold red")
    else:
        yield Text(f"occupancy {100 * o.fraction:.0f}%: {plural(o.blocks, 'block')}, {o.warps} of {o.most} warps "
                   f"on an SM, limited by {o.limiter}; "
                   f"{plural(p.waves, 'wave')} of at most {o.blocks * p.gpu.sms} blocks")
        yield Text(f"{r.registers} registers a thread ({how}), {_amount(r.shared, 'B')} shared memory a block, "
                   f"{_count(p.barriers)} barriers in all")
    yield Text()


def _roofline(p: Profile) -> Iterable[Table | Text]:
    roof = p.roofline
    rows = [(term.name, _amount(term.amount, term.unit), f"{_amount(term.rate, term.unit)}/s", _time(term.seconds),
             f"{100 * term.seconds / roof.seconds:.0f}") for term in roof.terms if term.amount]
    yield _table((("at least", "left"), ("work", "right"), ("rate", "right"), ("time", "right"),
                  ("% of limit", "right")), rows)
    yield Text()


def _limiter(p: Profile) -> Iterable[Text]:
    roof = p.roofline
    if not roof.seconds:
        yield Text("nothing to do: the grid is empty")
        return
    name = roof.limiter.name
    yield Text(f"limited by {name}: {_time(roof.seconds)} at least; {ADVICE[name]}", style="bold")
    if roof.seconds < LAUNCH:
        yield Text("that is less than it takes to launch a kernel (a few microseconds), which will decide")
    side = "below" if roof.intensity < roof.ridge else "above"
    yield Text(f"arithmetic intensity {roof.intensity:.3g} FLOP/B, {side} the ridge at {roof.ridge:.3g}")
    if roof.light:
        reached = 100 * roof.light / roof.seconds
        yield Text(f"speed of light {_time(roof.light)}: this kernel reaches {reached:.0f}% of it at best")


def _findings(p: Profile, source: Source) -> Iterable[Text]:
    for finding in p.findings:
        line, column = source.position(finding.span.start)
        yield Text(f"warning: {printable(source.name)}:{line}:{column}: {finding}", style="yellow")


def _eager_ops(p: Profile, source: Source) -> Iterable[Table | Text]:
    yield Text()
    rows = [(op.name, str(source.position(op.span.start)[0]), _count(op.launches), _amount(op.read, "B"),
             _amount(op.written, "B")) for op in p.eager.ops]
    yield _table((("eager kernel", "left"), ("line", "right"), ("launches", "right"), ("read", "right"),
                  ("written", "right")), rows)


def _table(columns: Sequence[tuple[str, str]], rows: Sequence[tuple[str, ...]]) -> Table:
    """A table whose figures are never cut."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, (title, side) in enumerate(columns):
        needed = max(map(len, (title, *(row[place] for row in rows)))) if side == "right" else 8
        table.add_column(title, justify=side, no_wrap=True, min_width=needed)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


# ------------------------------------------------------------------------------------ figures


PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def _amount(value: float, unit: str) -> str:
    """`16.8 MB`, `1.55 TB`; powers of ten, three digits."""
    for factor, prefix in PREFIXES:
        if value >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}" if unit == "B" else f"{value / factor:.3g} {prefix} {unit}"
    return f"{value:.3g} {unit}"


def _count(value: float) -> str:
    return f"{round(value):,}" if value else "0"


def _time(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _shortened(text: str, room: int) -> str:
    text = printable(text.replace("\t", " "))
    return text if len(text) <= room else text[:room - 3] + "..."


# ------------------------------------------------------------------------------------ data


def as_dict(p: Profile, settled: Mapping[str, object]) -> dict[str, object]:
    """All figures: bytes, seconds and counts, not rounded."""
    roof, held = p.roofline, p.occupancy
    return {
        "kernel": p.kernel, "settings": {name: value if isinstance(value, (bool, int, float)) else str(value)
                                         for name, value in settled.items()},
        "gpu": asdict(p.gpu), "grid": p.grid, "programs": p.programs, "programs_run": p.ran,
        "lines": [_line(line) for line in p.lines], "total": _line(p.total), "instructions": dict(p.instructions),
        "barriers": p.barriers, "traffic": asdict(p.traffic),
        "eager": {"read": p.eager.read, "written": p.eager.written, "launches": p.eager.launches,
                  "guessed": p.eager.guessed,
                  "kernels": [{"name": op.name, "read": op.read, "written": op.written, "launches": op.launches}
                              for op in p.eager.ops]},
        "resources": asdict(p.resources),
        "occupancy": {**asdict(held), "fraction": held.fraction, "limiter": held.limiter, "waves": p.waves},
        "roofline": {"terms": [asdict(term) for term in roof.terms], "limiter": roof.limiter.name,
                     "seconds": roof.seconds, "intensity": roof.intensity, "ridge": roof.ridge,
                     "speed_of_light": roof.light},
        "findings": [str(finding) for finding in p.findings],
    }


def _line(line: LineCounts) -> dict[str, object]:
    return {**asdict(line), "efficiency": line.efficiency}
