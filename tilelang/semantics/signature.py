"""A kernel's signature: what a caller must know of it, as data and as one line of text."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilelang.diagnostics import Span
from tilelang.dtypes import DTYPES
from tilelang.semantics.constants import Value
from tilelang.semantics.names import Names
from tilelang.semantics.spaces import Space, show, spaces
from tilelang.syntax import ast
from tilelang.syntax.limits import deep_trees


@dataclass(frozen=True)
class ParamInfo:
    """`dtype` names an element type or a meta; `dims` are the extents as written, None for a scalar."""

    name: str
    mode: str
    dtype: str
    dims: tuple[str, ...] | None
    span: Span

    @property
    def is_tensor(self) -> bool:
        return self.dims is not None

    def show(self) -> str:
        mode = f"{self.mode} " if self.mode != "in" else ""
        dims = f"[{', '.join(self.dims)}]" if self.dims is not None else ""
        return f"{mode}{self.name}: {self.dtype}{dims}"


@dataclass(frozen=True)
class MetaInfo:
    """`choices` is empty where any value will do; `default` is as written, "" for the first choice."""

    name: str
    choices: tuple[Value, ...]
    default: str
    span: Span

    def show(self) -> str:
        choices = f": {{{', '.join(map(show, self.choices))}}}" if self.choices else ""
        return f"{self.name}{choices}{f' = {self.default}' if self.default else ''}"


@dataclass(frozen=True)
class Signature:
    """One kernel as callers see it. `names`, `kernel` and `spaces` are what binding computes with."""

    name: str
    metas: tuple[MetaInfo, ...]
    params: tuple[ParamInfo, ...]
    dims: tuple[str, ...]
    grid: tuple[str, ...]
    names: Names = field(compare=False, repr=False)
    kernel: ast.KernelDef = field(compare=False, repr=False)
    spaces: tuple[Space, ...] = field(compare=False, repr=False)

    def param(self, name: str) -> ParamInfo:
        """The parameter called `name`; raises KeyError."""
        for param in self.params:
            if param.name == name:
                return param
        raise KeyError(name)

    def show(self) -> str:
        """`kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M)`."""
        metas = f"[{', '.join(m.show() for m in self.metas)}]" if self.metas else ""
        params = ", ".join(p.show() for p in self.params)
        return f"kernel {self.name}{metas}({params}) grid ({', '.join(self.grid)})"


def signature(names: Names, kernel: ast.KernelDef) -> Signature:
    """The signature of a kernel. Choices that make no sense are left out; `check` reports them."""
    with deep_trees():
        return _signature(names, kernel)


def _signature(names: Names, kernel: ast.KernelDef) -> Signature:
    found = spaces(names, kernel)
    metas = tuple(
        MetaInfo(s.name, s.choices, text(m.default) if m.default is not None else "", s.span)
        for s, m in zip(found, kernel.metas, strict=True)
    )
    params = tuple(_param(p) for p in kernel.params)
    return Signature(
        kernel.name.text,
        metas,
        params,
        names.dims[kernel.name.text],
        tuple(text(e) for e in kernel.grid),
        names,
        kernel,
        tuple(found),
    )


def _param(param: ast.Param) -> ParamInfo:
    dims = None if param.dims is None else tuple(text(d) for d in param.dims)
    return ParamInfo(param.name.text, param.mode, param.dtype.text, dims, param.span)


def dtype_of(param: ParamInfo) -> str | None:
    """The meta that a parameter's element type is, or None for a fixed type."""
    return None if param.dtype in DTYPES else param.dtype


PRECEDENCE = {
    "or": 1,
    "and": 2,
    "==": 4,
    "!=": 4,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+:": 5,
    "|": 6,
    "^": 7,
    "&": 8,
    "<<": 9,
    ">>": 9,
    "+": 10,
    "-": 10,
    "*": 11,
    "/": 11,
    "//": 11,
    "%": 11,
}
TIGHTEST = 12


def text(expr: ast.Expr, around: int = 0) -> str:
    """A constant expression as one would write it, for messages and signatures."""
    match expr:
        case ast.IntLit(value=value) | ast.FloatLit(value=value):
            return repr(value)
        case ast.BoolLit(value=flag):
            return "true" if flag else "false"
        case ast.Name(text=name):
            return name
        case ast.Unary(op=op, operand=operand):
            return f"{op}{' ' if op == 'not' else ''}{text(operand, TIGHTEST)}"
        case ast.Call(func=func, args=args):
            return f"{func.text}({', '.join(text(a) for a in args)})"
        case ast.Binary(op=op, left=left, right=right):
            level = PRECEDENCE[op]
            shown = f"{text(left, level)} {op} {text(right, level + 1)}"
            return f"({shown})" if level < around else shown
    return "..."
