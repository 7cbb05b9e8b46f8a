"""A block's ops, one after another: what becomes a statement, what stays lazy, what is a root.

Control flow is in `cpu_control`, `dot` and the ops that move tiles in `cpu_tiles`.
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang.codegen.cpu_affine import NEAR
from tilelang.codegen.cpu_control import SMALL, Control
from tilelang.codegen.cpu_coords import ZERO, is_view
from tilelang.codegen.cpu_elements import Body
from tilelang.codegen.cpu_frames import Frame
from tilelang.codegen.cpu_roots import AccessRoot, CheckRoot, PrintRoot, access_text, print_text
from tilelang.codegen.cpu_schedule import Scheduler
from tilelang.codegen.cpu_text import literal
from tilelang.codegen.cpu_tiles import Tiles
from tilelang.codegen.cpu_trace import needs
from tilelang.codegen.cpu_translation import RELEASE, Translation
from tilelang.diagnostics import InternalError
from tilelang.dtypes import I64
from tilelang.ir.access import access
from tilelang.ir.attrs import int_attr, number_attr
from tilelang.ir.core import Block, Op, Value
from tilelang.ir.tile_ops import TILE_OPS


class Blocks:
    """Writes blocks, at the translation's current lines."""

    def __init__(self, translation: Translation):
        self.translation = translation
        self.scheduler = Scheduler(translation)
        self.tiles = Tiles(self.scheduler)
        self.control = Control(self)
        self._roots: dict[str, Callable[[Op], None]] = {
            "reduce": self.tiles.reduce, "scan": self.tiles.scan, "dot": self.tiles.dot, "cat": self.tiles.cat,
            "reshape": self.tiles.reshape, "store": self._store, "atomic": self._store, "assert": self._assert,
            "print": self._print, "for": self.control.loop, "while": self.control.repeat, "if": self.control.branch,
        }

    def block(self, frame: Frame) -> None:
        """Write a block up to its terminator; the frame stays open, for the values handed over."""
        self.scheduler.frames.append(frame)
        for position, op in enumerate(frame.block.ops):
            frame.position = position
            if TILE_OPS[op.name].terminator:
                return
            self._op(op)
        frame.position = len(frame.block.ops)

    def leave(self) -> None:
        """Close the innermost block: what is pending is written, its scratch is free again."""
        self.scheduler.flush()
        frame = self.scheduler.frames.pop()
        for slot in frame.owned:
            self.translation.memory.give_back(slot)
            self.translation.held[slot].clear()

    def program(self, body: Block) -> None:
        """Write a kernel's body."""
        self.block(Frame(body))
        self.leave()

    # ---------------------------------------------------------------- ops

    def _op(self, op: Op) -> None:
        if op.name == "load":
            self._load(op)
        elif op.name in ("program_id", "num_programs"):
            self._program_number(op)
        elif op.name == "permute" and self.tiles.moves(op):
            self.tiles.transpose(op)
        elif op.name in ("const", "iota") or is_view(op) or TILE_OPS[op.name].elementwise:
            self.translation.definitions[op.result.name] = op
            if not op.result.shape:
                self._scalar(op)
        elif op.name in self._roots:
            self._roots[op.name](op)
        else:
            raise InternalError("codegen.cpu", f"no rule for the op {op.name}")

    def _scalar(self, op: Op) -> None:
        """A scalar is computed at once, into a variable named after it."""
        translation, name = self.translation, op.result.name
        if op.name == "const":
            value = number_attr(op, "value")
            translation.put(name, literal(value, op.result.dtype))
            if op.result.dtype.is_integer and 0 <= value < NEAR:
                translation.positive.add(name)
            return
        self.scheduler.settle(_at_zero(needs(op, ())))
        translation.quote(op.span)
        body = Body(translation, [translation.lines], None, checked=True)
        element, coords = _at_zero(needs(op, ()))[0] if is_view(op) else (op.result, ())
        translation.put(name, body.term(element, coords).text)
        if self._product_of_small(op):
            translation.positive.add(name)
            steps = [translation.steps.get(str(translation.scalar_text(v)), 0) for v in op.operands]
            factors = [d for d in map(self._constant, op.operands) if d is not None]
            if any(steps) and factors:
                translation.steps[str(translation.scalar_text(op.result))] = max(steps) * factors[0]

    def _product_of_small(self, op: Op) -> bool:
        """program_id * 64 is not negative: no launch has 2^41 programs, and no loop as many rounds."""
        if op.name != "mul" or op.result.dtype != I64 or not all(
                [v.name in self.translation.positive for v in op.operands]):
            return False
        definitions = [self.translation.definitions.get(v.name) for v in op.operands]
        constants = [d for d in definitions if d and d.name == "const"]
        programs = [v for v in op.operands if v.name in self.control.counters]
        if len(constants) != 1 or len(programs) != 1:
            return False
        return number_attr(constants[0], "value") * self.control.counters[programs[0].name] <= SMALL

    def _constant(self, value: Value) -> int | None:
        op = self.translation.definitions.get(value.name)
        return int(number_attr(op, "value")) if op and op.name == "const" else None

    def _program_number(self, op: Op) -> None:
        """The grid's first axis is the fastest: program = id0 + grid0 * (id1 + grid1 * id2)."""
        axis, translation = int_attr(op, "axis"), self.translation
        translation.quote(op.span)
        if op.name == "num_programs":
            text = translation.grid(axis)
        else:
            text = translation.program
            for before in range(axis):
                text = f"floordiv({text}, {translation.grid(before)})"
            if axis < 2:
                text = f"mod({text}, {translation.grid(axis)})"
            name = translation.names.fresh(op.result.name)
            translation.lines.add(f"{name} = {text}")
            text = name
            if axis == 0:
                translation.steps[name] = 1
        translation.put(op.result.name, text)
        translation.positive.add(op.result.name)
        self.control.counters[op.result.name] = 1

    def _load(self, op: Op) -> None:
        self.translation.definitions[op.result.name] = op
        if not op.result.shape:
            if self.scheduler.has_yet_to_store(op.operands[0].name):
                self.scheduler.flush()
            self._scalar(op)
        else:
            self.scheduler.frame.loads[op.operands[0].name].append(op)

    def _store(self, op: Op) -> None:
        """A store or an atomic."""
        scheduler, parts = self.scheduler, access(op)
        self.tiles.save_loads(op, {op.operands[0].name})
        root = AccessRoot(op, parts.shape)
        if not parts.shape:
            return self._scalar_store(op, root)
        position = scheduler.frame.position
        if op.results and scheduler.frame.demanded(self.translation, op.result.name, position + 1):
            root.place = scheduler.new_scratch(op.result.name, op.result.shape, op.result.dtype)
        scheduler.add(root)

    def _scalar_store(self, op: Op, root: AccessRoot) -> None:
        translation, tensor = self.translation, op.operands[0].name
        nest = self.scheduler.nest
        if nest and (any([o.operands[0].name == tensor for o, _ in nest.touched.loads])
                     or any([r.op.operands[0].name == tensor for r in nest.roots if isinstance(r, AccessRoot)])):
            self.scheduler.flush()
        self.scheduler.settle(root.wanted(()))
        translation.quote(op.span)
        body = Body(translation, [translation.lines], None, checked=True)
        terms = root.evaluate(body, ())
        text = access_text(translation, op, root.target, terms)
        if op.results and tensor not in translation.private:
            name = translation.names.fresh(op.result.name)
            translation.lines.add(f"{name} = {text}")
            translation.put(op.result.name, name)
        else:
            translation.lines.add(text)

    # ---------------------------------------------------------------- assert and print

    def _assert(self, op: Op) -> None:
        translation, condition = self.translation, op.operands[0]
        if condition.shape:
            holds = translation.names.fresh("holds")
            self.scheduler.add(CheckRoot(op, condition.shape, holds))
            self.scheduler.frame.position += 1
            self.scheduler.flush()
        else:
            self.scheduler.settle([(condition, ())])
            translation.quote(op.span)
            holds = str(translation.places[condition.name])
        failed = translation.lines.nest(f"if not {holds}")
        failed.add(f"log_failure({translation.log}, {translation.program}, {translation.sites[id(op)]})")
        failed.add(RELEASE)
        failed.add("return")

    def _print(self, op: Op) -> None:
        """Prints keep their order: nothing printed is pending when the next print is written."""
        translation, site = self.translation, self.translation.sites[id(op)]
        if op.operands and op.operands[0].shape:
            self.scheduler.add(PrintRoot(op, op.operands[0].shape, site, ordered=True))
            self.scheduler.frame.position += 1
            self.scheduler.flush()
            return
        self.scheduler.settle([(v, ()) for v in op.operands])
        translation.quote(op.span)
        value = str(translation.places[op.operands[0].name]) if op.operands else None
        translation.lines.add(print_text(translation, site, "0", value))


def _at_zero(wanted: list[tuple[Value, tuple]]) -> list[tuple[Value, tuple]]:
    """A scalar made from a tile of one element takes the one at 0, 0, ..."""
    return [(value, coords or tuple(ZERO for _ in value.shape)) for value, coords in wanted]
