"""Tile IR -> thread IR: from what a program does to what each of its threads does.

    %v: f32[256] = load %x, %i              %t: i32 = thread_id
    %s: f32 = reduce %v {sum}               for %r in 0..2 (unrolled) { element r * 128 + t: load, keep in a register }
    store %y, %row, %s              ->      combine my registers; a tree in shared memory
                                            if t == 0 { global.store %y, ... }

Three ideas, each in its own file: *homes* (where a tile lives: registers, shared memory, or nowhere because it can be
computed again), *fusion* (ops on tiles of one size share a loop over registers), and exchanges through shared memory
(`reductions`, `dots`, and reading other threads' elements). A dot runs on tensor cores, by patches of registers, or
element by element (`dot_plans`). Which thread holds which elements of what dots compute has been decided before, in
tile IR (`laying_out`). Where facts about the launch allow it, a dot's operands go to shared memory in chunks of 16
bytes (`copies`), a loop may fetch those of later trips ahead of time (`pipelines`), other loads and stores are
`wide`, and threads hold runs of neighbours (`vectors`). Tiles that are written by rows and read by columns lie in
shared memory in an order that suits both (`bank_plans`). A tile-level value that is a scalar is held by every thread
and is the same in all of them. Barriers come last, from `tilelang.memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

from tilelang.diagnostics import InternalError, Sink
from tilelang.ir.access import access
from tilelang.ir.core import Block, Kernel, Op, TensorType, Value
from tilelang.ir.tile_ops import TILE_OPS
from tilelang.memory.axis import AxisAnalysis
from tilelang.memory.barriers import place_barriers
from tilelang.memory.shared import share_memory
from tilelang.passes.bounds import value_ranges
from tilelang.semantics.types import TileType
from tilelang.syntax.limits import deep_trees
from tilelang.tiling.accesses import Accesses
from tilelang.tiling.accumulators import Accumulators
from tilelang.tiling.anywhere import VIEWS
from tilelang.tiling.bank_layout import BankLayout, Padded
from tilelang.tiling.bank_plans import plan_banks
from tilelang.tiling.cleanup import drop_unused
from tilelang.tiling.control import Control
from tilelang.tiling.copies import Copies
from tilelang.tiling.dots import Dots
from tilelang.tiling.elements import Elements, Place
from tilelang.tiling.fragments import Fragments
from tilelang.tiling.fusion import Fusion, size_of
from tilelang.tiling.homes import Homes
from tilelang.tiling.laying_out import lay_out
from tilelang.tiling.limits import check_depth, check_shared, fits, threads_for
from tilelang.tiling.patches import Patches
from tilelang.tiling.pipelines import Pipelines
from tilelang.tiling.plans import Plans, plans_to_try
from tilelang.tiling.reductions import Reductions
from tilelang.tiling.scans import Scans
from tilelang.tiling.targets import Target
from tilelang.tiling.tensor_cores import TensorCores
from tilelang.tiling.uses import Uses, outer_indices, reads_other_elements
from tilelang.tiling.vectors import Vectors, choose_vectors
from tilelang.tiling.wide import WideAccesses
from tilelang.tiling.word_cores import WordCores
from tilelang.tiling.writer import ThreadWriter


def lower(kernel: Kernel, target: Target, sink: Sink) -> Kernel:
    """The thread kernel (level `thread`) of an optimised tile kernel: `lay_out`, then `to_threads`."""
    return to_threads(lay_out(kernel, target), target, sink)


def to_threads(kernel: Kernel, target: Target, sink: Sink) -> Kernel:
    """The thread kernel of a tile kernel with layouts (`tilelang.tiling.laying_out`).

    Its attrs gain `threads` and `target`.

    Reports to `sink`: E0620 if the tiles need more shared memory than the target has, E0621 if loops nest too deep.
    """
    with deep_trees():
        check_depth(kernel, sink)
        threads = threads_for(kernel, target)
        lowered = _fitting(kernel, target, threads)
        check_shared(lowered, target, sink)
        return place_barriers(lowered)


def _fitting(kernel: Kernel, target: Target, threads: int) -> Kernel:
    """The thread kernel, without barriers so far, by the fastest plans that fit into shared memory."""
    for plans in plans_to_try(kernel, target):
        lowered = _lowered(plans, target, threads)
        if fits(lowered, target):
            break
    return lowered


def _lowered(plans: Plans, target: Target, threads: int) -> Kernel:
    """The thread kernel without barriers; without padding too, if it is too large with it."""
    kernel = plans.kernel
    vectors = choose_vectors(kernel, target, threads, plans.dots, plans.copies)
    attrs = {**kernel.attrs, "threads": threads, "target": target.name}
    for padding in (True, False):
        banks = plan_banks(kernel, threads, vectors.widths, padding=padding)
        written = _Lowering(target, threads, plans, vectors, banks).kernel()
        lowered = share_memory(drop_unused(replace(written, level="thread", attrs=attrs)))
        if fits(lowered, target) or not any(isinstance(layout, Padded) for layout in banks.values()):
            break
    return lowered


class _Lowering:
    """Goes through the tile kernel op by op."""

    def __init__(self, target: Target, threads: int, plans: Plans, vectors: Vectors,
                 banks: Mapping[Value, BankLayout]):
        self.source = kernel = plans.kernel
        self.write = ThreadWriter(kernel, threads)
        self.write.widths = vectors.widths
        dots = plans.dots
        self.homes = Homes(swizzles=dots.swizzles, word_swizzles=dots.word_swizzles, plans=dots.fragments, banks=banks)
        ranges = value_ranges(kernel)
        self.elements = Elements(self.write, self.homes, ranges, AxisAnalysis(kernel))
        uses = Uses(kernel)
        self.fusion = Fusion(self.write, self.homes, self.elements, uses, self._member)
        self.accesses = Accesses(self.write, self.homes, self.elements, ranges)
        self.wide = WideAccesses(self.write, self.homes, self.fusion, self.accesses, vectors.wide)
        self.reductions = Reductions(self.write, self.homes, self.elements, self.fusion, target)
        self.scans = Scans(self.write, self.homes, self.fusion, target)
        self.accumulators = accumulators = Accumulators(self.write, self.homes, self.elements, self.fusion, dots)
        self.fragments = Fragments(self.write, self.homes, self.elements, self.fusion)
        cores = TensorCores(self.write, self.homes, self.fusion, accumulators)
        patches = Patches(self.write, self.homes, self.elements, self.fusion, accumulators)
        self.dots = Dots(self.write, self.homes, self.elements, self.fusion, uses, dots, cores,
                         WordCores(self.write, self.homes, self.elements, self.fusion, accumulators), patches)
        self.copies = Copies(self.write, self.homes, self.elements, self.accesses, plans.copies)
        self.control = Control(self.write, self.homes, self.elements, self.fusion, accumulators, self.fragments,
                               self.copies, Pipelines(self.copies, self._ops, plans.pipelines), self._ops)
        self._sites = {id(op): number for number, op in enumerate(
            op for op in kernel.walk() if op.name in ("assert", "print"))}

    def kernel(self) -> Kernel:
        for value in (*self.source.params, *self.source.dims):
            if not isinstance(value.type, TensorType):
                self.homes.scalars[value] = value
        self._ops(self.source.body.ops)
        self.fusion.flush()
        body = Block((), (*self.write.prologue, *self.write.emit.ops))
        return replace(self.source, body=body)

    def _ops(self, ops: Sequence[Op]) -> None:
        for op in ops:
            with self.write.emit.at(op.span):
                self._op(op)

    def _op(self, op: Op) -> None:
        """Give the results of one op a home."""
        if self.fragments.takes(op):
            self.fragments.op(op)
            return
        if op.name == "dot":
            self.copies.arrive(op.operands[:2])
        whole: dict[str, Callable[[Op], None]] = {
            "dot": self.dots.dot, "convert_layout": self.accumulators.convert, "scan": self.scans.scan,
            "for": self.control.for_loop, "while": self.control.while_loop, "if": self.control.if_op,
        }
        if op.name in whole:
            whole[op.name](op)
        elif op.name == "reduce" and op.attrs["axes"]:
            self.reductions.reduce(op)
        elif op.name in ("load", "store", "atomic"):
            self._memory(op)
        elif op.name in ("assert", "print"):
            self._report(op)
        elif op.name == "cat":
            self._cat(op)
        elif op.result.shape:
            self._tile(op)
        else:
            self._scalar(op)

    # ---------------------------------------------------------------- tiles

    def _tile(self, op: Op) -> None:
        """Elementwise ops and changes of shape: a recipe if it is cheap to compute again, else part of a loop."""
        if op.name in ("const", "iota"):
            self.homes.follow_recipe(op)
            return
        if op.name == "reduce":
            self._join(op, size_of(op.result))
            return
        for operand in op.operands:
            if reads_other_elements(op, operand) and not self._computable(operand):
                self.fusion.in_shared(operand)
        if self.homes.is_cheap_recipe(op) or self._is_view_of_shared(op):
            self.homes.follow_recipe(op)
        elif op.name == "reshape" and op.operands[0] in self.homes.registers:
            self.homes.registers[op.result] = self.homes.registers[op.operands[0]]
            self.homes.known_twice.add(self.homes.registers[op.result])
        else:
            self._join(op, size_of(op.result))

    def _computable(self, value: Value) -> bool:
        return value in self.homes.scalars or value in self.homes.recipes

    def _is_view_of_shared(self, op: Op) -> bool:
        """A `broadcast` or `permute` whose operand went to shared memory for it."""
        moves = op.name in VIEWS and reads_other_elements(op, op.operands[0])
        return moves and self.homes.reads_shared(op.operands[0])

    def _join(self, op: Op, size: int) -> None:
        self.fusion.add(op, size)

    def _member(self, op: Op, place: Place) -> None:
        """One op of a fused loop, for the element at `place`."""
        if op.name in ("load", "store", "atomic"):
            loaded = self.accesses.at_place(op, place)
            if loaded is not None:
                place.values[op.result] = loaded
            return
        operands = [self.elements.at_place(v, place) for v in op.operands]
        if op.name == "assert":
            self.write.emit.effect("assert", *operands, text=op.attrs["text"], id=self._sites[id(op)])
        elif op.name == "print":
            self.write.emit.effect("print", place.number, *operands, text=op.attrs["text"], id=self._sites[id(op)],
                                   shape=op.operands[0].shape)
        else:
            place.values[op.result] = self._element(op, operands)

    def _element(self, op: Op, operands: Sequence[Value]) -> Value:
        if TILE_OPS[op.name].elementwise:
            return self.elements.compute(op, operands)
        if op.name == "reduce" and operands[0].dtype != op.result.dtype:  # over no axes
            return self.write.emit.op("cast", *operands, type=TileType(op.result.dtype), hint=op.result.name)
        if op.name in ("reduce", "reshape", "broadcast"):
            return operands[0]  # the same elements, in the same order
        raise InternalError("lowering", f"{op.name} cannot be part of a fused loop")

    def _cat(self, op: Op) -> None:
        """Each operand is written to its part of one shared array. The parts do not meet: they share an owner."""
        axis = int(op.attrs["axis"])  # type: ignore[arg-type]
        self.fusion.flush()
        array = self.elements.shared_copy(op.result)
        index, before = self.write.index, 0
        for operand in op.operands:
            def put(place: Place, element: Value, operand: Value = operand, before: int = before) -> None:
                coordinates = list(self.elements.coordinates(place, operand.shape))
                coordinates[axis] = index.add(coordinates[axis], index.number(before))
                at = self.elements.turned(op.result, index.linearize(coordinates, op.result.shape))
                self.write.write(array, at, element, owner=f"cat {op.result.name}")

            self.fusion.copy(operand, put)
            before += operand.shape[axis]
        self.homes.shared[op.result] = array

    # ---------------------------------------------------------------- scalars

    def _scalar(self, op: Op) -> None:
        homes, emit = self.homes.scalars, self.write.emit
        if op.name == "const":
            homes[op.result] = self.write.constant(op.attrs["value"], op.result.dtype)  # type: ignore[arg-type]
        elif op.operands and op.operands[0].shape:
            homes[op.result] = self._only_element(op.operands[0])  # a reshape to rank 0
        elif op.name in ("reshape", "broadcast", "permute") or (
                op.name == "reduce" and op.operands[0].dtype == op.result.dtype):
            homes[op.result] = homes[op.operands[0]]
        else:
            name = "cast" if op.name == "reduce" else op.name
            attrs = {} if op.name == "reduce" else dict(op.attrs)
            operands = [homes[v] for v in op.operands]
            homes[op.result] = emit.op(name, *operands, type=op.result.type, hint=op.result.name, **attrs)

    def _only_element(self, tile: Value) -> Value:
        """The one element of a tile, for every thread."""
        self.fusion.settle(tile)
        if not self._computable(tile):
            self.fusion.in_shared(tile)
        return self.elements.at_coordinates(tile, [self.write.index.number(0)] * len(tile.shape), {})

    # ---------------------------------------------------------------- effects

    def _memory(self, op: Op) -> None:
        shape = access(op).shape
        if op.name == "load" and op.result in self.homes.slots:
            return
        if self.copies.takes(op):
            self.copies.start(op)
        elif shape:
            for index in outer_indices(op):
                if not self._computable(index):
                    self.fusion.in_shared(index)
            if self.wide.takes(op):
                self.wide.access(op)
            else:
                self._join(op, prod(shape))
        else:
            self.fusion.flush()
            loaded = self.accesses.scalar(op)
            if op.results and loaded is not None:
                self.homes.scalars[op.result] = loaded

    def _report(self, op: Op) -> None:
        """`assert` and `print`: on a tile, part of a loop; on a scalar, by thread 0 alone."""
        if op.operands and op.operands[0].shape:
            self._join(op, size_of(op.operands[0]))
            return
        self.fusion.flush()
        operands, attrs = [self.homes.scalars[v] for v in op.operands], {}
        if op.name == "print" and operands:
            operands.insert(0, self.write.index.number(0))
            attrs["shape"] = ()
        self.write.only_thread(0, lambda: self.write.emit.effect(
            op.name, *operands, text=op.attrs["text"], id=self._sites[id(op)], **attrs))
