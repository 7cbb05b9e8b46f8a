"""A GPU in boxes: how work is divided, and which memory stands where."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.notebook import svg


def draw_grid(programs: int, warps: int, sms: int) -> svg.Picture:
    """The first programs of a grid, on which SM each runs in turn, and one of them taken apart: warps, threads."""
    shown = min(programs, 12)
    parts = [
        svg.text(
            14, 26, f"A grid of {programs} programs; each is a block of {warps * 32} threads", size=14, bold=True
        )
    ]
    for number in range(shown):
        fill, stroke = svg.colour(number % sms)
        x = 14 + 66 * number
        parts += [
            svg.rect(x, 42, 60, 40, fill, stroke, radius=5),
            svg.text(x + 30, 60, f"block {number}", size=11, anchor="middle"),
            svg.text(x + 30, 75, f"on SM {number % sms}", size=10, anchor="middle", fill=svg.FAINT),
        ]
    if shown < programs:
        parts.append(svg.text(14 + 66 * shown + 6, 66, "…", size=16))
    parts += [
        svg.line(14, 82, 14, 118, svg.colour(0)[1]),
        svg.line(74, 82, 14 + 32 * 22 + 74, 118, svg.colour(0)[1]),
        svg.text(
            14, 136, "block 0, taken apart: a warp is 32 threads that do the same step at the same time", size=12.5
        ),
    ]
    for warp in range(warps):
        fill, stroke = svg.colour(warp)
        y = 148 + 32 * warp
        parts.append(svg.text(14, y + 17, f"warp {warp}", size=11.5))
        parts += [svg.rect(74 + 22 * lane, y, 20, 24, fill, stroke) for lane in range(32)]
        parts += [
            svg.text(84 + 22 * lane, y + 16, str(warp * 32 + lane), size=9, anchor="middle", mono=True)
            for lane in range(32)
        ]
    return svg.Picture(
        14 + 66 * 12 + 30, 160 + 32 * warps, tuple(parts), f"a grid of {programs} blocks of {warps} warps"
    )


def draw_gpu(name: str, sms: int, memories: Sequence[tuple[str, str, str]]) -> svg.Picture:
    """A GPU: its SMs with registers and shared memory, the L2 cache, the HBM.

    `memories`: (name, size, rate) in words of registers, shared memory (both of one SM), L2 and HBM.
    """
    registers, shared, l2, hbm = memories
    parts = [svg.text(14, 26, f"{name}: {sms} SMs share one L2 cache and one memory", size=14, bold=True)]
    for place, label in enumerate(("SM 0", "SM 1", "SM 2", "…", f"SM {sms - 1}")):
        x = 14 + 166 * place
        if label == "…":
            parts.append(svg.text(x + 78, 130, f"… {sms - 4} more …", size=13, anchor="middle", fill=svg.FAINT))
            continue
        parts += [
            svg.rect(x, 42, 156, 160, "#ffffff", svg.RULE, radius=8),
            svg.text(x + 78, 62, label, bold=True, anchor="middle"),
            *_threads(x + 10, 72),
            *_memory(x + 10, 104, 136, registers, 4),
            *_memory(x + 10, 152, 136, shared, 2),
            svg.arrow(x + 78, 234, x + 78, 203),
            svg.arrow(x + 78, 203, x + 78, 234),
        ]
    parts += [
        *_memory(14, 234, 820, l2, 0),
        svg.arrow(424, 310, 424, 277),
        svg.arrow(424, 277, 424, 310),
        *_memory(14, 310, 820, hbm, 1),
    ]
    return svg.Picture(848, 368, tuple(parts), f"{name}: SMs with registers and shared memory, L2 cache, HBM")


def _threads(x: float, y: float) -> list[str]:
    return [
        svg.rect(x + 8.6 * (n % 16), y + 11 * (n // 16), 7, 9, svg.colour(n // 16)[0], svg.RULE, radius=1)
        for n in range(32)
    ]


def _memory(x: float, y: float, width: float, memory: tuple[str, str, str], shade: int) -> list[str]:
    name, size, rate = memory
    fill, stroke = svg.colour(shade)
    if width < 300:
        return [
            svg.rect(x, y, width, 42, fill, stroke, radius=4),
            svg.text(x + 8, y + 17, f"{name}, {size}", size=11.5),
            svg.text(x + 8, y + 34, rate, size=11, fill=svg.FAINT),
        ]
    return [
        svg.rect(x, y, width, 42, fill, stroke, radius=4),
        svg.text(x + width / 2, y + 26, f"{name}: {size}, {rate}", anchor="middle"),
    ]


def draw_memories(rows: Sequence[tuple[str, float, str, float, str]]) -> svg.Picture:
    """Size against speed. `rows`: (name, bytes, size in words, bytes a second, rate in words), from fast to slow.

    Both bars are logarithmic: each grid line is ten times the one before it.
    """
    parts = [
        svg.text(14, 26, "Fast memory is small, large memory is slow", size=14, bold=True),
        svg.text(164, 50, "size of all of it", size=12, fill=svg.FAINT),
        svg.text(510, 50, "bytes a second", size=12, fill=svg.FAINT),
    ]
    bottoms = min(r[1] for r in rows), min(r[3] for r in rows)
    for place, (name, size, size_words, rate, rate_words) in enumerate(rows):
        y = 62 + 34 * place
        fill, stroke = svg.colour(place)
        parts.append(svg.text(14, y + 17, name, size=12.5))
        for x, value, words, least in ((164, size, size_words, bottoms[0]), (510, rate, rate_words, bottoms[1])):
            long = _long(value, least)
            parts += [svg.rect(x, y, long, 24, fill, stroke), svg.text(x + long + 8, y + 17, words, size=12.5)]
    y = 62 + 34 * len(rows)
    parts.append(svg.text(14, y + 16, "Logarithmic: 50 pixels are a factor of ten.", size=11, fill=svg.FAINT))
    return svg.Picture(860, y + 30, tuple(parts), "sizes and speeds of a GPU's memories")


def _long(value: float, least: float) -> float:
    from math import log10

    return 20 + 50 * log10(value / least)
