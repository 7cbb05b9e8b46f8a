"""The abstract syntax tree: what a `.tile` file says, before any name or type is looked up.

Frozen dataclasses; every node carries the `span` of the text it came from. Spans do not take part
in comparison, so that two files that differ only in layout have equal trees (the formatter's tests
rely on it).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilelang.diagnostics import NOWHERE, Span


@dataclass(frozen=True, kw_only=True)
class Node:
    """What all nodes share."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Ident(Node):
    """A name where it is introduced: a variable, parameter, meta, function or kernel."""

    text: str


# --- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expr(Node):
    """Base of all expressions."""


@dataclass(frozen=True)
class IntLit(Expr):
    """`12`, `1_000`, `0xff`, `0b101`."""

    value: int


@dataclass(frozen=True)
class FloatLit(Expr):
    """`1.0`, `1e-5`. `inf`, `nan` and `pi` are names, resolved later."""

    value: float


@dataclass(frozen=True)
class BoolLit(Expr):
    value: bool


@dataclass(frozen=True)
class StrLit(Expr):
    """The text between the quotes, escapes resolved; allowed in `assert` and `print` only."""

    value: str


@dataclass(frozen=True)
class Name(Expr):
    """A use of a value's name (or of an element type, where a type is asked for)."""

    text: str


@dataclass(frozen=True)
class Unary(Expr):
    """`op` is `-`, `~` or `not`."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """`op` is one of `or and == != < <= > >= +: | ^ & << >> + - * / // %`; `op_span` marks the operator."""

    op: str
    left: Expr
    right: Expr
    op_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Cast(Expr):
    """`value as dtype`; `dtype` names an element type or an element-type meta."""

    value: Expr
    dtype: Ident


@dataclass(frozen=True)
class ListExpr(Expr):
    """`[BM, BN]`: a shape, a permutation, a list of axes or of tiles, as an argument of a built-in."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Keyword(Node):
    """`name=value` in a call."""

    name: Ident
    value: Expr


@dataclass(frozen=True)
class Call(Expr):
    """`func(args, keywords)`. Functions live in a name space of their own: `func` is a `fn` or a built-in."""

    func: Ident
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...] = ()


@dataclass(frozen=True)
class NewAxis(Node):
    """`None` between index brackets."""


@dataclass(frozen=True)
class FullAxis(Node):
    """A lone `:` between index brackets."""


@dataclass(frozen=True)
class Index(Expr):
    """`base[items]`: a read of a tensor, or `v[:, None]` on a tile; which of the two is known once names are.

    `pointwise` marks the gather form `x[[i, j]]`. `mask` and `other` are the `where` and `else` clauses.
    """

    base: Name
    items: tuple[Expr | NewAxis | FullAxis, ...]
    pointwise: bool = False
    mask: Expr | None = None
    other: Expr | None = None


@dataclass(frozen=True)
class View(Expr):
    """`(expression)[:, None]`: axes added to the value of any expression that is not a lone name."""

    value: Expr
    items: tuple[NewAxis | FullAxis, ...]


# --- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stmt(Node):
    """Base of all statements."""


@dataclass(frozen=True)
class Block(Node):
    """`{ ... }`."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Let(Stmt):
    """`let a, b = value;` or, when `mutable`, `var a = value;`."""

    names: tuple[Ident, ...]
    value: Expr
    mutable: bool = False


@dataclass(frozen=True)
class Assign(Stmt):
    """`a = value;`, `a, b = value;` or, when `op` is `+`, `-`, `*`, ..., `a op= value;` on variables."""

    names: tuple[Ident, ...]
    value: Expr
    op: str | None = None


@dataclass(frozen=True)
class Store(Stmt):
    """`target = value where mask;`; with `op`, `target op= value where mask;`. `target.mask` is always None."""

    target: Index
    value: Expr
    mask: Expr | None = None
    op: str | None = None


@dataclass(frozen=True)
class ExprStmt(Stmt):
    """A call for its effect: an atomic, `assert`, `print`, or a `fn`."""

    value: Expr


@dataclass(frozen=True)
class For(Stmt):
    """`for var in range(args) { body }` with one to three arguments, as in Python."""

    var: Ident
    args: tuple[Expr, ...]
    body: Block


@dataclass(frozen=True)
class While(Stmt):
    condition: Expr
    body: Block


@dataclass(frozen=True)
class If(Stmt):
    """`else if` is an `orelse` block that holds one `If`."""

    condition: Expr
    then: Block
    orelse: Block | None = None


@dataclass(frozen=True)
class Return(Stmt):
    """`return;` in a kernel, `return a, b;` in a function."""

    values: tuple[Expr, ...] = ()


# --- top level -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstDef(Node):
    name: Ident
    value: Expr


@dataclass(frozen=True)
class FnParam(Node):
    """A parameter of a `fn`; `dtype` is None where the element type is left open."""

    name: Ident
    dtype: Ident | None = None


@dataclass(frozen=True)
class FnDef(Node):
    name: Ident
    params: tuple[FnParam, ...]
    body: Block


@dataclass(frozen=True)
class Meta(Node):
    """A compile-time parameter.

    `BLOCK = default` has only a default; `BM: {64, 128}` has `choices`, of which the first is the default
    unless `= default` names another. Element types are choices as `Name`s.
    """

    name: Ident
    choices: tuple[Expr, ...] = ()
    default: Expr | None = None


@dataclass(frozen=True)
class Param(Node):
    """A kernel parameter. `dims` is None for a scalar; `mode` is `in`, `out` or `inout`."""

    name: Ident
    dtype: Ident
    dims: tuple[Expr, ...] | None = None
    mode: str = "in"


@dataclass(frozen=True)
class KernelDef(Node):
    name: Ident
    metas: tuple[Meta, ...]
    params: tuple[Param, ...]
    grid: tuple[Expr, ...]
    body: Block


@dataclass(frozen=True)
class Module(Node):
    """A whole file."""

    items: tuple[ConstDef | FnDef | KernelDef, ...]

    @property
    def kernels(self) -> tuple[KernelDef, ...]:
        return tuple(i for i in self.items if isinstance(i, KernelDef))

    @property
    def fns(self) -> tuple[FnDef, ...]:
        return tuple(i for i in self.items if isinstance(i, FnDef))

    @property
    def consts(self) -> tuple[ConstDef, ...]:
        return tuple(i for i in self.items if isinstance(i, ConstDef))
