"""Which tiles that are turned in shared memory do not lie there in row-major order: a decision about bank conflicts.

    %v: f32[64, 64] = load ...            written by rows, 4 neighbours a thread:    4 passes an access of a warp
    %t: f32[64, 64] = permute %v     ->   read by columns:                          16
    store ..., %t                         folded by bits 5, 6, 8 to 11:              1 and 1

An analysis: it reads the tile kernel and changes nothing. A tile qualifies if a `permute` reads its shared copy, or if
it is a `cat`, which is put together there. Then the passes through the banks are counted, of the threads that write it
and of those that read it, for a few layouts (`tilelang.tiling.bank_layout`): plain; folded, where all extents are
powers of two; else padded. The one with the fewest is taken, the plain one if none is better.

It refuses operands of dots, which have an order of their own (`tilelang.tiling.mma.Swizzle`), and results of
reductions, which are put into shared memory by number. Padding is given up again where it makes a kernel too large
(`tilelang.tiling.lower`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from tilelang.ir.core import Kernel, Op, Value
from tilelang.tiling.bank_layout import BankLayout, Folded, Padded
from tilelang.tiling.layout import LinearLayout, linearize
from tilelang.tiling.uses import Uses

WARP = 32
BANK = 4
"""Bytes that a bank gives in one pass."""
SWEEP = 128
"""Bytes that fill all banks once."""
LOOKED_AT = 16
"""Registers of a thread whose accesses are counted: the others follow the same pattern."""
GAPS = (1, 2, 4)
"""Widths of padding that are tried, in words."""


@dataclass(frozen=True)
class Walk:
    """A loop of all threads over a tile; `touched` gives the number of the element of the shared copy that belongs to
    an element's coordinates."""

    layout: LinearLayout
    touched: Callable[[tuple[int, ...]], int]

    def element(self, thread: int, register: int) -> int | None:
        """The number that a thread touches in its turn `register`, None where it has nothing to do."""
        at = self.layout.coordinates(thread, register)
        return None if at is None else self.touched(at)


def plan_banks(kernel: Kernel, threads: int, widths: Mapping[int, int], *,
               padding: bool = True) -> dict[Value, BankLayout]:
    """The tiles of a tile kernel that lie in shared memory in another order than row-major, and in which.

    `widths`: the neighbouring elements that a thread has of tiles, by their sizes.
    """
    found: dict[Value, BankLayout] = {}
    uses = Uses(kernel)
    for op in kernel.walk():
        for value in op.results:
            if _qualifies(op, value, uses):
                layout = _best(value, tuple(_walks(op, value, uses, threads, widths)), padding)
                if layout is not None:
                    found[value] = layout
    return found


def _qualifies(op: Op, value: Value, uses: Uses) -> bool:
    users = uses.of(value)
    readers = [user for permute in _turning(users) for user in uses.of(permute.result)]
    free = op.name != "reduce" and all(user.name != "dot" for user in (*users, *readers))
    return free and (op.name == "cat" or bool(_turning(users)))


def _turning(users: Sequence[Op]) -> list[Op]:
    return [op for op in users if op.name == "permute"]


def _walks(op: Op, value: Value, uses: Uses, threads: int, widths: Mapping[int, int]) -> Iterator[Walk]:
    """Who writes the shared copy, and who reads it."""
    def layout(shape: tuple[int, ...]) -> LinearLayout:
        return LinearLayout(shape, threads, widths.get(prod(shape), 1))

    as_it_is = Walk(layout(value.shape), lambda at: linearize(at, value.shape))
    if op.name == "cat":
        axis = int(op.attrs["axis"])  # type: ignore[arg-type]
        for number, part in enumerate(op.operands):
            before = sum(v.shape[axis] for v in op.operands[:number])
            yield Walk(layout(part.shape), lambda at, before=before: linearize(  # type: ignore[misc]
                (*at[:axis], at[axis] + before, *at[axis + 1:]), value.shape))
    yield as_it_is
    for permute in _turning(uses.of(value)):
        axes: tuple[int, ...] = permute.attrs["axes"]  # type: ignore[assignment]
        yield Walk(layout(permute.result.shape), lambda at, axes=axes: linearize(  # type: ignore[misc]
            tuple(at[axes.index(axis)] for axis in range(len(axes))), value.shape))


# ---------------------------------------------------------------- choosing

def _best(value: Value, walks: Sequence[Walk], padding: bool) -> BankLayout | None:
    """The layout with the fewest passes; None if that is the plain one."""
    item = value.dtype.bytes
    candidates: list[BankLayout] = []
    if all(extent & (extent - 1) == 0 for extent in value.shape):
        candidates = [folded(walks, item)]
    elif padding:
        unit = max(BANK // item, 1)
        candidates = [Padded(every, gap * unit) for gap in GAPS for every in (value.shape[-1], SWEEP // item)]
    best, fewest = None, sum(passes(walk, None, item) for walk in walks)
    for layout in candidates:
        needed = sum(passes(walk, layout, item) for walk in walks)
        if needed < fewest:
            best, fewest = layout, needed
    return best


def passes(walk: Walk, layout: BankLayout | None, item: int) -> int:
    """Passes through the banks that the first warp's accesses take, to elements of `item` bytes."""
    total, together = 0, min(WARP, SWEEP // item)
    for register in range(min(walk.layout.registers, LOOKED_AT)):
        for first in range(0, WARP, together):
            numbers = [walk.element(thread, register) for thread in range(first, first + together)]
            places = (number if layout is None else layout.position(number) for number in numbers if number is not None)
            total += _passes_of({place * item // BANK for place in places}, max(item // BANK, 1))
    return total


def _passes_of(words: set[int], wide: int) -> int:
    """Passes of one access to these words; elements of more than a word take `wide` banks."""
    banks: dict[int, int] = {}
    for word in words:
        bank = word % (SWEEP // BANK) // wide
        banks[bank] = banks.get(bank, 0) + 1
    return max(banks.values(), default=0)


def folded(walks: Sequence[Walk], item: int) -> Folded:
    """Bit by bit above those that number the places of a sweep: the fewest bits to fold it into that help most.

    Lanes whose numbers differ in one bit touch elements that differ in some bits: a vector. A warp's access is free of
    conflicts if the vectors of its lanes, cut down to the bits that number the banks, are independent.
    """
    lowest, highest = max(BANK // item, 1).bit_length() - 1, (SWEEP // item).bit_length() - 1
    bits = min(WARP, SWEEP // item).bit_length() - 1
    vectors = [[walk.element(1 << bit, 0) or 0 for bit in range(bits)] for walk in walks]
    banks = [[v % (1 << highest) >> lowest for v in of_walk] for of_walk in vectors]
    choices = sorted(range(1 << highest - lowest), key=lambda choice: (choice.bit_count(), choice))
    folds: list[tuple[int, int]] = []
    for high in range(highest, max(v for of_walk in vectors for v in of_walk).bit_length()):
        turned = [[[b ^ (v >> high & 1) * choice for v, b in zip(*both, strict=True)]
                   for both in zip(vectors, banks, strict=True)] for choice in choices]
        most = max(range(len(choices)), key=lambda number: sum(rank(walk) for walk in turned[number]))
        banks = turned[most]
        folds += [(high, low) for low in range(lowest, highest) if choices[most] << lowest >> low & 1]
    return Folded(tuple(folds))


def rank(vectors: Sequence[int]) -> int:
    """How many of some vectors of bits are independent (Gaussian elimination)."""
    basis: list[int] = []
    for vector in vectors:
        rest = reduce(lambda left, member: min(left, left ^ member), basis, vector)
        if rest:
            basis = sorted((*basis, rest), reverse=True)
    return len(basis)
