"""`ThreadWriter`: writes thread-level code, knowing nothing of tiles.

Constants, strides, the thread's number and all arrays are declared once, in a prologue before the body, so that
what remains reads like the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilelang.dtypes import I32, I64, DType
from tilelang.ir.core import Attr, Kernel, LocalType, Op, SharedType, TensorType, Value
from tilelang.ir.emit import Emitter, const_hint
from tilelang.semantics.types import TileType
from tilelang.tiling.index import INDEX, IndexArithmetic
from tilelang.tiling.layout import LinearLayout

Body = Callable[..., Sequence[Value] | None]
"""Writes the inside of a loop or branch; gets the loop's values, returns those to hand on (None for none)."""

MOST_UNROLLED = 32
"""Trips of one loop over registers. NVIDIA's compiler does not always unroll a loop of 64 or 128, and then the
registers would be memory; loops of 32, one after another, it does."""


class ThreadWriter:
    """The thread kernel being written. `emit` is where the body goes."""

    def __init__(self, kernel: Kernel, threads: int):
        self.kernel = kernel
        self.threads = threads
        self.widths: dict[int, int] = {}  # of tiles by size: neighbouring elements in a thread, if more than 1
        self.emit = Emitter(v.name for v in (*kernel.params, *kernel.dims))
        self.prologue: list[Op] = []
        self._declared: dict[object, Value] = {}
        self._dims = {dim.name: dim for dim in kernel.dims}
        self.index = IndexArithmetic(self.emit, lambda value: self.constant(value, I32))

    # ---------------------------------------------------------------- declared once

    def constant(self, value: int | float | bool, dtype: DType) -> Value:
        """A scalar constant."""
        value = float(value) if dtype.is_float else bool(value) if dtype.is_bool else int(value)
        return self._declare(("const", dtype, repr(value)), "const", const_hint(value), TileType(dtype), value=value)

    def thread(self) -> Value:
        """This thread's number in its block."""
        return self._declare("thread", "thread_id", "t", INDEX)

    def stride(self, tensor: Value, axis: int, dtype: DType = I64) -> Value:
        """Distance in elements between neighbours along `axis`."""
        stride = self._declare(("stride", tensor, axis), "stride", f"{tensor.name}_stride{axis}", TileType(I64),
                               tensor, axis=axis)
        return self._narrow(stride, dtype)

    def has_unit_stride(self, tensor: Value, axis: int) -> bool:
        """Do the launch's facts say that neighbours along `axis` are neighbours in memory?"""
        return self.kernel.attrs.get(f"fact.{tensor.name}.stride{axis}") == 1

    def extent(self, tensor: Value, axis: int, dtype: DType = I64) -> Value:
        """The tensor's extent along `axis`."""
        if not isinstance(tensor.type, TensorType):
            raise TypeError(f"{tensor} is no tensor")
        extent = tensor.type.dims[axis]
        return self.constant(extent, dtype) if isinstance(extent, int) else self._narrow(self._dims[extent], dtype)

    def _narrow(self, value: Value, dtype: DType) -> Value:
        """An argument of the launch, known to fit into `dtype`."""
        if value.dtype == dtype:
            return value
        return self._declare(("cast", value, dtype), "cast", f"{value.name}_{dtype}", TileType(dtype), value)

    def _declare(self, key: object, name: str, hint: str, type: TileType, *operands: Value, **attrs: Attr) -> Value:
        if key not in self._declared:
            self._declared[key] = self.emit.value(hint, type)
            self.prologue.append(Op(name, operands, (self._declared[key],), attrs))
        return self._declared[key]

    def local(self, hint: str, dtype: DType, size: int) -> Value:
        """A new array in the thread's registers."""
        return self._array("local", hint, LocalType(dtype, size))

    def shared(self, hint: str, dtype: DType, size: int) -> Value:
        """A new array in shared memory."""
        return self._array("shared", f"{hint}_shared", SharedType(dtype, size))

    def _array(self, name: str, hint: str, type: LocalType | SharedType) -> Value:
        array = self.emit.value(hint, type)
        self.prologue.append(Op(name, (), (array,), span=self.emit.span))
        return array

    # ---------------------------------------------------------------- memory

    def read(self, array: Value, at: Value, hint: str | None = None, **attrs: Attr) -> Value:
        """An element of a local or shared array."""
        place = "local" if isinstance(array.type, LocalType) else "shared"
        return self.emit.op(f"{place}.load", array, at, type=TileType(array.dtype), hint=hint or array.name, **attrs)

    def write(self, array: Value, at: Value, value: Value, **attrs: Attr) -> None:
        """Set an element of a local or shared array."""
        place = "local" if isinstance(array.type, LocalType) else "shared"
        self.emit.effect(f"{place}.store", array, at, value, **attrs)

    # ---------------------------------------------------------------- control

    def loop(self, lo: Value, hi: Value, step: Value, inits: Sequence[Value], body: Body, *, hint: str = "k",
             hints: Sequence[str] = (), **attrs: Attr) -> tuple[Value, ...]:
        """`for`: body(index, *carried) returns the next carried values."""
        names = [*hints, *(init.name for init in inits[len(hints):])]
        args = [(name, init.type) for name, init in zip(names, inits, strict=True)]
        with self.emit.block((hint, lo.type), *args) as block:
            self.emit.terminate("yield", *(body(*block.args) or ()))
        return self.emit.structured("for", (lo, hi, step, *inits), (block.close(),), hints=names, **attrs)

    def count(self, trips: int, inits: Sequence[Value], body: Body, *, hint: str = "k", unroll: bool = False,
              hints: Sequence[str] = ()) -> tuple[Value, ...]:
        """`for` from 0 to a constant, on i32; no loop where there is one trip to unroll."""
        if unroll and trips == 1:
            return tuple(body(self.index.number(0), *inits) or ())
        attrs = {"unroll": True} if unroll else {}
        zero, one, end = (self.index.number(n) for n in (0, 1, trips))
        return self.loop(zero, end, one, inits, body, hint=hint, hints=hints, **attrs)

    def when(self, condition: Value, then: Body, otherwise: Body = lambda: (), *,
             hints: Sequence[str] = ()) -> tuple[Value, ...]:
        """`if`: both branches return as many values, which become the results."""
        blocks = []
        for branch in (then, otherwise):
            with self.emit.block() as block:
                self.emit.terminate("yield", *(branch() or ()))
            blocks.append(block.close())
        return self.emit.structured("if", (condition,), blocks, hints=hints)

    def only_thread(self, number: int, then: Body) -> None:
        """One thread of the block does it."""
        self.when(self.emit.op("eq", self.thread(), self.index.number(number), hint="mine"), then)

    def each_place(self, size: int, visit: Callable[[Value, Value], None]) -> None:
        """visit(register, element number) for each element of a tile that this thread holds."""
        self.fold_places(size, (), lambda register, number: visit(register, number))

    def fold_places(self, size: int, inits: Sequence[Value], visit: Body,
                    hints: Sequence[str] = ()) -> tuple[Value, ...]:
        """Like `each_place`, handing values on from element to element: visit(register, number, *values)."""
        layout = LinearLayout((size,), self.threads)

        def guarded(register: Value, *carried: Value) -> Sequence[Value]:
            number = self.number_at(register, self.width(size))
            if not layout.padded:
                return visit(register, number, *carried) or ()
            inside = self.emit.op("lt", number, self.index.number(size), hint="inside")
            return self.when(inside, lambda: visit(register, number, *carried), lambda: carried, hints=hints)

        return self.fold_registers(layout.registers, inits, guarded, hints)

    def fold_registers(self, registers: int, inits: Sequence[Value], visit: Body,
                       hints: Sequence[str] = ()) -> tuple[Value, ...]:
        """visit(register, *values) for so many registers, handing values on, in unrolled loops."""
        carried = tuple(inits)
        for first in range(0, registers, MOST_UNROLLED):
            def later(step: Value, *carried: Value, first: int = first) -> Sequence[Value] | None:
                return visit(self.index.add(step, self.index.number(first)), *carried)

            trips = min(MOST_UNROLLED, registers - first)
            carried = self.count(trips, carried, later, hint="r", unroll=True, hints=hints)
        return carried

    def each_place_between(self, low: int, high: int, visit: Callable[[Value, Value], None], width: int = 1,
                           run: int = 1) -> None:
        """Like `each_place`, for the elements from number `low` up to, not including, `high`; `width` is the tile's.

        With a `run`, which divides the width, for the first of so many neighbours only.
        """
        block = self.threads * width
        first, end = low // block * width, -(-high // block) * width

        def guarded(step: Value) -> None:
            register = self.index.add(self.index.times(step, run), self.index.number(first))
            number, tests = self.number_at(register, width), []
            if low % block:
                tests.append(self.emit.op("ge", number, self.index.number(low), hint="inside"))
            if high % block:
                tests.append(self.emit.op("lt", number, self.index.number(high), hint="inside"))
            self.when_all(tests, lambda: visit(register, number))

        self.fold_registers((end - first) // run, (), guarded)

    def when_all(self, tests: Sequence[Value], then: Body) -> None:
        """`if` all tests hold; no `if` without a test."""
        if tests:
            self.when(self.all_of(tests, "inside"), then)
        else:
            then()

    def all_of(self, tests: Sequence[Value], hint: str) -> Value:
        """Do all of one or more conditions hold?"""
        condition = tests[0]
        for test in tests[1:]:
            condition = self.emit.op("and", condition, test, hint=hint)
        return condition

    def number_at(self, register: Value, width: int = 1) -> Value:
        """The number of the element that this thread holds in a register."""
        index = self.index
        run = index.add(index.times(index.quotient(register, width), self.threads), self.thread(), hint="e")
        return index.add(index.times(run, width), index.remainder(register, width), hint="e")

    def width(self, size: int) -> int:
        """How many neighbouring elements of a tile of this size a thread has in a row."""
        return self.widths.get(size, 1)

    def owner(self, size: int) -> str:
        """The `owner` of an access at the number of an element that the thread holds, of a tile of this size."""
        return "element" if self.width(size) == 1 else f"element, {self.width(size)} in a row"

    def each_run(self, size: int, visit: Callable[[Value, Value], None]) -> None:
        """visit(register, element number) for the first of each run of neighbours that this thread holds."""
        width = self.width(size)

        def first_of(run: Value) -> None:
            register = self.index.times(run, width)
            number = self.index.times(self.number_at(run), width)
            visit(register, number)

        self.count(size // (self.threads * width), (), first_of, hint="c", unroll=True)
