"""Pass `minimise`: layouts for all other tiles, such that as few bytes as possible change their layout.

    %s = dot ... {layout = "mma 4x1"}                         %s = dot ... {layout = "mma 4x1"}
    %c = convert_layout %s {layout = "linear"}                %e = mul %s, %b {layout = "mma 4x1"}
    %e = mul %c, %b                                     ->    %h = cast %e {layout = "mma 4x1"}
    %h = cast %e                                              %c = convert_layout %h {layout = "linear"}
    store %y, %rows, %cols, %h                                store %y, %rows, %cols, %c
        64 x 64 f32 converted                                     64 x 64 f16 converted

Precondition: dots have their layouts (`tilelang.tiling.anchors`). What they want is fixed; loads, stores, scans and all
else that goes through shared memory or along a row in its own way is linear. In between, an elementwise op may be done
in either layout, a row's reduction too if a warp has whole rows, and a loop may carry a tile in either. Each choice of
sides costs the bytes of the tiles whose users are on the other side, in a loop as many times more: a cut of a network,
and the cheapest is found (`tilelang.tiling.min_cut`). Of equal ones it takes the one that leaves most tiles linear.

It refuses tiles of other shapes than the dots', and numbers for rows whose lines are split among warps.

The idea of a cut for a choice of one of two, priced by where the choices differ, is Stone's: "Multiprocessor scheduling
with the aid of network flow algorithms", 1977. That scores stay in registers between two products, as in
FlashAttention-2 (Dao, 2023), comes out of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.tiling.anywhere import Anywhere
from tilelang.tiling.conversions import CONVERT, Layouts, converted, is_row_view, uses_of_tiles, without_layouts
from tilelang.tiling.held import DotLayout, Layout, feeds, has_whole_rows, layouts_of, like
from tilelang.tiling.limits import warps_of
from tilelang.tiling.min_cut import NEVER, Network, Node
from tilelang.tiling.mma import WARP, AccumulatorLayout

TRIPS = 8
"""How often a loop's body is assumed to run."""
WAYS = 2
"""A conversion writes each element to shared memory, and reads it again."""
LOOPS = ("for", "while")
LINEAR_SIDE, HELD_SIDE = "linear", "held"


def minimise(kernel: Kernel) -> Kernel:
    """The pass."""
    if not anchors_of(kernel):
        return kernel
    plain = without_layouts(kernel, but_of_dots=True)
    return converted(plain, assign(plain, anchors_of(plain)))


def anchors_of(kernel: Kernel) -> dict[Value, DotLayout]:
    """The layouts that dots insist on."""
    dots = {op.result for op in kernel.walk() if op.name == "dot"}
    return {value: layout for value, layout in layouts_of(kernel).items() if value in dots}  # type: ignore[misc]


def assign(kernel: Kernel, anchors: Mapping[Value, DotLayout]) -> dict[Value, Layout]:
    """Layouts for the tiles of a kernel without conversions, of which dots have those in `anchors`."""
    found: dict[Value, Layout] = dict(anchors)
    for family in families(anchors):
        held = _Sides(kernel, family, found).cheapest()
        found.update({value: like(family.layout, value.shape) for value in held})
    return found


def price(kernel: Kernel) -> tuple[int, int]:
    """What a block moves through shared memory for conversions and for operands of dots, of a kernel with layouts and
    conversions: bytes, and how many tiles, each of which needs a barrier."""
    layouts, found = layouts_of(kernel), (0, 0)
    for op, trips in trips_of(kernel):
        if op.name in (CONVERT, "dot"):
            size, passes = (WAYS * bytes_of(op.result), 1) if op.name == CONVERT else _operands(op, layouts)
            found = found[0] + trips * size, found[1] + trips * passes
    return found


def _operands(dot: Op, layouts: Layouts) -> tuple[int, int]:
    """Every warp reads those of its part. A may be where it is needed."""
    (a, b, _), layout = dot.operands, layouts.get(dot.result)
    if not isinstance(layout, AccumulatorLayout):
        return 0, 0
    (rows, columns), warps = layout.part, layout.threads // WARP
    size = bytes_of(b) + warps * columns * a.shape[-1] * b.dtype.bytes
    if feeds(layouts.get(a), dot, layout):
        return size, 1
    return size + bytes_of(a) + warps * rows * a.shape[-1] * a.dtype.bytes, 2


def bytes_of(tile: Value) -> int:
    return tile.type.size * tile.dtype.bytes  # type: ignore[union-attr]


def trips_of(kernel: Kernel) -> Iterator[tuple[Op, int]]:
    """All ops, with how often each is assumed to be done."""
    def walk(block: Block, trips: int) -> Iterator[tuple[Op, int]]:
        for op in block.ops:
            yield op, trips
            for inner in op.blocks:
                yield from walk(inner, trips * TRIPS if op.name in LOOPS else trips)

    yield from walk(kernel.body, 1)


@dataclass(frozen=True)
class Family:
    """`dots` (their results) that hold their accumulators alike, so that one op can take from several of them."""

    layout: DotLayout
    dots: frozenset[Value]

    @property
    def shapes(self) -> frozenset[tuple[int, ...]]:
        return frozenset(dot.shape for dot in self.dots)

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Has a tile of this shape a place: as that of a dot, or as numbers for its rows?"""
        rows = self.layout.shape[0]
        return shape in self.shapes or (has_whole_rows(self.layout) and shape in ((rows,), (rows, 1)))


def families(anchors: Mapping[Value, DotLayout]) -> list[Family]:
    """The families: dots with whole rows and as many rows, others by shape."""
    together: dict[object, list[Value]] = {}
    for dot, layout in anchors.items():
        key = (layout.warps, layout.shape[0]) if has_whole_rows(layout) else layout
        together.setdefault(key, []).append(dot)
    return [Family(anchors[dots[0]], frozenset(dots)) for dots in together.values()]


class _Sides:
    """The network for one family: its dots are on the held side, what cannot be held on the linear one.

    `nodes`: of each tile that could be on either, the tile itself; of others, their side. `weights`: what it costs to
    convert a tile.
    """

    def __init__(self, kernel: Kernel, family: Family, taken: Layouts):
        self.kernel = kernel
        self.family = family
        self.all_threads = family.layout.threads == warps_of(kernel) * WARP
        self.anywhere = Anywhere(kernel)
        self.nodes: dict[Value, Node] = {value: LINEAR_SIDE for value in taken}
        self.nodes.update((dot, HELD_SIDE) for dot in family.dots)
        self.weights: dict[Value, int] = {}
        for op, trips in trips_of(kernel):
            self._definitions(op, trips)

    def cheapest(self) -> list[Value]:
        """The tiles that are held beside the dots, by the cheapest choice."""
        network = Network()
        for op, position, around in uses_of_tiles(self.kernel):
            value, user = op.operands[position], self._user(op, position, around)
            if user is None:
                network.edge(self._node(value), HELD_SIDE, self.weights[value])
            elif self._node(value) != LINEAR_SIDE or not self.anywhere.has(value):
                self._use(network, value, user)
        for value in self.nodes:
            self._price(network, value)
        for loop in (op for op in self.kernel.walk() if op.name == "for"):
            for argument, result in zip(loop.blocks[0].args[1:], loop.results, strict=True):
                if argument.shape:
                    network.edge(self._node(argument), self._node(result), NEVER)
                    network.edge(self._node(result), self._node(argument), NEVER)
        _, held = network.cut(LINEAR_SIDE, HELD_SIDE)
        return [value for value, node in self.nodes.items() if node == value and value in held]

    # ---------------------------------------------------------------- what could be on either side

    def _definitions(self, op: Op, trips: int) -> None:
        for value in op.results:
            self._meet(value, op, trips)
        for block in op.blocks:
            for argument in block.args:
                self._meet(argument, op if op.name == "for" else None, trips * TRIPS if op.name in LOOPS else trips)

    def _meet(self, value: Value, op: Op | None, trips: int) -> None:
        """A definition: by an op, or as an argument of a loop's body."""
        if not value.shape:
            return
        shown = op.operands[0] if op is not None and is_row_view(op) else None
        self.weights[value] = self.weights[shown] if shown in self.weights else WAYS * bytes_of(value) * trips
        could = op is not None and value not in self.nodes and self.family.takes(value.shape) and self._could(op)
        self.nodes.setdefault(value, value if could else LINEAR_SIDE)

    def _could(self, op: Op) -> bool:
        """Could the results of an op be held as those of the dots are?"""
        if op.name == "for" or not self.all_threads:
            return op.name == "for"
        if TILE_OPS[op.name].elementwise:
            return not self.anywhere.has(op.result) or any(self._node(v) != LINEAR_SIDE for v in op.operands)
        if not op.operands or self._node(op.operands[0]) == LINEAR_SIDE:
            return False
        if op.name == "reduce":
            along_rows = op.attrs["axes"] == (1,) and len(op.operands[0].shape) == 2
            return along_rows and has_whole_rows(self.family.layout)
        return is_row_view(op) and self._shows_rows(op.name, op.operands[0].shape, op.result.shape)

    def _shows_rows(self, name: str, shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
        """Is each number shown in its own row, and nothing else?"""
        column = (self.family.layout.shape[0], 1)
        if name == "broadcast":
            return shape in (column, result)
        return shape in (column, column[:1]) and result in (column, column[:1])

    def _node(self, value: Value) -> Node:
        return self.nodes.get(value, LINEAR_SIDE)

    # ---------------------------------------------------------------- what it costs

    def _user(self, op: Op, position: int, around: Op | None) -> Node | None:
        """The side on which an op wants an operand; None for an operand A, which is free on the held side."""
        value = op.operands[position]
        if op.name == "dot":
            ours, own = op.result in self.family.dots, self.family.layout
            if position == 2 and ours:
                return HELD_SIDE
            held = like(own, value.shape) if position == 0 and ours and self.family.takes(value.shape) else None
            return None if feeds(held, op, own) and self._node(value) != LINEAR_SIDE else LINEAR_SIDE
        if op.name == "for":
            return self._node(op.blocks[0].args[position - 2])
        if op.name == "yield" and around is not None and around.name == "for":
            return self._node(around.blocks[0].args[position + 1])
        return self._node(op.results[0]) if len(op.results) == 1 and not op.blocks else LINEAR_SIDE

    def _use(self, network: Network, value: Value, user: Node) -> None:
        """If value and user are on different sides, an edge of `_price` is cut, once for all users."""
        network.edge((value, HELD_SIDE), user, NEVER)
        network.edge(user, (value, LINEAR_SIDE), NEVER)

    def _price(self, network: Network, value: Value) -> None:
        """What it costs if users are on the held side and the value is not, and the other way round."""
        network.edge(self._node(value), (value, HELD_SIDE), self.weights[value])
        network.edge((value, LINEAR_SIDE), self._node(value), self.weights[value])
