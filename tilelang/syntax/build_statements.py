"""AST building for statements: one method per grammar rule, given the AST nodes of the rule's parts."""

from __future__ import annotations

from dataclasses import replace

from lark.tree import Meta as Place
from lark.visitors import v_args

from tilelang.diagnostics import Label
from tilelang.syntax import ast
from tilelang.syntax.build_expressions import Clause, Clauses, ExpressionRules, ident, span_of

_FOREIGN_STATEMENTS = {
    "break": "write a `while` loop whose condition becomes false",
    "continue": "put the rest of the loop's body into an `if`",
    "pass": "leave it away: a block may be empty",
}


@v_args(meta=True)
class StatementRules(ExpressionRules):
    """Builds statements. A statement that cannot be built is None, and left out of its block."""

    def block(self, place: Place, parts: list) -> ast.Block:
        return ast.Block(tuple(p for p in parts if p is not None), span=span_of(place))

    def bad_statement(self, place: Place, parts: list) -> None:
        return None

    # --- variables and stores ---

    def names(self, place: Place, parts: list) -> list[ast.Ident]:
        return [ident(p) for p in parts]

    def let_stmt(self, place: Place, parts: list) -> ast.Stmt:
        return ast.Let(tuple(parts[0]), self.settled(parts[1]), span=span_of(place))

    def var_stmt(self, place: Place, parts: list) -> ast.Stmt:
        return ast.Let(tuple(parts[0]), self.settled(parts[1]), mutable=True, span=span_of(place))

    def targets(self, place: Place, parts: list) -> list[ast.Expr]:
        return parts

    def assign_stmt(self, place: Place, parts: list) -> ast.Stmt | None:
        targets, op_token, value = parts
        op = str(op_token)[:-1] or None  # `//=` -> `//`, `=` -> None
        for target in targets:
            if not isinstance(target, (ast.Name, ast.Index)):
                self._report_target(target)
                return None
        if isinstance(targets[0], ast.Index) and len(targets) == 1:
            return self._store(place, targets[0], value, op)
        return self._assign(place, targets, value, op)

    def _report_target(self, target: ast.Expr) -> None:
        if isinstance(target, Clauses):
            self.sink.error(
                "E0110",
                "the mask of a store stands at its end",
                target.clauses[0].span,
                help="write `y[i] = value where mask;`",
            )
            return
        self.sink.error(
            "E0110",
            "cannot assign to this",
            target.span,
            label="neither a variable nor an element of a tensor",
            help="write `let name = value;`, or `==` if a comparison is meant",
        )

    def _assign(self, place: Place, targets: list, value: ast.Expr, op: str | None) -> ast.Stmt | None:
        if len(targets) > 1 and (op is not None or any(isinstance(t, ast.Index) for t in targets)):
            self.sink.error(
                "E0121",
                "only variables can be assigned several at once, and only with `=`",
                targets[0].span.to(targets[-1].span),
                help="write one statement for each",
            )
            return None
        names = tuple(ast.Ident(t.text, span=t.span) for t in targets)
        return ast.Assign(names, self.settled(value), op, span=span_of(place))

    def _store(self, place: Place, target: ast.Index, value: ast.Expr, op: str | None) -> ast.Stmt:
        """A trailing `where` masks the store; an `else` before it belongs to the read that is stored."""
        mask = None
        if isinstance(value, Clauses):
            keywords = [c.keyword for c in value.clauses]
            if keywords == ["where", "else"]:
                self._report_ambiguous(value.clauses)
                return ast.Store(target, value.read, None, op, span=span_of(place))
            if keywords[-1] == "where":
                mask = value.clauses[-1].value
                kept = value.clauses[:-1]
                span = value.read.span.to(kept[-1].span) if kept else value.read.span
                value = replace(value, clauses=kept, span=span) if kept else value.read
        return ast.Store(target, self.settled(value), mask, op, span=span_of(place))

    def _report_ambiguous(self, clauses: tuple[Clause, ...]) -> None:
        self.sink.error(
            "E0108",
            "does this `where` mask the read or the store?",
            clauses[0].span,
            others=(Label(clauses[1].span, "an `else` belongs to a read, never to a store"),),
            help="put the read in parentheses: `y[i] = (x[j] where mask else 0.0);`",
        )

    def expr_stmt(self, place: Place, parts: list) -> ast.Stmt | None:
        value = self.settled(parts[0])
        if isinstance(value, ast.Call):
            return ast.ExprStmt(value, span=span_of(place))
        if isinstance(value, ast.Name) and value.text in _FOREIGN_STATEMENTS:
            self.sink.error(
                "E0115",
                f"`{value.text}` is not a word of this language",
                value.span,
                help=_FOREIGN_STATEMENTS[value.text],
            )
            return None
        help_ = "write `let name = ...;` to keep the value"
        if (
            isinstance(value, ast.Binary)
            and value.op == "=="
            and isinstance(value.left, (ast.Name, ast.Index))
        ):
            help_ = "`==` compares; to assign write `=`"
        self.sink.error("E0109", "this computes a value and drops it", value.span, help=help_)
        return None

    # --- control flow ---

    def for_stmt(self, place: Place, parts: list) -> ast.Stmt:
        name, iterable, body = parts
        args: tuple[ast.Expr, ...] = (ast.IntLit(0),)
        if not (isinstance(iterable, ast.Call) and iterable.func.text == "range" and not iterable.keywords):
            self.sink.error(
                "E0111",
                "a `for` loop runs over `range(...)` and nothing else",
                iterable.span,
                help=f"write `for {name} in range(0, n)`, or `range(lo, hi, step)`",
            )
        elif not 1 <= len(iterable.args) <= 3:
            self.sink.error(
                "E0112",
                f"`range` takes one to three arguments, and here are {len(iterable.args)}",
                iterable.span,
                help="write `range(hi)`, `range(lo, hi)` or `range(lo, hi, step)`",
            )
        else:
            args = iterable.args
        return ast.For(ident(name), args, body, span=span_of(place))

    def while_stmt(self, place: Place, parts: list) -> ast.Stmt:
        return ast.While(self.settled(parts[0]), parts[1], span=span_of(place))

    def if_stmt(self, place: Place, parts: list) -> ast.Stmt:
        condition, then, orelse = parts
        if isinstance(orelse, ast.If):
            orelse = ast.Block((orelse,), span=orelse.span)
        return ast.If(self.settled(condition), then, orelse, span=span_of(place))

    def return_stmt(self, place: Place, parts: list) -> ast.Stmt:
        return ast.Return(tuple(self.settled(p) for p in parts), span=span_of(place))


@v_args(meta=True)
class ItemRules(StatementRules):
    """Builds what stands at the top level, and the module."""

    def start(self, place: Place, parts: list) -> ast.Module:
        return ast.Module(tuple(p for p in parts if p is not None), span=span_of(place))

    def bad_item(self, place: Place, parts: list) -> None:
        return None

    def const_def(self, place: Place, parts: list) -> ast.ConstDef:
        return ast.ConstDef(ident(parts[0]), self.settled(parts[1]), span=span_of(place))

    def fn_def(self, place: Place, parts: list) -> ast.FnDef:
        name, params, body = parts
        return ast.FnDef(ident(name), tuple(params), body, span=span_of(place))

    def fn_params(self, place: Place, parts: list) -> list[ast.FnParam]:
        return parts

    def fn_param(self, place: Place, parts: list) -> ast.FnParam:
        name, dtype = parts
        return ast.FnParam(ident(name), ident(dtype) if dtype else None, span=span_of(place))

    def kernel_def(self, place: Place, parts: list) -> ast.KernelDef:
        name, metas, params, grid, body = parts
        return ast.KernelDef(
            ident(name), tuple(metas or ()), tuple(params), tuple(grid), body, span=span_of(place)
        )

    def metas(self, place: Place, parts: list) -> list[ast.Meta]:
        return parts

    def meta_default(self, place: Place, parts: list) -> ast.Meta:
        return ast.Meta(ident(parts[0]), (), self.settled(parts[1]), span=span_of(place))

    def meta_space(self, place: Place, parts: list) -> ast.Meta:
        name, choices, default = parts
        if not choices:
            self.sink.error(
                "E0119",
                f"`{name}` has nothing to choose from",
                span_of(place),
                help=f"name at least one value: `{name}: {{64, 128}}`",
            )
        default = None if default is None else self.settled(default)
        return ast.Meta(ident(name), tuple(choices), default, span=span_of(place))

    def choices(self, place: Place, parts: list) -> list[ast.Expr]:
        return [self.settled(p) for p in parts]

    dims = choices

    def params(self, place: Place, parts: list) -> list[ast.Param]:
        return parts

    def param(self, place: Place, parts: list) -> ast.Param:
        mode, name, dtype, dims = parts
        if dims == []:
            self.sink.error(
                "E0119",
                f"the tensor `{name}` has no dims",
                span_of(place),
                help=f"name them, `{name}: {dtype}[N]`, or write `{name}: {dtype}` for a scalar",
            )
        shape = None if dims is None else tuple(dims)
        return ast.Param(ident(name), ident(dtype), shape, str(mode or "in"), span=span_of(place))

    def grid(self, place: Place, parts: list) -> list[ast.Expr]:
        if not 1 <= len(parts) <= 3:
            self.sink.error(
                "E0113",
                f"a grid has one to three axes, and here are {len(parts)}",
                span_of(place),
                help="write `grid (1)` for a single program"
                if not parts
                else "fold two axes into one with `*`, and take them apart with `//` and `%`",
            )
        return [self.settled(p) for p in parts]
