"""The walk that gives every name its meaning; see `tilelang.semantics.names`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilelang.diagnostics import NOWHERE, Span
from tilelang.dtypes import DTYPES
from tilelang.semantics import name_errors
from tilelang.semantics.builtins import BUILTINS
from tilelang.semantics.constants import NAMED
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.mistakes import LimitedSink
from tilelang.semantics.walking import declarations, dtype_argument, walk
from tilelang.syntax import ast

READ_BY_THE_COMPILER = ("warps", "stages")


class Scope:
    """The names of one block, in order of declaration."""

    def __init__(self) -> None:
        self.names: dict[str, Definition] = {}


def look_up(scopes: Sequence[Scope], name: str) -> Definition | None:
    """What `name` means where `scopes` are open, outermost first; None if nothing of that name is visible."""
    for scope in reversed(scopes):
        if name in scope.names:
            return scope.names[name]
    return None


class Resolver:
    """Walks a module once, with a stack of scopes."""

    def __init__(self, module: ast.Module, sink: LimitedSink):
        self.sink = sink
        self.fns = {f.name.text: f for f in module.fns}
        self.kernels = {k.name.text for k in module.kernels}
        self.meanings: dict[int, Definition] = {}
        self.dims: dict[str, tuple[str, ...]] = {}
        self.calls: dict[str, list[ast.Call]] = {name: [] for name in self.fns}
        self.later: dict[str, Span] = {}
        self.scopes = [Scope(), Scope()]
        for name in NAMED:
            self.scopes[0].names[name] = Definition(Role.BUILTIN, name, NOWHERE)
        self._used: set[Definition] = set()
        self._ended: dict[str, Definition] = {}
        self._header = {d.name: d for kernel in module.kernels for d in _header(kernel)}
        self._fn: str | None = None
        self._top = "const"  # what is being resolved, if not a body
        self._body = ast.Block(())

    # --- scopes ------------------------------------------------------------------------------------

    def look_up(self, name: str) -> Definition | None:
        """The innermost visible definition of `name`."""
        return look_up(self.scopes, name)

    def declare(self, role: Role, ident: ast.Ident) -> Definition:
        """Introduce a name into the innermost scope; reports one that is taken. `_` is never taken."""
        definition = Definition(role, ident.text, ident.span)
        self.meanings[id(ident)] = definition
        if ident.text == "_":
            return definition
        before = self.look_up(ident.text)
        if before is not None:
            name_errors.redeclared(ident, before, ident.text in self.scopes[-1].names, self.sink)
            self._used |= {before, definition}
        self.scopes[-1].names[ident.text] = definition
        return definition

    def _leave_scope(self) -> None:
        for definition in self.scopes.pop().names.values():
            self._ended[definition.name] = definition
            self._warn_unused(definition)

    def _warn_unused(self, definition: Definition) -> None:
        name, role = definition.name, definition.role
        if definition in self._used or name.startswith("_"):
            return
        if role in (Role.LET, Role.VAR):
            self.sink.error(
                "W0101",
                f"`{name}` is never read",
                definition.span,
                help=f"remove it, or name it `_{name}` to keep it",
            )
        elif role is Role.META and name not in READ_BY_THE_COMPILER:
            self.sink.error(
                "W0102",
                f"the meta `{name}` is never used",
                definition.span,
                notes=("every choice of it would be compiled and tuned for nothing",),
                help=name_errors.unused_meta_help(name),
            )

    # --- top level ---------------------------------------------------------------------------------

    def fn(self, fn: ast.FnDef) -> None:
        self._fn, self._ended, self._body, self._top = fn.name.text, {}, fn.body, ""
        self.scopes.append(Scope())
        for param in fn.params:
            self.declare(Role.FN_PARAM, param.name)
            if param.dtype is not None:
                self.dtype(param.dtype)
        self.block(fn.body)
        self._leave_scope()
        self._fn = None

    def kernel(self, kernel: ast.KernelDef) -> None:
        """Dims are visible in metas, metas in later ones, and both in all that follows."""
        self._ended, self._body, self._top = {}, kernel.body, "header"
        self.scopes.append(Scope())
        self._declare_dims(kernel)
        self._metas(kernel)
        for param in kernel.params:
            self.declare(Role.SCALAR if param.dims is None else Role.TENSOR, param.name)
            self.dtype(param.dtype)
            self._param_dims(param)
        for extent in kernel.grid:
            self.expr(extent)
        self._top = ""
        self.block(kernel.body)
        self._leave_scope()

    def _declare_dims(self, kernel: ast.KernelDef) -> None:
        """A plain name among the extents, no const and no meta, is a dim, declared where it first appears."""
        taken = {m.name.text for m in kernel.metas}
        dims: dict[str, ast.Name] = {}
        for param in kernel.params:
            for extent in param.dims or ():
                if isinstance(extent, ast.Name) and extent.text not in taken and self.look_up(extent.text) is None:
                    dims.setdefault(extent.text, extent)
        for name, extent in dims.items():
            self.scopes[-1].names[name] = Definition(Role.DIM, name, extent.span)
        self.dims[kernel.name.text] = tuple(dims)

    def _param_dims(self, param: ast.Param) -> None:
        for extent in param.dims or ():
            for node in walk(extent):
                if isinstance(node, ast.Name) and self.look_up(node.text) is None:
                    self.sink.error(
                        "E0401",
                        f"no tensor has `{node.text}` itself as an extent",
                        node.span,
                        label="its value cannot be found",
                        notes=("a dim is bound where it stands alone: `x: f32[N]` binds N",),
                        help=f"make `{node.text}` a meta, or the extent of another parameter",
                    )
            self.expr(extent, report=False)

    def _metas(self, kernel: ast.KernelDef) -> None:
        self.later = {m.name.text: m.name.span for m in kernel.metas}
        for meta in kernel.metas:
            values = [*meta.choices, *([meta.default] if meta.default is not None else [])]
            among_dtypes = any(isinstance(c, ast.Name) and c.text in DTYPES for c in meta.choices)
            for value in values:
                if not (isinstance(value, ast.Name) and value.text in DTYPES):
                    self._meta_value(value, among_dtypes)
            self.later.pop(meta.name.text, None)
            self.declare(Role.META, meta.name)
        self.later = {}

    def _meta_value(self, value: ast.Expr, among_dtypes: bool) -> None:
        if isinstance(value, ast.Name) and among_dtypes and self.look_up(value.text) is None:
            name_errors.unknown_dtype(value, (), False, self.sink)
        else:
            self.expr(value)

    # --- statements --------------------------------------------------------------------------------

    def block(self, block: ast.Block) -> None:
        self.scopes.append(Scope())
        for stmt in block.body:
            self.statement(stmt)
        self._leave_scope()

    def statement(self, stmt: ast.Stmt) -> None:
        match stmt:
            case ast.Let(names=names, value=value, mutable=mutable):
                self.expr(value)
                for ident in names:
                    self.declare(Role.VAR if mutable else Role.LET, ident)
            case ast.Assign(names=names, value=value):
                self.expr(value)
                name_errors.assigned_twice(names, self.sink)
                for ident in names:
                    self._assign(ident)
            case ast.Store(target=target, value=value, mask=mask):
                self._exprs(target, value, *([mask] if mask is not None else []))
            case ast.ExprStmt(value=value):
                self.expr(value)
            case ast.For(var=var, args=args, body=body):
                self._exprs(*args)
                self.scopes.append(Scope())
                self.declare(Role.LOOP, var)
                self.block(body)
                self._leave_scope()
            case ast.While(condition=condition, body=body):
                self.expr(condition)
                self.block(body)
            case ast.If():
                self._if(stmt)
            case ast.Return(values=values):
                self._exprs(*values)

    def _if(self, stmt: ast.If) -> None:
        self.expr(stmt.condition)
        self.block(stmt.then)
        if stmt.orelse is not None:
            self.block(stmt.orelse)

    def _assign(self, ident: ast.Ident) -> None:
        meaning = self.look_up(ident.text)
        if meaning is None:
            self._unknown(ident)
            return
        if meaning.role is not Role.VAR:
            name_errors.not_assignable(ident, meaning, self.sink)
            self._used.add(meaning)
            return
        self.meanings[id(ident)] = meaning

    # --- expressions -------------------------------------------------------------------------------

    def _exprs(self, *exprs: ast.Expr) -> None:
        for expr in exprs:
            self.expr(expr)

    def expr(self, expr: ast.Expr, report: bool = True) -> None:
        """Resolve every name in `expr`; with `report` false, unknown names are left to the caller."""
        for node in walk(expr):
            if isinstance(node, ast.Name):
                self._use(node, report)
            elif isinstance(node, ast.Cast):
                self.dtype(node.dtype)
            elif isinstance(node, ast.Call):
                self._call(node)
                dtype = dtype_argument(node)
                if dtype is not None:
                    self.dtype(dtype)

    def _use(self, name: ast.Name, report: bool) -> None:
        meaning = self.look_up(name.text)
        if meaning is not None:
            self.meanings[id(name)] = meaning
            self._used.add(meaning)
        elif report:
            self._unknown(name)

    def _unknown(self, name: ast.Name | ast.Ident) -> None:
        if self.sink.full:
            return
        text = name.text
        elsewhere = name_errors.Elsewhere(
            self._ended.get(text),
            self.later.get(text) or self._declared_after(name),
            self._header.get(text) if self._fn is not None else None,
            self._top,
        )
        visible = [n for scope in self.scopes for n in scope.names]
        near = name_errors.unknown_value(name, visible, elsewhere, self.sink)
        meant = self.look_up(near) if near else None
        if meant is not None:  # so that a slip of the pen does not also make the name it meant "unused"
            self._used.add(meant)

    def _declared_after(self, name: ast.Name | ast.Ident) -> Span | None:
        """Where the fn or kernel being resolved declares the name further down, if it does."""
        declared = (ident for ident in declarations(self._body) if ident.text == name.text)
        return next((ident.span for ident in declared if ident.span.start > name.span.start), None)

    def _call(self, call: ast.Call) -> None:
        name = call.func.text
        if name in self.fns:
            if self._fn is not None:
                self.calls[self._fn].append(call)
        elif name not in BUILTINS:
            name_errors.unknown_function(call, self.fns, self.kernels, self.look_up(name), self.sink)

    def dtype(self, ident: ast.Ident | ast.Name) -> None:
        """Resolve a name where an element type is asked for: one of the thirteen, or a meta."""
        if ident.text in DTYPES:
            return
        meaning = self.look_up(ident.text)
        if meaning is None or meaning.role is not Role.META:
            metas = [d.name for scope in self.scopes for d in scope.names.values() if d.role is Role.META]
            name_errors.unknown_dtype(ident, metas, self._fn is not None, self.sink)
            return
        self.meanings[id(ident)] = meaning
        self._used.add(meaning)


def _header(kernel: ast.KernelDef) -> Iterator[Definition]:
    """The names of a kernel's header, for the help of a fn that tries to use them."""
    for meta in kernel.metas:
        yield Definition(Role.META, meta.name.text, meta.name.span)
    for param in kernel.params:
        yield Definition(Role.SCALAR if param.dims is None else Role.TENSOR, param.name.text, param.name.span)
        for extent in param.dims or ():
            if isinstance(extent, ast.Name):
                yield Definition(Role.DIM, extent.text, extent.span)
