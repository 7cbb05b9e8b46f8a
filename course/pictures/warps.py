"""What one access of a warp moves: its 32 threads above, the sectors of memory below."""

from __future__ import annotations

from collections.abc import Sequence

from tilelang.machine.traffic import SECTOR
from tilelang.notebook import svg

CELL, LEFT = 24.0, 88.0


def draw_warp(addresses: Sequence[int], item: int, title: str) -> svg.Picture:
    """Each thread and the sector it reads `item` bytes from. `addresses`: a byte address for each thread, from 0.

    Only the sectors that are touched are drawn, in order.
    """
    touched = sorted({address // SECTOR for address in addresses})
    wide = (CELL * len(addresses) - 4 * (len(touched) - 1)) / len(touched)
    parts = [
        svg.text(14, 26, title, size=14, bold=True),
        svg.text(14, 62, "threads", size=12),
        svg.text(14, 152, "sectors", size=12),
    ]
    lefts = {sector: LEFT + (wide + 4) * place for place, sector in enumerate(touched)}
    for sector, x in lefts.items():
        fill, stroke = svg.colour(touched.index(sector))
        parts.append(
            svg.rect(x, 134, wide, 28, fill, stroke, says=f"bytes {sector * SECTOR} to {(sector + 1) * SECTOR - 1}")
        )
    for thread, address in enumerate(addresses):
        sector, within = divmod(address, SECTOR)
        fill, stroke = svg.colour(touched.index(sector))
        x = LEFT + CELL * thread
        below, size = lefts[sector] + wide * within / SECTOR, max(wide * item / SECTOR, 2)
        parts += [
            svg.line(x + CELL / 2, 72, below + size / 2, 134, stroke, 0.9),
            svg.rect(below, 138, size - 0.5, 20, stroke, opacity=0.55, radius=0),
            svg.rect(x, 46, CELL - 2, 26, fill, stroke),
            svg.text(x + CELL / 2 - 1, 63, str(thread), size=10, mono=True, anchor="middle"),
        ]
    moved, wanted = SECTOR * len(touched), len({*addresses}) * item
    parts.append(
        svg.text(
            LEFT,
            184,
            f"{len(touched)} sectors of {SECTOR} bytes move, {moved} bytes; the threads "
            f"want {wanted} of them ({100 * wanted / moved:.0f}%)",
            size=12.5,
        )
    )
    return svg.Picture(LEFT + CELL * len(addresses) + 14, 202, tuple(parts), title)
