"""What the checker carries along while it types one kernel for one binding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from tilelang.diagnostics import Diagnostic, Label, Sink, Span
from tilelang.dtypes import DTYPES, DType
from tilelang.semantics import constants as constant_rules
from tilelang.semantics.constants import Number, Value
from tilelang.semantics.definitions import Definition
from tilelang.semantics.extents import Extent, Sym, SymBool
from tilelang.semantics.mistakes import Mistake, known, mistake
from tilelang.semantics.names import Names
from tilelang.semantics.typed import Const, Elementwise, Read, TensorParam, Typed, Var
from tilelang.semantics.types import MAX_RANK, MAX_TILE_ELEMENTS, TileType
from tilelang.syntax import ast

Result = TypeVar("Result")

FOLDED = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}
"""Ops on known ints whose results are known, so that an extent may be `2 * n` after `let n = BM;`."""

MAX_INLINED_STATEMENTS = 10_000
MAX_INLINE_DEPTH = 100


class Checker:
    """Names, metas, tensors and what each definition stands for at this moment.

    `values` holds the typed value of every variable seen so far; None marks one whose declaration was wrong.
    """

    def __init__(self, names: Names, kernel: ast.KernelDef, metas: Mapping[str, Value], sink: Sink):
        self.names = names
        self.kernel = kernel
        self.metas = metas
        self.sink = sink
        self.tensors: dict[str, TensorParam] = {}
        self.values: dict[Definition, Typed | None] = {}
        self.constants: dict[Var, Number] = {}
        self.call_stack: list[tuple[ast.FnDef, Span]] = []
        self._inlined_statements = 0
        self._vars = 0
        self._reported: set[tuple[str, str, Span | None]] = set()

    def new_var(self, name: str, type: TileType) -> Var:
        """A fresh variable: each inlined call of a fn has its own."""
        self._vars += 1
        return Var(name, self._vars, type)

    # --- mistakes ----------------------------------------------------------------------------------

    def report(self, wrong: Mistake) -> None:
        """Report each diagnostic once; inside a fn, say which call it was checked for."""
        for diagnostic in wrong.diagnostics:
            key = (diagnostic.code, diagnostic.title, diagnostic.span)
            if key not in self._reported:
                self._reported.add(key)
                self.sink.report(self._with_calls(diagnostic))

    def warn(self, code: str, title: str, span: Span, *, others: tuple[Label, ...] = (), help: str = "") -> None:
        self.report(mistake(code, title, span, others=others, help=help))

    def attempt(self, function: Callable[[], Result]) -> Result | None:
        """`function()`, or None after reporting its mistake."""
        try:
            return function()
        except Mistake as wrong:
            self.report(wrong)
            return None

    def _with_calls(self, diagnostic: Diagnostic) -> Diagnostic:
        calls = tuple(Label(span, f"in this call of `{fn.name.text}`") for fn, span in reversed(self.call_stack[-3:]))
        return replace(diagnostic, others=diagnostic.others + calls)

    # --- what names and types are ------------------------------------------------------------------

    def dtype(self, ident: ast.Ident | ast.Name) -> DType:
        """The element type that a name in a type position stands for."""
        if ident.text in DTYPES:
            return DTYPES[ident.text]
        meaning = self.names.meaning(ident)
        value = self.metas.get(meaning.name) if meaning is not None else None
        if value is None:
            raise known()
        if not isinstance(value, DType):
            raise mistake(
                "E0209",
                f"the meta `{ident.text}` is a number, not an element type",
                ident.span,
                help="name an element type such as f32, or a meta with element types as choices",
            )
        return value

    def tile(self, dtype: DType, shape: tuple[Extent, ...], span: Span) -> TileType:
        """The type of a new tile, within the limits: rank 4, extents from 1 on, 2**20 elements."""
        type = TileType(dtype, shape)
        if len(shape) > MAX_RANK:
            raise mistake(
                "E0309",
                f"a tile has at most {MAX_RANK} axes",
                span,
                label=f"this one has {len(shape)}",
                notes=(f"its type would be {type}",),
            )
        ints = [extent for extent in shape if isinstance(extent, int)]
        for extent in ints:
            if extent < 1:
                raise mistake(
                    "E0309",
                    f"a tile cannot have an extent of {extent}",
                    span,
                    notes=(f"its type would be {type}",),
                    help="extents start at 1",
                )
        size = 1
        for extent in ints:
            size *= extent
        if size > MAX_TILE_ELEMENTS:
            raise mistake(
                "E0309",
                f"a tile has at most {MAX_TILE_ELEMENTS:,} elements",
                span,
                label=f"this one would have {size:,}",
                notes=(f"its type would be {type}",),
                help="work on a smaller tile, in a loop or with more programs",
            )
        return type

    def constant(self, value: Typed) -> Number | None:
        """The number that a value is known to be at compile time: a constant, or a `let` bound to one."""
        if isinstance(value, Const):
            return value.value
        if isinstance(value, Read):
            return self.constants.get(value.var)
        if isinstance(value, Elementwise) and value.op in FOLDED and value.type.is_scalar:
            numbers = [self.constant(operand) for operand in value.operands]
            if not any(number is None or isinstance(number, SymBool) for number in numbers):
                return _folded(FOLDED[value.op], numbers, value.type.dtype)  # type: ignore[arg-type]
        return None

    @staticmethod
    def placed(value: Typed, span: Span) -> Typed:
        """The same value, used at another place."""
        return replace(value, span=span)

    # --- inlining ----------------------------------------------------------------------------------

    @contextmanager
    def inlining(self, fn: ast.FnDef, call: Span) -> Iterator[None]:
        if len(self.call_stack) >= MAX_INLINE_DEPTH:
            raise mistake("E0601", f"calls of fns are nested more than {MAX_INLINE_DEPTH} deep", call)
        self.call_stack.append((fn, call))
        try:
            yield
        finally:
            self.call_stack.pop()

    def count_inlined(self, span: Span) -> None:
        """One more statement of a fn was copied into the kernel."""
        if not self.call_stack:
            return
        self._inlined_statements += 1
        if self._inlined_statements > MAX_INLINED_STATEMENTS + 1:
            raise known()
        if self._inlined_statements > MAX_INLINED_STATEMENTS:
            raise mistake(
                "E0601",
                f"the fns that this kernel calls have more than {MAX_INLINED_STATEMENTS:,} statements in all",
                span,
                notes=("every call copies the fn's body into the kernel",),
                help="call fewer fns from fns, or turn repeated calls into a loop",
            )


def _folded(op: str, numbers: list[Number], dtype: DType) -> Number | None:
    """The int that the op gives, unless it wraps around."""
    if not all(isinstance(number, (int, Sym)) for number in numbers) or not dtype.is_integer:
        return None
    result = constant_rules.binary(op, *numbers)
    if isinstance(result, int) and not dtype.min_int <= result <= dtype.max_int:
        return None
    return result
