"""Typed tree -> tile IR: where variables become SSA values.

    var acc = 0.0;                          %acc: f32 = const {value = 0.0}
    for k in range(0, n) {          ==>     %acc_1: f32 = for %lo, %n, %step, %acc (%k: i64, %acc_2: f32) {
        acc = acc + 1.0;                      %c: f32 = const {value = 1.0}
    }                                         %acc_3: f32 = add %acc_2, %c
                                              yield %acc_3
                                            }

Control flow is structured, so no phi placement is needed: the variables that a branch or loop assigns are
its results, and those of a loop are carried from one trip to the next. (Braun et al., "Simple and Efficient
Construction of SSA Form", 2013, do the same for arbitrary jumps.)

`return;` is no jump either. If something is left to do after it, the builder keeps a bool `live`, and what
follows stands in `if live { ... }`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tilelang.diagnostics import CompileError, Diagnostic, InternalError, Span
from tilelang.dtypes import I64
from tilelang.ir.build_expressions import State, build_expression, build_store
from tilelang.ir.core import Attr, Block, Kernel, TensorType, Value
from tilelang.ir.emit import Emitter
from tilelang.ir.flow import LIVE, assigned, is_long_chain, leaves_early, reachable, split_chain
from tilelang.semantics import typed
from tilelang.semantics.types import TileType

MAX_DEPTH = 64
"""How deep loops, branches and calls may nest in a kernel once all calls are inlined."""

ZERO_STEP = "range() step must not be zero"

DEFAULT_WARPS = 4
DEFAULT_STAGES = 2


def build(kernel: typed.TypedKernel) -> Kernel:
    """The tile IR of one specialised kernel.

    Raises:
        CompileError: E0610, it nests deeper than `MAX_DEPTH`.
    """
    out = Emitter()
    dims = {name: out.value(name, TileType(I64)) for name in kernel.dims}
    params: list[Value] = []
    tensors: dict[str, Value] = {}
    variables: dict[int, Value] = {}
    for param in kernel.params:
        if isinstance(param, typed.TensorParam):
            extents = tuple(d if isinstance(d, int) else dims[d].name for d in param.dims)
            value = out.value(param.name, TensorType(param.dtype, extents, param.mode))
            tensors[param.name] = value
        else:
            value = out.value(param.name, param.var.type)
            variables[param.var.uid] = value
        params.append(value)
    body = _Builder(State(out, tensors, dims, variables)).program(kernel.body)
    return Kernel(kernel.name, tuple(params), tuple(dims.values()), body, attrs=_kernel_attrs(kernel))


def _kernel_attrs(kernel: typed.TypedKernel) -> dict[str, Attr]:
    """`warps`, `stages`, the metas' values, the grid's axes, and those extents that are a number or exactly a dim."""
    attrs: dict[str, Attr] = {"warps": DEFAULT_WARPS, "stages": DEFAULT_STAGES}
    for name, value in kernel.metas.items():
        if name in attrs:
            attrs[name] = value
        attrs[f"meta.{name}"] = value
    attrs.update({f"grid.{axis}": extent for axis, extent in enumerate(kernel.grid) if extent is not None})
    attrs["grid.axes"] = len(kernel.grid)
    return attrs


class _Builder:
    """Builds statements and `fn` calls; the rest of the expressions is `build_expressions`'s."""

    def __init__(self, state: State):
        self.state = state
        self.out = state.out
        self.depth = 0
        state.inline = self.inline

    def program(self, statements: Sequence[typed.Statement]) -> Block:
        with self.out.block() as body:
            if leaves_early(statements, tail=True):
                with self.out.at(statements[0].span):
                    self.set_live(True)
            self.statements(statements, tail=True)
        return body.close()

    def set_live(self, live: bool) -> None:
        self.state.variables[LIVE.uid] = self.out.const(live, LIVE.type)

    # --- statements ------------------------------------------------------------------------------

    def statements(self, statements: Sequence[typed.Statement], tail: bool) -> None:
        """Build a block's statements. `tail`: the program has nothing left to do after them."""
        statements = reachable(statements)
        for position, statement in enumerate(statements):
            rest = statements[position + 1:]
            with self.out.at(statement.span):
                self.statement(statement, tail and not rest)
                if rest and leaves_early((statement,), tail=False):
                    self.branch(self.state.variables[LIVE.uid], rest, (), tail)
                    return

    def statement(self, statement: typed.Statement, tail: bool) -> None:
        """Build one statement; ops that come from no expression of it carry its span."""
        match statement:
            case typed.Bind():
                self.bind(statement)
            case typed.Store():
                build_store(self.state, statement)
            case typed.Evaluate():
                self.evaluate(statement.value)
            case typed.Assert():
                self.out.effect("assert", self.value(statement.condition), text=statement.text)
            case typed.Print():
                operands = () if statement.value is None else (self.value(statement.value),)
                self.out.effect("print", *operands, text=statement.text)
            case typed.If():
                self.if_statement(statement, tail)
            case typed.For():
                self.for_statement(statement)
            case typed.While():
                self.while_statement(statement)
            case typed.Return():
                if not tail:
                    self.set_live(False)
            case _:
                raise InternalError("build", f"no rule for {statement!r}")

    def value(self, expression: typed.Typed, hint: str | None = None) -> Value:
        return build_expression(self.state, expression, hint)

    def bind(self, statement: typed.Bind) -> None:
        if isinstance(statement.value, typed.Inlined):
            values = self.call(statement.value)
        else:
            values = [self.value(statement.value, statement.vars[0].name)]
        for var, value in zip(statement.vars, values, strict=True):
            self.state.variables[var.uid] = value

    def evaluate(self, value: typed.Typed) -> None:
        """An expression for its effect; a `fn` may have no result at all."""
        if isinstance(value, typed.Inlined):
            self.call(value)
        else:
            self.value(value)

    # --- calls -----------------------------------------------------------------------------------

    def call(self, call: typed.Inlined) -> list[Value]:
        return self.inline(call, [self.value(argument) for argument in call.args])

    def inline(self, call: typed.Inlined, arguments: list[Value]) -> list[Value]:
        """The body of a `fn`, with its parameters bound to the arguments; its results."""
        with self.deeper(call.span):
            for param, argument in zip(call.params, arguments, strict=True):
                self.state.variables[param.uid] = argument
            self.statements(call.body, tail=False)
            return [self.value(result) for result in call.results]

    # --- control flow ----------------------------------------------------------------------------

    def if_statement(self, statement: typed.If, tail: bool) -> None:
        if not is_long_chain(statement):
            self.branch(self.value(statement.condition), statement.then, statement.orelse, tail)
            return
        for part in split_chain(statement):  # what follows a link that returns is skipped: it was decided
            with self.out.at(part.span):
                self.statement(part, tail=False)

    def branch(self, condition: Value, then: Sequence[typed.Statement], orelse: Sequence[typed.Statement],
               tail: bool) -> None:
        """An `if` whose results are the new values of the variables that a side assigns."""
        changed = [] if tail else self.in_scope([*assigned(then, tail), *assigned(orelse, tail)])
        blocks = []
        for side in (then, orelse):
            with self.scope(), self.out.block() as block:
                self.statements(side, tail)
                self.out.terminate("yield", *self.current(changed))
            blocks.append(block.close())
        results = self.out.structured("if", (condition,), blocks, [var.name for var in changed])
        self.update(changed, results)

    def for_statement(self, statement: typed.For) -> None:
        bounds = [self.value(bound) for bound in (statement.lo, statement.hi, statement.step)]
        if not isinstance(statement.step, typed.Const):
            self.guard_step(bounds[2])
        carried = self.in_scope(assigned(statement.body, tail=False))
        initial = self.current(carried)
        with self.scope(), self.out.block(*self.arguments([statement.var, *carried])) as body:
            self.update([statement.var, *carried], body.args)
            self.guarded(statement.body, carried)
            self.out.terminate("yield", *self.current(carried))
        names = [var.name for var in carried]
        self.update(carried, self.out.structured("for", (*bounds, *initial), (body.close(),), names))

    def guard_step(self, step: Value) -> None:
        """A step of 0 would never get anywhere; it is tested where it is not a constant."""
        zero = self.out.const(0, TileType(step.dtype))
        self.out.effect("assert", self.out.op("ne", step, zero), text=ZERO_STEP)

    def while_statement(self, statement: typed.While) -> None:
        carried = self.in_scope(assigned(statement.body, tail=False))
        initial = self.current(carried)
        with self.scope(), self.out.block(*self.arguments(carried)) as head:
            self.update(carried, head.args)
            condition = self.loop_condition(statement.condition, carried)
            self.out.terminate("condition", condition, *self.current(carried))
        with self.scope(), self.out.block(*self.arguments(carried)) as body:
            self.update(carried, body.args)
            self.statements(statement.body, tail=False)
            self.out.terminate("yield", *self.current(carried))
        names = [var.name for var in carried]
        self.update(carried, self.out.structured("while", initial, (head.close(), body.close()), names))

    # --- early return ----------------------------------------------------------------------------

    def guarded(self, statements: Sequence[typed.Statement], carried: list[typed.Var]) -> None:
        """A `for` body, skipped in the trips after a `return;`."""
        if LIVE in carried:
            self.branch(self.state.variables[LIVE.uid], statements, (), tail=False)
        else:
            self.statements(statements, tail=False)

    def loop_condition(self, condition: typed.Typed, carried: list[typed.Var]) -> Value:
        """A `while` condition; after a `return;` it is false and is not evaluated: it may have effects."""
        if LIVE not in carried:
            return self.value(condition)
        with self.out.block() as alive:
            self.out.terminate("yield", self.value(condition))
        with self.out.block() as dead:
            self.out.terminate("yield", self.out.const(False, LIVE.type))
        live = self.state.variables[LIVE.uid]
        return self.out.structured("if", (live,), (alive.close(), dead.close()), ("again",))[0]

    # --- variables -------------------------------------------------------------------------------

    def in_scope(self, variables: Sequence[typed.Var]) -> list[typed.Var]:
        """Those that exist already outside of the block that assigns them, each once."""
        return [var for var in dict.fromkeys(variables) if var.uid in self.state.variables]

    def current(self, variables: Sequence[typed.Var]) -> list[Value]:
        return [self.state.variables[var.uid] for var in variables]

    def update(self, variables: Sequence[typed.Var], values: Sequence[Value]) -> None:
        self.state.variables.update({var.uid: value for var, value in zip(variables, values, strict=True)})

    def arguments(self, variables: Sequence[typed.Var]) -> list[tuple[str, TileType]]:
        return [(var.name, var.type) for var in variables]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What a block declares or assigns inside is forgotten after it."""
        outside = self.state.variables
        self.state.variables = dict(outside)
        with self.deeper(self.out.span):
            yield
        self.state.variables = outside

    @contextmanager
    def deeper(self, span: Span) -> Iterator[None]:
        """Count one level of nesting."""
        if self.depth == MAX_DEPTH:
            raise CompileError([too_deep(span)])
        self.depth += 1
        yield
        self.depth -= 1


def too_deep(span: Span) -> Diagnostic:
    return Diagnostic(
        "E0610", f"loops, branches and calls nest more than {MAX_DEPTH} deep", span, "one level too many",
        notes=("calls of a `fn` are inlined first; what follows a `return;` counts as a level too",),
        help="split the kernel, or replace branches by `select`")
