"""Thread IR ops as Python statements.

An op whose result is used once, in the same block, is not given a line: its expression waits and goes into its user's.
What waits and reads memory is written down before anything that writes memory, so the order of effects is the IR's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tilelang.codegen.cuda_expressions import Expression, Expressions, Level
from tilelang.codegen.cuda_signature import parameters
from tilelang.codegen.names import Names, comment_of
from tilelang.diagnostics import NOWHERE, InternalError, Source, Span
from tilelang.dtypes import I32, I64
from tilelang.ir.core import Block, Kernel, LocalType, Op, SharedType, Value
from tilelang.ir.thread_ops import THREAD_OPS
from tilelang.memory.placement import alignment, dynamic_bytes, place_arrays
from tilelang.tiling.warpgroup_layout import Descriptor

LONGEST = 72
"""An expression longer than this gets a line and a name of its own."""


AS_PYTHON_INTEGER = frozenset(("add", "sub", "mul", "shl", "shr", "eq", "ne", "lt", "le", "gt", "ge", "local.load",
                               "local.store", "shared.load"))
"""Ops whose expression converts its result, or only compares or indexes."""


CALLS = {"async.commit": "commit_async", "async.wait": "wait_async_{pending}", "async.fence": "fence_async",
         "wgmma.fence": "wgmma_fence", "wgmma.commit": "wgmma_commit", "wgmma.wait": "wgmma_wait_{pending}"}
"""Ops that become a call, whose arguments are arrays and their sizes."""


COMPILER_NAMES = frozenset(("r", "e", "k", "p", "step", "half", "row", "at", "i", "j", "inside", "offset", "active",
                            "other", "wide", "mine", "distance", "reached", "ahead"))
"""Names the lowering makes up: one that went out of scope serves again, so that all register loops run over `r`."""


class Statements:
    """Writes the body of one kernel. `aligned`: say so of shared arrays; numba's simulator does not read that."""

    def __init__(self, kernel: Kernel, source: Source, names: Names, expressions: Expressions, *, aligned: bool):
        self.aligned = f", {alignment(kernel)}" if aligned else ""
        self.kernel = kernel
        self.source = source
        self.names = names
        self.make = expressions
        self.waiting: dict[Value, Expression] = {}
        self.reading: dict[Value, None] = {}  # those of the waiting that read memory
        self.written: list[str] = []
        self.depth = 0
        self.line = 0
        self.constants: dict[Value, int | float | bool] = {}
        self.once = self._used_once()
        self.used = {v for op in kernel.walk() for v in op.operands}
        self.starts = place_arrays(kernel)[0] if dynamic_bytes(kernel) else {}
        for parameter in parameters(kernel):
            if parameter.kind in ("tensor", "scalar", "dim"):
                names.alias(parameter.value, parameter.key)

    def lines(self) -> list[str]:
        self._prologue()
        self._ops(self.kernel.body.ops)
        return self.written or ["pass"]

    def _prologue(self) -> None:
        """The thread's and the program's number, where they are used."""
        ops = list(self.kernel.walk())
        used = {op.name for op in ops}
        if used & {"program_id", "assert", "print"}:
            self._write(f"program = {self.make.converted(I64, self.make.call('block_id'))}")
        if "thread_id" in used:
            self._write(f"t = {self.make.converted(I32, 'cuda.threadIdx.x')}")

    def _used_once(self) -> set[Value]:
        """Values used once, by an op of the block that defines them."""
        counts: Counter[Value] = Counter()
        local: set[Value] = set()

        def visit(block: Block) -> None:
            defined: set[Value] = set()
            for op in block.ops:
                counts.update(op.operands)
                local.update(v for v in op.operands if v in defined)
                defined.update(op.results)
                for inner in op.blocks:
                    visit(inner)

        visit(self.kernel.body)
        return {value for value, count in counts.items() if count == 1 and value in local}

    # ---------------------------------------------------------------- lines

    def _write(self, text: str) -> None:
        self.written.append("    " * self.depth + text)

    def _comment(self, span: Span) -> None:
        """The `.tile` line of a span, once while it stays the same."""
        if span == NOWHERE:
            return
        line, _ = self.source.position(span.start)
        if line != self.line:
            self.line = line
            self._write(comment_of(self.source, span))

    def _name(self, value: Value) -> str:
        base = value.name.rstrip("_0123456789")
        if base in COMPILER_NAMES:
            return self.names.scoped(value, base, value.type)
        return self.names.name(value, value.name)

    def _use(self, value: Value) -> Expression:
        """The expression of an operand; one that waits is taken."""
        if value in self.constants:
            return self.make.constant(self.constants[value], value.dtype)
        self.reading.pop(value, None)
        return self.waiting.pop(value, None) or Expression(self._name(value), value.dtype)

    def _text(self, value: Value) -> str:
        """An operand's text, in its own type."""
        return self.make.typed(self._use(value))

    def _index(self, value: Value) -> str:
        """An operand's text as an array index or a loop's bound: any type of integer will do.

        The lowering's own index arithmetic never leaves its type, so a loose expression has the value.
        """
        return self._use(value).text

    def _settle(self, but: Sequence[Value] = (), everything: bool = False) -> None:
        """Write down what waits and reads memory (or all that waits), except the operands `but`."""
        for value in list(self.waiting if everything else self.reading):
            if value not in but and value in self.waiting:
                self.reading.pop(value, None)
                self._write(f"{self._name(value)} = {self.make.typed(self.waiting.pop(value))}")

    # ---------------------------------------------------------------- ops

    def _ops(self, ops: Sequence[Op]) -> None:
        for op in ops:
            info = THREAD_OPS[op.name]
            if op.name in ("const", "stride", "thread_id"):
                self._declare(op)
                continue
            if not info.terminator:
                self._comment(op.span)
            if op.blocks:
                self._settle(op.operands, everything=True)
                {"for": self._for, "while": self._while, "if": self._if}[op.name](op)
            elif len(op.results) == 1 and op.name not in ("local", "shared", "global.atomic", "shuffle"):
                self._define(op, self._expression(op))
            else:
                self._effect(op)

    def _declare(self, op: Op) -> None:
        if op.name == "const":
            self.constants[op.result] = op.attrs["value"]  # type: ignore[assignment]
        elif op.name == "stride":
            self.names.alias(op.result, ("stride", op.operands[0], op.attrs["axis"]))
        else:
            self.names.fix(op.result, "t")

    def _define(self, op: Op, expression: Expression) -> None:
        """Let the expression wait for its one user, or give it a line; without a user it is dropped."""
        if op.result not in self.used:
            return
        if op.result in self.once and len(expression.text) <= LONGEST:
            self.waiting[op.result] = expression
            if expression.impure:
                self.reading[op.result] = None
        else:
            self._write(f"{self._name(op.result)} = {self.make.typed(expression)}")

    def _expression(self, op: Op) -> Expression:
        match op.name:
            case "program_id":
                return self._program(int(op.attrs["axis"]))  # type: ignore[arg-type]
            case "num_programs":
                return Expression(self.names.name(("grid", None, op.attrs["axis"]), "grid"), I64)
            case "local.load":
                array, index = op.operands
                return Expression(f"{self._name(array)}[{self._index(index)}]", array.dtype, impure=True)
            case "shared.load":
                array, index = op.operands
                return self.make.from_memory(array.dtype, f"{self._name(array)}[{self._index(index)}]")
            case "pack":
                halves = [self._text(v) for v in op.operands]
                return Expression(self.make.call(f"pack_{op.attrs['half']}", *halves), op.result.dtype)
            case "round_tf32" | "permute_bytes":
                return Expression(self.make.call(op.name, *(self._text(v) for v in op.operands)), op.result.dtype)
            case "is_aligned":
                tensor = op.operands[0]
                first = self.names.name(("first", tensor, 0), "first")
                return Expression(self.make.call("is_aligned", self._name(tensor), first), op.result.dtype)
            case "global.load":
                return self.make.from_memory(op.result.dtype, f"{self._name(op.operands[0])}[{self._place(op)}]")
        constant = self.constants.get(op.operands[-1])
        return self.make.elementwise(op, [self._use(v) for v in op.operands], constant)

    def _program(self, axis: int) -> Expression:
        """Programs are numbered along one axis of blocks, axis 0 fastest; the last axis needs no remainder."""
        grid = [self.names.name(("grid", None, a), "grid") for a in range(3)]
        before = " * ".join(grid[:axis])
        quotient = ("program", f"program // {before}", f"program // ({before})")[axis]
        if self.kernel.attrs.get("grid.axes") == axis + 1:
            return Expression(quotient, I64, Level.ARITHMETIC if axis else Level.ATOM)
        return Expression(f"{quotient} % {grid[axis]}", I64, Level.ARITHMETIC)

    def _place(self, op: Op, at: int = 0) -> str:
        """`x_first + offset`: where the element is in the flat memory of the tensor that is operand `at`.

        The first element is at 0 if no stride is negative. Then the address is one multiplication and addition.
        """
        tensor, offset = op.operands[at:at + 2]
        if self.kernel.attrs.get(f"fact.{tensor.name}.forward"):
            return self._index(offset)
        first = self.names.name(("first", tensor, 0), "first")
        constant = self.constants.get(offset)
        return first if constant == 0 else f"{first} + {self._index(offset)}"

    def _effect(self, op: Op) -> None:
        """A statement that does something; loads that wait and are not its operands come first."""
        self._settle(op.operands)
        match op.name:
            case "local" | "shared":
                self._array(op)
            case "barrier":
                self._write("cuda.syncthreads()")
            case "local.store" | "shared.store":
                array, index, value = op.operands
                stored = self._use(value)
                text = self.make.to_memory(stored) if op.name == "shared.store" else self.make.clean(stored).text
                self._write(f"{self._name(array)}[{self._index(index)}] = {text}")
            case "shared.load_matrix":
                shared, at, fragment, first = op.operands
                function = "load_matrix_trans" if op.attrs["trans"] else "load_matrix"
                self._write(self.make.call(function, self._name(fragment), self._index(first), self._name(shared),
                                           self._index(at)))
            case "shared.copy_async":
                shared, at, tensor, _, count = op.operands
                self._write(self.make.call("copy_async", self._name(shared), self._index(at), self._name(tensor),
                                           self._place(op, 2), self._index(count)))
            case "global.load_chunk":
                tensor, _, inside, registers, index = op.operands
                self._write(self.make.call("load_chunk", self._name(registers), self._index(index), self._name(tensor),
                                           self._place(op), self._text(inside)))
            case "shared.store_chunk":
                places = [self._index(v) if n % 2 else self._name(v) for n, v in enumerate(op.operands)]
                self._write(self.make.call("store_chunk", *places))
            case name if name in CALLS:
                arrays = [part for array in op.operands for part in (self._name(array), str(_array_type(array).size))]
                self._write(self.make.call(CALLS[name].format(**op.attrs), *arrays))
            case "shared.wgmma":
                self._write(self._product(op))
            case "mma":
                places = [self._index(v) if n % 2 else self._name(v) for n, v in enumerate(op.operands)]
                self._write(self.make.call(f"mma_{op.attrs['kind']}", *places))
            case "global.store":
                tensor, _, value = op.operands
                place = self._place(op)
                self._write(f"{self._name(tensor)}[{place}] = {self.make.to_memory(self._use(value))}")
            case "global.load_vector" | "global.store_vector" | "shared.load_vector" | "shared.store_vector":
                self._vector(op)
            case "global.atomic":
                self._atomic(op)
            case "shuffle":
                shuffled = self.make.shuffle(self._use(op.operands[0]), op.attrs)
                self._write(f"{self._name(op.result)} = {self.make.typed(shuffled)}")
            case "assert":
                holds = self._text(op.operands[0])
                self._write(self.make.call("log_assert", self._log(), holds, str(op.attrs["id"]), "program"))
            case "print":
                self._print(op)
            case _:
                raise InternalError("cuda", f"no statement for {op.name}")

    def _array(self, op: Op) -> None:
        """A shared array is aligned for the widest accesses, or a part of the dynamic one: its first byte, its size."""
        type, name = _array_type(op.result), self._name(op.result)
        if op.result in self.starts:
            start = self.starts[op.result]
            self._write(f"{name} = {self.make.call(f'dynamic_{type.dtype}', str(start), str(type.size))}")
            return
        dtype = self.make.array_type(type.dtype, op.name)
        aligned = self.aligned if op.name == "shared" else ""
        self._write(f"{name} = cuda.{op.name}.array({type.size}, {dtype}{aligned})")

    def _product(self, op: Op) -> str:
        """`wgmma_f16(acc, 0, a, at, 0x4000004000010000, b, at, 0x4000004001000000, 128, 0, 1)`.

        With A in registers `wgmma_f16_from_registers(acc, 0, a, at, b, at, 0x4000004001000000, 128, 1)`.
        """
        a, a_at, b, b_at, acc, first = op.operands
        places, described = {"a": (a, a_at), "b": (b, b_at)}, {}
        for name in (name for name in "ab" if name in op.attrs):
            described[name] = Descriptor(*op.attrs[name])  # type: ignore[misc, arg-type]
        operands = [self._name(acc), self._index(first)]
        for name, (array, at) in places.items():
            operands += [self._name(array), self._index(at)]
            operands += [f"0x{described[name].bits:016x}"] if name in described else []
        turned = [str(int(not which.along_k)) for which in described.values()]
        end = "" if "a" in described else "_from_registers"
        return self.make.call(f"wgmma_{op.attrs['kind']}{end}", *operands, str(op.attrs["columns"]), *turned)

    def _vector(self, op: Op) -> None:
        """`load_f32x4(v_regs, c * 4, x, x_first + offset)`; of shared memory `load_shared_f32x4`."""
        memory, offset, registers, index = op.operands
        place, _, way = op.name.removesuffix("_vector").partition(".")
        function = f"{way}_{memory.dtype}" if place == "global" else f"{way}_shared_{memory.dtype}"
        at = self._index(index)
        self._write(self.make.call(f"{function}x{op.attrs['width']}", self._name(registers), at, self._name(memory),
                                   self._place(op) if place == "global" else self._index(offset)))

    def _atomic(self, op: Op) -> None:
        tensor, _, *values = op.operands
        values.reverse()  # `cas`: the library takes what is expected first
        at = self.make.converted(I64, self._place(op))
        function = f"atomic_{op.attrs['kind']}_{tensor.dtype}"
        call = self.make.call(function, self._name(tensor), at, *(self._text(v) for v in values))
        self._write(f"{self._name(op.result)} = {call}" if op.result in self.used else call)

    def _log(self) -> str:
        return self.names.name(("log", None, 0), "log")

    def _print(self, op: Op) -> None:
        number, payload = "0", "0"
        if op.operands:
            number = self._index(op.operands[0])
            payload = self.make.call(f"payload_{op.operands[1].dtype}", self._text(op.operands[1]))
        self._write(self.make.call("log_print", self._log(), str(op.attrs["id"]), "program", number, payload))

    # ---------------------------------------------------------------- control

    def _block(self, block: Block, assign: Sequence[Value]) -> None:
        """An indented block whose terminator sets the variables of `assign`."""
        self.depth += 1
        start = len(self.written)
        with self.names.scope():
            self._merge_guard(block, assign)
            self._ops(block.ops[:-1])
            self._hand_over(block.ops[-1].operands, assign)
        if all(line.lstrip().startswith("#") for line in self.written[start:]):
            self._write("pass")
        self.depth -= 1

    def _merge_guard(self, block: Block, carried: Sequence[Value]) -> None:
        """`acc = f(acc) if inside else acc` at the end of a loop's body: let the result be the variable `acc`.

        Then the branch that changes nothing is not written.
        """
        if len(block.ops) < 2 or block.ops[-2].name != "if":
            return
        guard, handed = block.ops[-2], block.ops[-1].operands
        unchanged = guard.blocks[1].ops[-1].operands
        for result, kept in zip(guard.results, unchanged, strict=True):
            if kept in carried and handed.count(result) == 1 and kept not in handed \
                    and carried[handed.index(result)] == kept:
                self.names.alias(result, kept)

    def _hand_over(self, values: Sequence[Value], targets: Sequence[Value]) -> None:
        """Set all targets at once, so that values may change places."""
        pairs = [(self._name(target), self._text(value)) for target, value in zip(targets, values, strict=True)]
        pairs = [(name, text) for name, text in pairs if name != text]
        if pairs:
            self._write(f"{', '.join(n for n, _ in pairs)} = {', '.join(t for _, t in pairs)}")
        self._settle(everything=True)

    def _if(self, op: Op) -> None:
        then, otherwise = op.blocks
        condition = self._use(op.operands[0])
        names = [self._name(result) for result in op.results]  # before the branches: they are used after them
        same = [self._name(v) for v in otherwise.ops[-1].operands] == names
        has_else = len(otherwise.ops) > 1 or not same
        if len(then.ops) == 1 and has_else and not op.results:
            self._write(f"if not {condition.inside(Level.COMPARISON)}:")
            self._block(otherwise, op.results)
            return
        self._write(f"if {condition.text}:")
        self._block(then, op.results)
        if has_else:
            self._write("else:")
            self._block(otherwise, op.results)

    def _for(self, op: Op) -> None:
        (body,) = op.blocks
        index, *carried = body.args
        for variable in carried:
            self._name(variable)
        lo, hi, step = (self._index(v) for v in op.operands[:3])
        self._hand_over(op.operands[3:], carried)
        bounds = hi if (lo, step) == ("0", "1") else f"{lo}, {hi}" if step == "1" else f"{lo}, {hi}, {step}"
        with self.names.scope():
            name = self._name(index)
            self._write(f"for {name} in range({bounds}):")
            if index.dtype not in (I32, I64) or not self._only_counts(index, body):
                self._write(f"    {name} = {self.make.converted(index.dtype, name)}")
            self._block(body, carried)
        for result, variable in zip(op.results, carried, strict=True):
            self.names.alias(result, variable)

    def _only_counts(self, index: Value, body: Block) -> bool:
        """Is a loop's index used where Python's own integer does as well as a typed one?"""
        users = {op.name for op in body.walk() if index in op.operands}
        return users <= AS_PYTHON_INTEGER

    def _while(self, op: Op) -> None:
        test, body = op.blocks
        self._hand_over(op.operands, test.args)
        for group in (body.args, op.results):
            for value, variable in zip(group, test.args, strict=True):
                self.names.alias(value, variable)
        self._write("while True:")
        self.depth += 1
        self._ops(test.ops[:-1])
        condition, *handed = test.ops[-1].operands
        stop = self._use(condition)
        if list(handed) != list(test.args):
            self._write(f"{self._name(condition)} = {stop.text}")
            stop = Expression(self._name(condition), condition.dtype)
            self._hand_over(handed, test.args)
        self._write(f"if not {stop.inside(Level.COMPARISON)}:")
        self._write("    break")
        self.depth -= 1
        self._block(body, test.args)


def _array_type(array: Value) -> LocalType | SharedType:
    if not isinstance(array.type, (LocalType, SharedType)):
        raise InternalError("cuda", f"{array} is no array")
    return array.type
