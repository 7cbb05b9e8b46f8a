"""Rows of large outputs, written past the cache.

An ordinary store first reads the cache line that it changes, and puts out of the cache what someone may still need. A
row of a large output is therefore computed into a line of scratch that stays in the cache, and goes from there to
memory in vectors that do neither:

    y_streams = streams(y, y_s1, M * N)                               once: is y large, and are rows without gaps?
    ...
    y_row = row_target(y, row * y_s0, memory + 4096, y_streams)       the line; or, if not, the row itself
    for i in range(stop):
        store(y_row, i * y_s1, v)
    stream_row(y, row * y_s0, y_row, stop, y_streams)
    ...
    settle_streams()                                                  at the end of the chunk

This pays in programs that compute meanwhile, the same in which `cpu_ahead` asks for rows: layer norm 4096 x 1024 takes
2.5 ms with it and 3.1 without, on one thread. A program of one loop has nothing to do while its lines are written:
vector add got slower, 14.9 ms instead of 13.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang.codegen.cpu_coords import ZERO
from tilelang.codegen.cpu_elements import Body, Coords, mask_limits
from tilelang.codegen.cpu_roots import AccessRoot, Root
from tilelang.codegen.cpu_rows import moving_axis
from tilelang.codegen.cpu_text import Lines
from tilelang.codegen.cpu_translation import Translation

SHORTEST = 256
"""Elements of a row, at least. Of shorter ones too much is ends, which do not fill a vector."""


@dataclass(frozen=True)
class Stream:
    """A store whose rows may be streamed: the texts of its tensor, of the flag that says whether, and of the stride."""

    root: AccessRoot
    tensor: str
    flag: str
    stride: str

    def open(self, body: Body, lines: Lines, coords: Coords) -> tuple[str, str]:
        """Write what goes before a row's loop; (the row's name, its offset in the tensor)."""
        translation = body.translation
        offset = body.target(self.root.parts, (*coords[:-1], ZERO)).offset.text
        row = translation.names.fresh(f"{self.tensor}_row")
        line = translation.line_of(self.tensor, self.root.shape[-1], self.root.parts.tensor.dtype)
        lines.add(f"{row} = row_target({self.tensor}, {offset}, {line}, {self.flag})")
        return row, offset


def find_stream(translation: Translation, roots: list[Root], coords: Coords) -> Stream | None:
    """The one store of a nest if its rows can be streamed."""
    if len(roots) != 1 or not isinstance(roots[0], AccessRoot) or not translation.may_stream:
        return None
    root, parts = roots[0], roots[0].parts
    if root.op.name != "store" or root.shape[-1] < SHORTEST or parts.pointwise:
        return None
    if parts.mask is not None and mask_limits(translation, parts.mask, coords) is None:
        return None
    axis = moving_axis(translation, parts, coords, len(coords) - 1)
    if axis is None:
        return None
    tensor = translation.tensor(parts.tensor)
    return Stream(root, tensor, translation.stream_flag(parts.tensor, axis), translation.stride(parts.tensor, axis))
