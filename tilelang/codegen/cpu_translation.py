"""What every part of the CPU code generator shares while one kernel is translated.

Of each tile-level value the translation knows its *place*: the text of a scalar, or a tile in scratch memory.
A value without a place is *lazy*: its op is known, and whoever needs an element writes the op's expression at the
place of use. That is how a chain of elementwise ops becomes one loop over scalars.
"""

from __future__ import annotations

from collections import defaultdict

from tilelang.codegen.cpu_affine import AffineReader
from tilelang.codegen.cpu_arguments import NO_MEMORY, argument_slots
from tilelang.codegen.cpu_private import private_tensors
from tilelang.codegen.cpu_scratch import Scratch, ScratchMemory
from tilelang.codegen.cpu_text import Lines, Names, comment
from tilelang.codegen.cpu_words import VOCABULARY, register_type
from tilelang.diagnostics import NOWHERE, Source, Span
from tilelang.dtypes import DType
from tilelang.ir.core import Kernel, Op, TensorType, Value

LOOP_VARIABLES = ("i", "j", "k", "l")
ENTRY = "kernel"
RELEASE = "<release>"
"""Stands for giving scratch back, until it is known whether there is any."""


class Translation:
    """The state of one translation. `lines` is where the next statement of the current block goes."""

    def __init__(self, kernel: Kernel, source: Source):
        self.kernel, self.source = kernel, source
        self.slots = argument_slots(kernel)
        self.names = Names((*VOCABULARY, ENTRY, "cfunc"))
        self.loops = tuple(self.names.fresh(name) for name in LOOP_VARIABLES)
        self.lo, self.hi, self.args, self.program = map(self.names.fresh, ("lo", "hi", "args", "program"))
        self.memory = ScratchMemory()
        self.memory_name = self.names.fresh("memory")
        self.pointers: list[Scratch] = []
        self.places: dict[str, str | Scratch] = {}
        self.definitions: dict[str, Op] = {}
        self.journal: list[str] = []
        self.held: defaultdict[int, set[str]] = defaultdict(set)
        self.positive: set[str] = set()
        self.steps: dict[str, int] = {}
        """Texts of scalars that are so much larger in the next program (but where a row of the grid ends)."""
        self.may_stream = not any(op.name == "atomic" for op in kernel.walk())
        """With atomics, programs may tell each other when to look; streamed stores come late."""
        self.streams: dict[str, str] = {}
        self.lines = Lines()
        self.affine = AffineReader(self.scalar_text, self.lazy, lambda value: value.name in self.positive)
        self._tensors: dict[str, str] = {}
        self._units: dict[str, str] = {}
        self._strides: dict[str, list[str]] = {}
        self._arguments: dict[int, tuple[str, str]] = {}
        self.sites = {id(op): number for number, op in enumerate(
            op for op in kernel.walk() if op.name in ("assert", "print"))}
        self._line = 0
        self._declare_arguments()
        self.private = private_tensors(kernel, self.names)

    def _declare_arguments(self) -> None:
        for param in self.kernel.params:
            name = self.names.fresh(param.name)
            if isinstance(param.type, TensorType):
                self._tensors[param.name] = name
                self._units[param.name] = self.names.fresh(f"{name}_unit")
                self._strides[param.name] = [self.names.fresh(f"{name}_s{axis}") for axis in range(param.type.rank)]
            else:
                slot = self.slots.params[param.name]
                self.places[param.name] = name
                self._arguments[slot] = (name, f'scalar_argument({self.args}, {slot}, "{param.dtype}")')
        for dim in self.kernel.dims:
            slot, name = self.slots.dims[dim.name], self.names.fresh(dim.name)
            self.places[dim.name] = name
            self.positive.add(dim.name)
            self._arguments[slot] = (name, f"argument({self.args}, {slot})")
        for axis in range(3):
            slot = self.slots.grid + axis
            self._arguments[slot] = (self.names.fresh(f"grid{axis}"), f"argument({self.args}, {slot})")
        for number, hint in enumerate(("log", "log_room")):
            slot = self.slots.log + number
            self._arguments[slot] = (self.names.fresh(hint), f"argument({self.args}, {slot})")

    # ---------------------------------------------------------------- places

    def put(self, name: str, place: str | Scratch) -> None:
        """Give a value its place."""
        self.places[name] = place
        self.journal.append(name)
        if isinstance(place, Scratch):
            self.held[place.slot].add(name)

    def forget(self, since: int) -> None:
        """Take back the places given since the journal had that length: the block that they are valid in has ended."""
        for name in self.journal[since:]:
            place = self.places.pop(name, None)
            if isinstance(place, Scratch):
                self.held[place.slot].discard(name)
        del self.journal[since:]

    def scalar_text(self, value: Value) -> str | None:
        """The text of a scalar that has a place."""
        place = self.places.get(value.name)
        return place if isinstance(place, str) else None

    def lazy(self, value: Value) -> Op | None:
        """The op of a lazy value."""
        return None if value.name in self.places else self.definitions.get(value.name)

    def new_scratch(self, hint: str, shape: tuple[int, ...], dtype: DType) -> Scratch:
        """Scratch for a tile of this shape, its elements held as in registers."""
        elements = 1
        for extent in shape:
            elements *= extent
        held = register_type(dtype)
        slot = self.memory.take(elements, held)
        return self.point_at(slot, hint, shape, held)

    def point_at(self, slot: int, hint: str, shape: tuple[int, ...], dtype: DType) -> Scratch:
        """A pointer of this type to a slot."""
        scratch = Scratch(self.names.fresh(f"{hint}_tile"), slot, shape, dtype)
        self.pointers.append(scratch)
        return scratch

    # ---------------------------------------------------------------- arguments

    def grid(self, axis: int) -> str:
        return self._arguments[self.slots.grid + axis][0]

    @property
    def log(self) -> str:
        return self._arguments[self.slots.log][0]

    @property
    def log_room(self) -> str:
        return self._arguments[self.slots.log + 1][0]

    def tensor(self, tensor: Value) -> str:
        own = self.private.get(tensor.name)
        return own.name if own else self._tensors[tensor.name]

    def extent(self, tensor: Value, axis: int) -> int | str:
        """The number of elements along an axis, as a number or a text."""
        dim = tensor.type.dims[axis]  # type: ignore[union-attr]
        return dim if isinstance(dim, int) else str(self.places[dim])

    def stride(self, tensor: Value, axis: int) -> str:
        own = self.private.get(tensor.name)
        return own.strides[axis] if own else self._strides[tensor.name][axis]

    # ---------------------------------------------------------------- streams

    def stream_flag(self, tensor: Value, axis: int) -> str:
        """The name that says whether rows along the axis are streamed; its statement comes with the declarations."""
        extents = " * ".join(str(self.extent(tensor, a)) for a in range(len(self._strides[tensor.name])))
        text = f"streams({self.tensor(tensor)}, {self.stride(tensor, axis)}, {extents})"
        if text not in self.streams:
            self.streams[text] = self.names.fresh(f"{self._tensors[tensor.name]}_streams")
        return self.streams[text]

    def stream_flags(self) -> Lines:
        """The statements that decide what is streamed."""
        lines = Lines()
        for text, flag in self.streams.items():
            lines.add(f"{flag} = {text}")
        return lines

    def line_of(self, tensor: str, elements: int, dtype: DType) -> str:
        """The address of scratch for one row. It is accessed as part of the tensor, so no tile may ever take it."""
        slot = self.memory.take(elements, dtype)
        return f"{self.memory_name} + {self.memory.offsets[slot]}"

    # ---------------------------------------------------------------- the prologue

    def declarations(self, used: set[str]) -> Lines:
        """Statements that read the arguments whose names are `used` and point into scratch."""
        lines = Lines()
        scopes = len(self._tensors) + len(self.memory.offsets)
        for scope, (param, name) in enumerate(self._tensors.items()):
            value = next(p for p in self.kernel.params if p.name == param)
            slot = self.slots.params[param]
            if name in used:
                lines.add(f'{name} = tensor({self.args}, {slot}, "{value.dtype}", {scope}, {scopes})')
            for axis, stride in enumerate(self._strides[param]):
                if stride in used:
                    lines.add(f"{stride} = stride({self.args}, {slot + 1 + axis}, {axis}, {self._units[param]})")
        for name, text in self._arguments.values():
            if name in used:
                lines.add(f"{name} = {text}")
        for param, own in self.private.items():
            lines.extend(own.declare(*self._shared(param), f"{self.hi} - {self.lo}"))
        if self.memory.bytes:
            lines.add(f"{self.memory_name} = allocate({self.memory.bytes})")
            missing = lines.nest(f"if {self.memory_name} == 0")
            missing.add(f"report_trouble({self.args}, {self.slots.trouble}, {NO_MEMORY})")
            missing.add("return")
        lines.extend(self.stream_flags())
        for scratch in self.pointers:
            scope = len(self._tensors) + scratch.slot
            if scratch.pointer in used:
                offset = self.memory.offsets[scratch.slot]
                lines.add(f'{scratch.pointer} = scratch({self.memory_name}, {offset}, "{scratch.dtype}", '
                          f"{scope}, {scopes})  # {scratch.dtype}{list(scratch.shape)}")
        return lines

    def merges(self) -> Lines:
        """Statements that add the chunk's private copies to their tensors."""
        lines = Lines()
        for param, own in self.private.items():
            lines.extend(own.merge(*self._shared(param), self.loops))
        return lines

    def _shared(self, param: str) -> tuple[str, list[str], list[str]]:
        """A tensor itself: its name, strides, and extents."""
        value = next(p for p in self.kernel.params if p.name == param)
        extents = [str(self.extent(value, axis)) for axis in range(len(self._strides[param]))]
        return self._tensors[param], self._strides[param], extents

    def unit_names(self) -> list[str]:
        """Per tensor, the constant that says which axis has stride 1."""
        return list(self._units.values())

    # ---------------------------------------------------------------- source lines

    def quote(self, span: Span, lines: Lines | None = None) -> None:
        """Write the `.tile` line of `span` as a comment, unless it is the one written last."""
        if span == NOWHERE or span.end > len(self.source.text):
            return
        number, _ = self.source.position(span.start)
        if number != self._line:
            self._line = number
            (lines or self.lines).add(comment(f"{number}: {self.source.line(number).strip()}"))
