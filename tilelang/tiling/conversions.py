"""Pass `conversions`: wherever a value is wanted in another layout than it has, an op of its own takes it there.

    %s: f32[64, 64] = dot ... {layout = "mma 2x2"}          %s: f32[64, 64] = dot ... {layout = "mma 2x2"}
    %e: f32[64, 64] = exp %s                          ->    %c: f32[64, 64] = convert_layout %s {layout = "linear"}
    store %y, %rows, %cols, %e                              %e: f32[64, 64] = exp %c
                                                            store %y, %rows, %cols, %e

Precondition: no conversions yet; dots may have layouts (`tilelang.tiling.anchors`), everything else is linear. A value
is converted once for each other layout that somebody wants, right behind its definition, so outside of the loops that
use it. A view of numbers for rows is not converted: it is made again, of what it shows in the other layout.

It refuses to convert what any thread can have anyway (`tilelang.tiling.anywhere`). Which layout a user wants is written
down once, in `wanted`; `misplaced` finds the operands that are not where they are wanted: none, behind this pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilelang.ir.core import Block, Kernel, Op, Value
from tilelang.ir.emit import Emitter
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.passes.rewrite import Rewriter
from tilelang.tiling.anywhere import Anywhere
from tilelang.tiling.held import TOGETHER, Layout, feeds, layouts_of, like, show_layout

Layouts = Mapping[Value, Layout]
CONVERT = "convert_layout"
OF_LAYOUTS = ("layout", "layouts", TOGETHER)
"""The attributes that the passes on layouts add."""
ROW_VIEWS = ("broadcast", "reshape")


def insert_conversions(kernel: Kernel) -> Kernel:
    """The pass."""
    return converted(kernel, layouts_of(kernel))


def converted(kernel: Kernel, layouts: Layouts) -> Kernel:
    """The kernel with each value in its layout (linear, if it has none there), and conversions where they clash."""
    return _Insertion(kernel, layouts).run() if layouts else kernel


def is_row_view(op: Op) -> bool:
    """Does an op that keeps the layout of its operand only show numbers for rows in another shape?"""
    return op.name in ROW_VIEWS


def wanted(user: Op, position: int, layouts: Layouts, around: Op | None = None) -> Layout | None:
    """The layout in which an op wants an operand; None for the linear one. `around`: the loop that a `yield` ends."""
    value = user.operands[position]
    if user.name == CONVERT:
        return layouts.get(value)
    if user.name == "dot":
        own = layouts.get(user.result)
        if position == 2:
            return own
        return layouts[value] if position == 0 and feeds(layouts.get(value), user, own) else None
    if user.name == "for":
        return layouts.get(user.blocks[0].args[position - 2]) if position >= 3 else None
    if user.name == "yield" and around is not None and around.name == "for":
        return layouts.get(around.blocks[0].args[position + 1])
    if len(user.results) == 1 and user.result in layouts:
        return like(layouts[user.result], value.shape)
    return None


def uses_of_tiles(kernel: Kernel) -> Iterator[tuple[Op, int, Op | None]]:
    """(op, position, op around it) for each operand that is a tile, inner ops behind outer ones."""
    def walk(block: Block, around: Op | None) -> Iterator[tuple[Op, int, Op | None]]:
        for op in block.ops:
            skipped = 1 if TILE_OPS[op.name].reads or TILE_OPS[op.name].writes else 0  # the tensor
            for position, operand in enumerate(op.operands):
                if position >= skipped and operand.shape:
                    yield op, position, around
            for inner in op.blocks:
                yield from walk(inner, op)

    yield from walk(kernel.body, None)


def misplaced(kernel: Kernel) -> list[tuple[Op, Value]]:
    """The uses of values that are not where their users want them."""
    layouts = layouts_of(kernel)
    anywhere = Anywhere(kernel, layouts)
    return [(op, op.operands[at]) for op, at, around in uses_of_tiles(kernel)
            if not anywhere.has(op.operands[at]) and layouts.get(op.operands[at]) != wanted(op, at, layouts, around)]


def without_layouts(kernel: Kernel, *, but_of_dots: bool = False) -> Kernel:
    """The kernel with all tiles linear, or undecided, and no conversions."""
    return _Plain(kernel, but_of_dots).run()


class _Plain(Rewriter):
    def __init__(self, kernel: Kernel, but_of_dots: bool):
        super().__init__(kernel)
        self.but_of_dots = but_of_dots

    def visit(self, op: Op) -> None:
        if op.name == CONVERT:
            self.replace(op, op.operands[0])
        elif op.name == "dot" and self.but_of_dots:
            self.keep(op)
        else:
            self.keep(replace(op, attrs={k: v for k, v in op.attrs.items() if k not in OF_LAYOUTS}))


class _Insertion:
    def __init__(self, kernel: Kernel, layouts: Layouts):
        self.kernel = kernel
        self.layouts = layouts
        self.out = Emitter.within(kernel)
        self.anywhere = Anywhere(kernel, layouts)
        self.demanded: dict[Value, set[Layout | None]] = {}
        self.versions: dict[tuple[Value, Layout | None], Value] = {}
        for op, position, around in reversed(list(uses_of_tiles(kernel))):
            self._demand(op, position, around)

    def run(self) -> Kernel:
        return replace(self.kernel, body=self._block(self.kernel.body, None))

    # ---------------------------------------------------------------- who wants what

    def _demand(self, op: Op, position: int, around: Op | None) -> None:
        """Every user of a value is met before its definition."""
        value = op.operands[position]
        if self.anywhere.has(value):
            return
        demanded = self.demanded.setdefault(value, set())
        demanded.add(wanted(op, position, self.layouts, around))
        if is_row_view(op) and op.result in self.layouts:
            others = self.demanded.get(op.result, set())
            demanded.update(None if layout is None else like(layout, value.shape) for layout in others)

    def _others(self, value: Value) -> list[Layout | None]:
        """The layouts, beside its own, in which a value is wanted, the linear one first: others may start from it."""
        own = self.layouts.get(value)
        found = self.demanded.get(value, set()) - {own}
        if own is not None and any(found):
            found.add(None)
        return sorted(found, key=lambda layout: (layout is not None, show_layout(layout)))

    # ---------------------------------------------------------------- the kernel again

    def _block(self, block: Block, around: Op | None) -> Block:
        ops = [op for argument in block.args for op in self._conversions(argument, None)]
        for op in block.ops:
            operands = (self._version(op, position, around) for position in range(len(op.operands)))
            blocks = tuple(self._block(inner, op) for inner in op.blocks)
            ops.append(replace(op, operands=tuple(operands), blocks=blocks, attrs={**op.attrs, **self._attrs(op)}))
            ops += [made for value in op.results for made in self._conversions(value, op)]
        return Block(block.args, tuple(ops))

    def _attrs(self, op: Op) -> dict[str, str | tuple[str, ...]]:
        """The layouts of its results, in text."""
        held = [self.layouts.get(value) for value in op.results]
        if not any(held):
            return {}
        texts = tuple("" if layout is None else show_layout(layout) for layout in held)
        return {"layouts": texts} if op.name == "for" else {"layout": texts[0]}

    def _version(self, op: Op, position: int, around: Op | None) -> Value:
        """An operand in the layout in which it is wanted."""
        value = op.operands[position]
        if not self.demanded.get(value):
            return value
        return self._in(value, wanted(op, position, self.layouts, around))

    def _in(self, value: Value, layout: Layout | None) -> Value:
        return value if layout == self.layouts.get(value) else self.versions[value, layout]

    def _conversions(self, value: Value, made_by: Op | None) -> Iterator[Op]:
        """The ops that bring a value, just defined, into the other layouts."""
        for layout in self._others(value):
            new = self.versions[value, layout] = self.out.value(value.name, value.type)
            attrs = {"layout": show_layout(layout)}
            if made_by is not None and is_row_view(made_by) and value in self.layouts:
                (shown,) = made_by.operands
                source = self._in(shown, None if layout is None else like(layout, shown.shape))
                yield replace(made_by, operands=(source,), results=(new,),
                              attrs={**made_by.attrs, **(attrs if layout is not None else {})})
            else:
                source = self._in(value, None) if layout is not None else value
                yield Op(CONVERT, (source,), (new,), attrs, span=made_by.span if made_by is not None else self.out.span)
