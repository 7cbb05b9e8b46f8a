"""Who uses a value of the tile kernel, and where it is made."""

from __future__ import annotations

from tilelang.ir.access import access
from tilelang.ir.core import Block, Kernel, Op, Value


class Uses:
    """Which ops use a value, in the whole kernel, and in which block values and ops stand."""

    def __init__(self, kernel: Kernel):
        self._users: dict[Value, list[Op]] = {}
        self._block: dict[object, int] = {}
        self._collect(kernel.body)

    def _collect(self, body: Block) -> None:
        for value in body.args:
            self._block[value] = id(body)
        for op in body.ops:
            self._block[id(op)] = id(body)
            for operand in dict.fromkeys(op.operands):
                self._users.setdefault(operand, []).append(op)
            for value in op.results:
                self._block[value] = id(body)
            for block in op.blocks:
                self._collect(block)

    def of(self, value: Value) -> list[Op]:
        return self._users.get(value, [])

    def ends_at(self, value: Value, op: Op) -> bool:
        """Is `op` the only user of `value`, and executed once for each time `value` is computed?"""
        users = self.of(value)
        return len(users) == 1 and users[0] is op and self._block.get(value) == self._block[id(op)]


def reads_other_elements(user: Op, value: Value) -> bool:
    """Does a thread, doing its part of `user`, need elements of `value` that other threads hold?"""
    if user.name == "broadcast":
        return user.operands[0].type.size != user.result.type.size  # type: ignore[union-attr]
    if user.name == "permute":
        return True
    if user.name == "dot":
        return value in user.operands[:2]
    if user.name in ("load", "store", "atomic"):
        return value in outer_indices(user)
    return False


def outer_indices(op: Op) -> list[Value]:
    """The index tiles of a memory op that hold one axis of the accessed shape each, not the element's own index."""
    parts = access(op)
    if parts.pointwise or len(parts.shape) == 1:
        return []
    return [index for index in parts.indices if index.shape]
