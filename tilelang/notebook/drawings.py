"""Pictures of what the compiler computes: layouts, and profiles on the machine model."""

from __future__ import annotations

from typing import Protocol

from tilelang.machine.profile import LineCounts, Profile
from tilelang.notebook import svg

CELL = 30.0
MOST = 32
"""Rows and columns that are drawn; of a larger tile the upper left corner."""

LONGEST = 44
"""Characters of a source line beside its bar."""


class Layout(Protocol):
    """Any layout of a tile: `tilelang.tiling.layout`, `tilelang.tiling.mma`, `tilelang.tiling.patch_layout`."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def threads(self) -> int: ...

    def place(self, coordinates: tuple[int, ...], /) -> tuple[int, int]: ...


def draw_layout(layout: Layout) -> svg.Picture:
    """A tile, each element with `thread.register`; the colour is the thread's. A corner of tiles that are large."""
    shape = layout.shape if len(layout.shape) > 1 else (1, *layout.shape)
    rows, columns = min(shape[-2], MOST), min(shape[-1], MOST)
    lead = (0,) * (len(layout.shape) - 2)
    parts = [svg.text(12, 22, f"a tile of {' x '.join(map(str, layout.shape))} in {layout.threads} threads; "
                              "each element: thread.register", size=13)]
    for row in range(rows):
        for column in range(columns):
            at = (*lead, row, column) if len(layout.shape) > 1 else (column,)
            thread, register = layout.place(at)
            parts += _cell(12 + CELL * column, 34 + CELL * row, thread, register)
    cut = (rows, columns) != (shape[-2], shape[-1]) or bool(lead)
    if cut:
        parts.append(svg.text(12, 52 + CELL * rows, "the upper left corner of the tile", size=12, fill=svg.FAINT))
    width = max(24 + CELL * columns, 480)
    says = f"which thread holds which element of a {' x '.join(map(str, layout.shape))} tile"
    return svg.Picture(width, 46 + CELL * rows + 18 * cut, tuple(parts), says)


def _cell(x: float, y: float, thread: int, register: int) -> list[str]:
    fill, stroke = svg.colour(thread)
    return [svg.rect(x, y, CELL - 2, CELL - 2, fill, stroke, says=f"thread {thread}, register {register}"),
            svg.text(x + CELL / 2 - 1, y + 18, f"{thread}.{register}", size=10, mono=True, anchor="middle")]


# ------------------------------------------------------------------------------------ profiles


def draw_profile(profile: Profile) -> svg.Picture:
    """HBM traffic beside the eager version's, the lines of the source, and what each part of the GPU takes at least."""
    parts = [svg.text(12, 24, f"{profile.kernel} on {profile.gpu.title}: {profile.programs:,} programs, at least "
                              f"{microseconds(profile.roofline.seconds)}, limited by {profile.roofline.limiter.name}",
                      size=14, bold=True)]
    y = 46.0
    parts += [svg.text(12, y, "bytes to and from HBM", size=12, fill=svg.FAINT)]
    moved = (("this kernel", profile.traffic.total, 2), ("one kernel per operation", profile.eager.bytes, 1))
    y = _bars(parts, [(name, amount, megabytes(amount), shade) for name, amount, shade in moved], y + 6)
    parts += [svg.text(12, y + 16, "time that each part of the GPU needs at least", size=12, fill=svg.FAINT)]
    terms = [(t.name, t.seconds, microseconds(t.seconds), 0) for t in profile.roofline.terms if t.seconds]
    y = _bars(parts, terms, y + 22)
    parts += [svg.text(12, y + 16, "bytes that each line asks of global memory", size=12, fill=svg.FAINT)]
    lines = [(_short(line), line.sectors * 32, _sectors(line.sectors, line.efficiency), 4)
             for line in profile.lines if line.line]
    y = _bars(parts, lines, y + 22, label=330)
    return svg.Picture(820, y + 10, tuple(parts), f"profile of {profile.kernel} on {profile.gpu.title}")


def _short(line: LineCounts) -> str:
    """A line of the source with its number, without comment and double blanks."""
    words = f"{line.line}: " + " ".join(line.text.partition("#")[0].split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _sectors(sectors: float, used: float | None) -> str:
    return f"{megabytes(sectors * 32)}, {100 * used:.0f}% of it used" if used is not None else "none"


def _bars(parts: list[str], rows: list[tuple[str, float, str, int]], y: float, label: float = 200) -> float:
    """Append a bar for each (name, value, value in words, colour); where the next thing may stand."""
    largest = max((value for _, value, _, _ in rows), default=0) or 1
    for name, value, words, shade in rows:
        fill, stroke = svg.colour(shade)
        long = (600 - label) * value / largest
        parts.append(svg.text(label, y + 15, name, size=12, anchor="end", mono=label > 200))
        parts.append(svg.rect(label + 8, y + 3, max(long, 1), 16, fill, stroke))
        parts.append(svg.text(label + 16 + long, y + 15, words, size=12))
        y += 22
    return y


def megabytes(amount: float) -> str:
    """`33.6 MB`; powers of ten."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= factor:
            return f"{amount / factor:.3g} {unit}"
    return f"{amount:.0f} B"


def microseconds(seconds: float) -> str:
    """`21.6 µs`, `1.2 ms`."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
