"""`for`, `while` and `if`: scalars carried by variables, tiles carried in scratch.

    for k in range(lo, hi, step):      # the carried tile %acc lives in acc_tile, before, during and after the loop
        ...                            # a new value is computed right into acc_tile where nobody needs the old
        total = next_total             # one any more, else elsewhere and copied at the end of the round

A lazy tile from outside is computed before a loop, unless it is next to nothing to compute it again each round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilelang.codegen.cpu_frames import Frame, targets_of, used_by, written_by
from tilelang.codegen.cpu_scratch import Scratch
from tilelang.codegen.cpu_text import Lines
from tilelang.codegen.cpu_trace import CHEAP, Costs
from tilelang.codegen.cpu_translation import RELEASE
from tilelang.dtypes import I64
from tilelang.ir.attrs import number_attr
from tilelang.ir.core import Block, Op, Value

if TYPE_CHECKING:
    from tilelang.codegen.cpu_blocks import Blocks

Place = str | Scratch
SMALL = 1 << 20
"""A step or factor this small makes no number too large in any time one would wait."""


class Control:
    """Rules for control flow. `counters`: program ids and loop variables that count up from near 0, and their steps."""

    def __init__(self, blocks: Blocks):
        self.blocks = blocks
        self.counters: dict[str, int] = {}
        self._marks: list[int] = []

    # ---------------------------------------------------------------- for

    def loop(self, op: Op) -> None:
        translation = self.blocks.translation
        lo, hi, step, *inits = op.operands
        block = op.blocks[0]
        self._prepare(op, keep_loads=True)
        places = self._carry(op, inits, block.args[1:])
        translation.quote(op.span)
        outside = translation.lines
        iv = translation.names.fresh(block.args[0].name)
        translation.lines = self._loop_header(op, iv, lo, hi, step)
        self._round(op, block, [iv, *places], places)
        translation.lines = outside
        self._results(op, places)

    def _loop_header(self, op: Op, iv: str, lo: Value, hi: Value, step: Value) -> Lines:
        """Open the loop. Only where nothing can overflow is it Python's range over the bounds themselves."""
        translation, carried = self.blocks.translation, op.blocks[0].args[0]
        texts = [str(translation.places[v.name]) for v in (lo, hi, step)]
        by = self._constant(step)
        if lo.name in translation.positive and by is not None and 0 < by <= SMALL:
            translation.positive.add(carried.name)  # no loop has so many rounds that it would come near 2^61
            if self._constant(lo) in range(SMALL):
                self.counters[carried.name] = by
            if lo.dtype == I64:
                if texts[0] != "0" and hi.name not in translation.positive:
                    texts[1] = f"maximum({texts[0]}, {texts[1]})"  # numba's range subtracts one from the other
                bounds = f"{texts[0]}, {texts[1]}" if texts[0] != "0" or by != 1 else texts[1]
                return translation.lines.nest(f"for {iv} in range({bounds}{f', {by}' if by != 1 else ''})")
        turn = translation.names.fresh("turn")
        lines = translation.lines.nest(f"for {turn} in range(trips({', '.join(texts)}))")
        lines.add(f"{iv} = add({texts[0]}, mul(to_{lo.dtype}({turn}), {texts[2]}))")
        return lines

    def _constant(self, value: Value) -> int | None:
        op = self.blocks.translation.definitions.get(value.name)
        return int(number_attr(op, "value")) if op and op.name == "const" else None

    # ---------------------------------------------------------------- while

    def repeat(self, op: Op) -> None:
        translation = self.blocks.translation
        before, after = op.blocks
        self._prepare(op, keep_loads=True)
        places = self._carry(op, op.operands, before.args)
        passed = zip(before.ops[-1].operands[1:], before.args, places, strict=True)
        handed = [place if value == arg else self._new_place(arg) for value, arg, place in passed]
        translation.quote(op.span)
        outside = translation.lines
        translation.lines = outside.nest("while True")
        self._stop_if_asked()
        self.blocks.block(Frame(before, carried=self._enter(before, places)))
        condition = before.ops[-1]
        self._hand_over(condition, condition.operands[1:], handed)
        translation.lines.nest(f"if not {self._scalar(condition.operands[0])}").add("break")
        self._leave()
        self._round(op, after, handed, places)
        translation.lines = outside
        self._results(op, handed)

    def _stop_if_asked(self) -> None:
        """A `while` may never end: each round looks whether the user has pressed Ctrl-C."""
        translation = self.blocks.translation
        asked = translation.lines.nest(f"if stopped({translation.args}, {translation.slots.trouble})")
        asked.add(RELEASE)
        asked.add("return")

    # ---------------------------------------------------------------- if

    def branch(self, op: Op) -> None:
        translation = self.blocks.translation
        self._prepare(op, keep_loads=False)
        self.blocks.scheduler.settle([(op.operands[0], ())])
        translation.quote(op.span)
        condition = self._scalar(op.operands[0])
        places = [self._new_place(v) for v in op.results]
        outside = translation.lines
        for header, block in zip((f"if {condition}", "else"), op.blocks, strict=True):
            if header == "else" and len(block.ops) == 1 and not places:
                continue
            translation.lines = outside.nest(header)
            self._round(op, block, [], places)
        translation.lines = outside
        self._results(op, places)

    # ---------------------------------------------------------------- values in and out

    def _prepare(self, op: Op, *, keep_loads: bool) -> None:
        """Before control flow: nothing is pending, and what its blocks need from outside is there, or cheap."""
        translation, scheduler = self.blocks.translation, self.blocks.scheduler
        self.blocks.tiles.save_loads(op, written_by(op), whole=True)
        costs = Costs(translation)
        inside = {v.name for block in op.blocks for v in _defined(block)}
        for value in {v.name: v for v in used_by(op) if v.name not in inside}.values():
            if translation.lazy(value) is None:
                continue
            if costs.of(value) > CHEAP or (keep_loads and self.blocks.tiles.reads_memory(value)):
                scheduler.keep(value)
        scheduler.flush()

    def _new_place(self, value: Value, hint: str = "") -> Place:
        """A variable or scratch that outlives the blocks inside."""
        if value.shape:
            return self.blocks.scheduler.new_scratch(hint or value.name, value.shape, value.dtype)
        return self.blocks.translation.names.fresh(hint or value.name)

    def _carry(self, op: Op, inits: Sequence[Value], args: Sequence[Value]) -> list[Place]:
        """Places for carried values, holding the first ones."""
        scheduler, translation = self.blocks.scheduler, self.blocks.translation
        places = [self._new_place(arg) for arg in args]
        for init, place in zip(inits, places, strict=True):
            if isinstance(place, Scratch):
                scheduler.copy(op, init, place)
        scheduler.flush()
        for init, place in zip(inits, places, strict=True):
            if isinstance(place, str):
                translation.lines.add(f"{place} = {self._scalar(init)}")
        return places

    def _enter(self, block: Block, args: Sequence[Place]) -> frozenset[int]:
        """Give a block's arguments their places; the slots among these."""
        self._marks.append(len(self.blocks.translation.journal))
        for arg, place in zip(block.args, args, strict=True):
            self.blocks.translation.put(arg.name, place)
        return frozenset(place.slot for place in args if isinstance(place, Scratch))

    def _leave(self) -> None:
        self.blocks.leave()
        self.blocks.translation.forget(self._marks.pop())

    def _round(self, op: Op, block: Block, args: Sequence[Place], handed: Sequence[Place]) -> None:
        """Write a block that ends in `yield`, which hands its values over to the places `handed`."""
        carried = self._enter(block, args)
        targets = targets_of(block.ops[-1].operands, handed)
        self.blocks.block(Frame(block, dict(targets), carried))
        self._hand_over(block.ops[-1], block.ops[-1].operands, handed)
        self._leave()

    def _hand_over(self, terminator: Op, values: Sequence[Value], places: Sequence[Place]) -> None:
        """Bring all values to their places at once: none is overwritten while another still has to be read."""
        scheduler, translation = self.blocks.scheduler, self.blocks.translation
        for value in values:
            if value.shape:
                scheduler.keep(value)
        scheduler.flush()
        moves = []
        for value, to in zip(values, places, strict=True):
            at = translation.places.get(value.name)
            if isinstance(to, Scratch) and isinstance(at, Scratch) and at.slot != to.slot:
                moves.append((value, to, at))
        overwritten = {to.slot for _, to, _ in moves}
        for value, _, at in moves:
            if at.slot in overwritten:
                self._step_aside(terminator, value)
        for value, to, _ in moves:
            scheduler.copy(terminator, value, to)
        scheduler.flush()
        self._assign([(p, self._scalar(v)) for v, p in zip(values, places, strict=True) if isinstance(p, str)])

    def _step_aside(self, terminator: Op, value: Value) -> None:
        """Move a tile out of scratch that is about to be overwritten."""
        aside = self.blocks.scheduler.new_scratch(value.name, value.shape, value.dtype)
        self.blocks.scheduler.copy(terminator, value, aside)
        self.blocks.scheduler.flush()
        self.blocks.translation.put(value.name, aside)

    def _assign(self, pairs: list[tuple[str, str]]) -> None:
        """All scalars in one statement, as some may trade places."""
        pairs = [(name, text) for name, text in pairs if name != text]
        if pairs:
            names, texts = zip(*pairs, strict=True)
            self.blocks.translation.lines.add(f"{', '.join(names)} = {', '.join(texts)}")

    def _scalar(self, value: Value) -> str:
        return str(self.blocks.translation.places[value.name])

    def _results(self, op: Op, places: Sequence[Place]) -> None:
        for result, place in zip(op.results, places, strict=True):
            self.blocks.translation.put(result.name, place)


def _defined(block: Block) -> list[Value]:
    """Everything that comes into being inside a block."""
    found = [*block.args]
    for op in block.walk():
        found += op.results
        for inner in op.blocks:
            found += inner.args
    return found
