"""AST building for expressions: one method per grammar rule, given the AST nodes of the rule's parts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lark import Token
from lark.tree import Meta as Place
from lark.visitors import Transformer_NonRecursive, v_args

from tilelang.diagnostics import NOWHERE, Label, Sink, Span
from tilelang.syntax import ast, lexemes


@dataclass(frozen=True)
class Clause:
    """`where mask` or `else value`, until it is known what it belongs to."""

    keyword: str
    value: ast.Expr
    span: Span


@dataclass(frozen=True)
class Clauses(ast.Expr):
    """An expression followed by clauses that its own statement may still claim; never in a finished AST."""

    read: ast.Expr
    clauses: tuple[Clause, ...]


def span_of(place: Place) -> Span:
    """The characters a tree node came from; a rule that matched nothing is nowhere."""
    return NOWHERE if place.empty else Span(place.start_pos, place.end_pos)


def token_span(token: Token) -> Span:
    return Span(token.start_pos or 0, token.end_pos or 0)


def ident(token: Token) -> ast.Ident:
    return ast.Ident(str(token), span=token_span(token))


@v_args(meta=True)
class ExpressionRules(Transformer_NonRecursive):
    """Builds expressions. Keeps note of which stood in parentheses: `(x[i]) else 0` is not a read."""

    def __init__(self, sink: Sink) -> None:
        super().__init__(visit_tokens=False)
        self.sink = sink
        # By identity, because equal expressions may stand elsewhere without parentheses. The values keep
        # the expressions alive, so that no identity is used twice.
        self._in_parentheses: dict[int, ast.Expr] = {}

    # --- atoms ---

    def name(self, place: Place, parts: list) -> ast.Expr:
        if parts[0] in ("True", "False"):
            self.sink.error(
                "E0115",
                f"`{parts[0]}` is not a word of this language",
                span_of(place),
                help=f"write `{parts[0].lower()}`",
            )
            return ast.BoolLit(parts[0] == "True", span=span_of(place))
        return ast.Name(str(parts[0]), span=span_of(place))

    def integer(self, place: Place, parts: list) -> ast.Expr:
        return ast.IntLit(lexemes.integer_value(parts[0]), span=span_of(place))

    def real(self, place: Place, parts: list) -> ast.Expr:
        return ast.FloatLit(lexemes.float_value(parts[0]), span=span_of(place))

    def text(self, place: Place, parts: list) -> ast.Expr:
        return ast.StrLit(lexemes.string_value(parts[0]), span=span_of(place))

    def true(self, place: Place, parts: list) -> ast.Expr:
        return ast.BoolLit(True, span=span_of(place))

    def false(self, place: Place, parts: list) -> ast.Expr:
        return ast.BoolLit(False, span=span_of(place))

    def paren(self, place: Place, parts: list) -> ast.Expr:
        inner = self.settled(parts[0])
        self._in_parentheses[id(inner)] = inner
        return inner

    def list_expr(self, place: Place, parts: list) -> ast.Expr:
        return ast.ListExpr(tuple(self.settled(p) for p in parts), span=span_of(place))

    def keyword(self, place: Place, parts: list) -> ast.Keyword:
        return ast.Keyword(ident(parts[0]), self.settled(parts[1]), span=span_of(place))

    def call(self, place: Place, parts: list) -> ast.Expr:
        func, *arguments = parts
        keywords = tuple(a for a in arguments if isinstance(a, ast.Keyword))
        positional = tuple(self.settled(a) for a in arguments if not isinstance(a, ast.Keyword))
        self._check_argument_order(arguments)
        return ast.Call(ident(func), positional, keywords, span=span_of(place))

    def _check_argument_order(self, arguments: list) -> None:
        first_keyword: ast.Keyword | None = None
        seen: dict[str, ast.Keyword] = {}
        for argument in arguments:
            if not isinstance(argument, ast.Keyword):
                if first_keyword is not None:
                    self.sink.error(
                        "E0118",
                        "a positional argument after a keyword argument",
                        argument.span,
                        others=(Label(first_keyword.span, "the first keyword argument"),),
                        help="put the positional arguments first",
                    )
                    return
                continue
            first_keyword = first_keyword or argument
            before = seen.setdefault(argument.name.text, argument)
            if before is not argument:
                self.sink.error(
                    "E0118",
                    f"`{argument.name.text}` is given twice",
                    argument.name.span,
                    others=(Label(before.span, "first given here"),),
                    help="leave one of them out",
                )

    # --- operators ---

    def unary(self, place: Place, parts: list) -> ast.Expr:
        op, operand = parts
        return ast.Unary(str(op), operand, span=span_of(place))

    def binary(self, place: Place, parts: list) -> ast.Expr:
        left, op, right = parts
        return ast.Binary(str(op), left, right, op_span=token_span(op), span=span_of(place))

    def chained_comparison(self, place: Place, parts: list) -> ast.Expr:
        first, op, second, op2, *_ = parts
        self.sink.error(
            "E0106",
            "comparisons do not chain",
            span_of(place),
            label=f"compares the bool of the first `{op}` with the rest",
            help=f"write `a {op} b and b {op2} c`",
        )
        return ast.Binary(str(op), first, second, op_span=token_span(op), span=span_of(place))

    def _operator(self, place: Place, parts: list) -> Token:
        return parts[0]

    or_op = and_op = not_op = compare_op = span_op = bit_or_op = bit_xor_op = bit_and_op = _operator
    shift_op = sum_op = product_op = prefix_op = assign_op = mode = _operator

    def cast(self, place: Place, parts: list) -> ast.Expr:
        return ast.Cast(parts[0], ident(parts[1]), span=span_of(place))

    # --- reads ---

    def new_axis(self, place: Place, parts: list) -> ast.NewAxis:
        return ast.NewAxis(span=span_of(place))

    def full_axis(self, place: Place, parts: list) -> ast.FullAxis:
        return ast.FullAxis(span=span_of(place))

    def index(self, place: Place, parts: list) -> ast.Expr:
        base, *items = parts
        span = span_of(place)
        items = [self.settled(i) if isinstance(i, ast.Expr) else i for i in items]
        if not isinstance(base, ast.Name):
            if items and not any(isinstance(i, ast.Expr) for i in items):
                return ast.View(self.settled(base), tuple(items), span=span)
            help_ = "give the value a name first: `let t = ...;`; `:` and `None` may follow any value"
            if isinstance(base, ast.Index):
                help_ = "put all indices in one pair of brackets, `x[i, j]`; only `[:, None]` may follow a read"
            self.sink.error("E0116", "only a tensor can be indexed, and only by its name", base.span, help=help_)
            base = ast.Name("_", span=base.span)
        if not items:
            self.sink.error(
                "E0119", "an index needs at least one item", span, help="write one index for each axis"
            )
        lists = [i for i in items if isinstance(i, ast.ListExpr)]
        if lists and len(items) > 1:
            self.sink.error(
                "E0117",
                "a gather takes one list and nothing else",
                lists[0].span,
                help=f"write `{base.text}[[i, j]]` to pair the indices up, "
                f"`{base.text}[i, j]` for every combination",
            )
        elif lists:
            if not lists[0].items:
                self.sink.error(
                    "E0119", "a gather needs at least one index", span, help="write one index for each axis"
                )
            return ast.Index(base, lists[0].items, pointwise=True, span=span)
        return ast.Index(base, tuple(items), span=span)

    def where_clause(self, place: Place, parts: list) -> Clause:
        return Clause("where", parts[0], span_of(place))

    def else_clause(self, place: Place, parts: list) -> Clause:
        return Clause("else", parts[0], span_of(place))

    def clauses(self, place: Place, parts: list) -> Clauses:
        read, *clauses = parts
        return Clauses(read, tuple(clauses), span=span_of(place))

    def settled(self, expr: ast.Expr) -> ast.Expr:
        """`expr` with its clauses, if it has any, attached to the read they follow."""
        if not isinstance(expr, Clauses):
            return expr
        read = expr.read
        for clause in expr.clauses:
            read = self._attach(clause, read)
        return replace(read, span=expr.span)

    def _attach(self, clause: Clause, read: ast.Expr) -> ast.Expr:
        if id(read) not in self._in_parentheses:
            if isinstance(read, ast.Index):
                return self._attach_to_read(clause, read)
            if clause.keyword == "where" and isinstance(read, ast.Call) and _is_atomic(read):
                # atomic_add(y[i], v) where m: the mask belongs to the element that is updated.
                target, *rest = read.args
                return replace(read, args=(self._attach(clause, target), *rest))
        self.sink.error(
            "E0107",
            f"`{clause.keyword}` belongs to a read like `x[i]`, and this is none",
            clause.span,
            others=(Label(read.span, "not a bare read"),),
            help=f"put the read and its clause in parentheses: `1 + (x[i] {clause.keyword} ...)`",
        )
        return read

    def _attach_to_read(self, clause: Clause, read: ast.Index) -> ast.Index:
        if clause.keyword == "where" and read.mask is None and read.other is None:
            return replace(read, mask=clause.value, span=read.span.to(clause.span))
        if clause.keyword == "else" and read.other is None:
            return replace(read, other=clause.value, span=read.span.to(clause.span))
        repeated = clause.keyword == "else" or read.mask is not None
        title = f"a second `{clause.keyword}`" if repeated else "`where` comes before `else`"
        help_ = "combine masks with `and`" if clause.keyword == "where" and repeated else ""
        self.sink.error(
            "E0120",
            title,
            clause.span,
            help=help_,
            notes=("a read is `x[i] where mask else value`, either clause at most once",),
        )
        return read


def _is_atomic(call: ast.Call) -> bool:
    return call.func.text.startswith("atomic_") and bool(call.args) and isinstance(call.args[0], ast.Index)
