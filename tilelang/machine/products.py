"""Products of warp groups under way: which accumulators are not there yet, and what may still be read.

Each thread's products form groups; a wait lets all but the newest groups end. The numbers are computed when a product
starts. Until the wait its accumulators are in flight, and at every barrier in between its operands count as read once
more: a barrier does not keep apart what the tensor cores still read and what is written next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tilelang.machine.groups import Groups, active
from tilelang.machine.lanes import Lanes
from tilelang.machine.memory import Registers
from tilelang.machine.races import Access, AccessLog


@dataclass(frozen=True)
class Product:
    """One execution of `shared.wgmma`. `registers[first .. first + count]` are its accumulators; `reads` its accesses,
    by the array's name. `mask` (programs, threads): who has not waited for it; `group`: the number of each thread's
    group."""

    registers: Registers
    first: np.ndarray
    count: int
    reads: tuple[tuple[str, Access], ...]
    mask: np.ndarray
    group: np.ndarray


@dataclass
class Products(Groups):
    """The products of a batch."""

    pending: list[Product] = field(default_factory=list)

    def start(self, registers: Registers, first: np.ndarray, count: int, reads: Sequence[tuple[str, Access]],
              lanes: Lanes) -> None:
        started = Product(registers, first, count, tuple(reads), active(lanes), self.closed.copy())
        self.pending.append(started)
        _mark(started, started.mask, True)

    def wait(self, leave: int, lanes: Lanes) -> None:
        left = []
        for product in self.pending:
            ended = product.mask & self.ended(product.group, leave, lanes)
            _mark(product, ended, False)
            product = replace(product, mask=product.mask & ~ended)
            if product.mask.any():
                left.append(product)
        self.pending = left
        for product in left:  # earlier products may have had the same accumulators
            _mark(product, product.mask, True)

    def read_on(self, logs: dict[str, AccessLog], programs: np.ndarray | None) -> None:
        """These programs (None: all) have passed a barrier, after which their products go on reading."""
        for product in self.pending:
            going_on = product.mask if programs is None else product.mask & programs[:, None]
            for name, access in product.reads:
                lanes = access.lanes.where(going_on[None])
                if lanes is not None and name in logs:
                    logs[name].record(replace(access, lanes=lanes))


def _mark(product: Product, mask: np.ndarray, under_way: bool) -> None:
    """Are the accumulators of these threads in flight?"""
    lanes = Lanes((1, *mask.shape), mask[None])
    for number in range(product.count):
        product.registers.set_in_flight(product.first + np.int32(number), lanes, under_way)
