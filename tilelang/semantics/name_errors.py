"""Messages about names, and the help they give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilelang.diagnostics import Label, Sink, Span
from tilelang.dtypes import DTYPES
from tilelang.near import nearest
from tilelang.semantics.builtins import BUILTINS
from tilelang.semantics.definitions import Definition, Role
from tilelang.semantics.python_names import DTYPE_NAMES, FUNCTION_HELP, VALUE_HELP
from tilelang.syntax import ast


def duplicate_top_level(module: ast.Module, sink: Sink) -> None:
    """Kernels with one name, fns with one name, fns named like a built-in."""
    for items, what in ((module.kernels, "kernel"), (module.fns, "fn")):
        seen: dict[str, ast.Ident] = {}
        for item in items:
            first = seen.setdefault(item.name.text, item.name)
            if first is not item.name:
                sink.error(
                    "E0203",
                    f"there are two {what}s named `{first.text}`",
                    item.name.span,
                    label="second",
                    others=(Label(first.span, "first"),),
                    help="rename one of them",
                )
    for fn in module.fns:
        if fn.name.text in BUILTINS:
            sink.error(
                "E0208",
                f"`{fn.name.text}` is a built-in function",
                fn.name.span,
                notes=("a fn of that name could never be told from the built-in where it is called",),
                help=f"rename it, for example to `my_{fn.name.text}`",
            )


def redeclared(ident: ast.Ident, before: Definition, same_scope: bool, sink: Sink) -> None:
    """`ident` declares a name that is taken, in its own scope or in one around it."""
    name = ident.text
    if before.role is Role.BUILTIN:
        sink.error(
            "E0204",
            f"`{name}` is a built-in constant",
            ident.span,
            label="hidden by this name",
            help="choose another name",
        )
    elif same_scope:
        sink.error(
            "E0203",
            f"`{name}` is declared already",
            ident.span,
            label="declared again here",
            others=(Label(before.span, "first declared here"),),
            help=_second_declaration_help(before),
        )
    else:
        sink.error(
            "E0204",
            f"`{name}` hides the {before.role} `{name}`",
            ident.span,
            label="this name is taken",
            others=(Label(before.span, f"the {before.role} declared here"),),
            help=_second_declaration_help(before),
        )


def _second_declaration_help(before: Definition) -> str:
    if before.role is Role.VAR:
        return f"to change it, write `{before.name} = ...;` without `let` or `var`; else choose another name"
    if before.role is Role.LET:
        return f"choose another name, or declare the first as `var {before.name}` and assign to it"
    return "choose another name"


@dataclass(frozen=True)
class Elsewhere:
    """Where else a name that is not visible is declared: in a block that has ended, further down, or in the
    header of a kernel, which a fn cannot see."""

    ended: Definition | None = None
    later: Span | None = None
    header: Definition | None = None
    top: str = ""
    """Where the name is used, if not in a body: in a "const" or in the "header" of a kernel."""


_DECLARE = {
    "": "declare it first: `let {} = ...;`",
    "header": "name an extent of a tensor so, `x: f32[{}]`, or make it a meta, `[{} = 64]`",
    "const": "a constant is made of numbers and other constants; extents are known in kernels only",
}
_COMPILER_METAS = {"num_warps": "warps", "num_stages": "stages", "n_warps": "warps", "pipeline": "stages"}


def unused_meta_help(name: str) -> str:
    """A meta that nobody reads may be one that the compiler would read under another name."""
    meant = _COMPILER_METAS.get(name.lower())
    return f"call it `{meant}`: that one the compiler reads" if meant else "remove it"


def unknown_value(name: ast.Name | ast.Ident, visible: Iterable[str], elsewhere: Elsewhere, sink: Sink) -> str | None:
    """No such value is visible; gives the near miss that was suggested."""
    text = name.text
    if elsewhere.ended is not None:
        _outside_its_block(name, elsewhere.ended, sink)
    elif elsewhere.later is not None:
        others = (Label(elsewhere.later, "declared here, further down"),)
        _unknown(name, sink, others=others, notes=("a name is visible after its declaration",))
    elif elsewhere.header is not None:
        others = (Label(elsewhere.header.span, f"this {elsewhere.header.role} belongs to a kernel"),)
        help = f"a fn sees its parameters and `const`s: add a parameter `{text}` and pass it"
        if elsewhere.header.role is Role.TENSOR:
            help = "tensors stay in the kernel: read there and pass the tile, return the result and store it there"
        _unknown(name, sink, others=others, help=help)
    elif text in DTYPES or text in DTYPE_NAMES:
        help = f"to convert a value, write `value as {DTYPE_NAMES.get(text, text)}`"
        sink.error("E0211", f"the element type `{text}` is not a value", name.span, help=help)
    elif text in BUILTINS:
        _unknown(name, sink, help=f"`{text}` is a built-in function: call it, `{_call(text)}`")
    elif text in VALUE_HELP:
        _unknown(name, sink, help=VALUE_HELP[text])
    else:
        near = nearest(text, visible)
        help = f"did you mean `{near}`?" if near else _DECLARE[elsewhere.top].replace("{}", text)
        _unknown(name, sink, help=help)
        return near
    return None


def _call(name: str) -> str:
    """How a built-in is called, with the first axis where there is one."""
    return BUILTINS[name].show().replace("(axis=)", "(0)")


def _unknown(
    name: ast.Name | ast.Ident,
    sink: Sink,
    *,
    others: tuple[Label, ...] = (),
    notes: tuple[str, ...] = (),
    help: str = "",
) -> None:
    title = f"there is no value named `{name.text}`"
    sink.error("E0201", title, name.span, label="not declared", others=others, notes=notes, help=help)


def _outside_its_block(name: ast.Name | ast.Ident, ended: Definition, sink: Sink) -> None:
    text = name.text
    sink.error(
        "E0205",
        f"`{text}` is not visible here",
        name.span,
        label="its block has ended",
        others=(Label(ended.span, f"`{text}` is declared in an inner block"),),
        notes=("a name is visible from its declaration to the end of its block",),
        help=_outside_help(ended),
    )


def _outside_help(ended: Definition) -> str:
    if ended.role is Role.LOOP:
        return f"to keep it, assign it to a `var` that is declared before the loop: `last = {ended.name};`"
    return (
        f"declare `var {ended.name} = ...;` before the block, with the type it will have, and assign to it "
        "inside without `let` or `var`"
    )


def unknown_function(
    call: ast.Call, fns: Iterable[str], kernels: Iterable[str], value: Definition | None, sink: Sink
) -> None:
    text = call.func.text
    if text in kernels:
        sink.error(
            "E0212",
            f"`{text}` is a kernel, and a kernel cannot be called",
            call.func.span,
            help="put the shared part into a `fn`, or launch the kernels one after the other from Python",
        )
        return
    help_text = FUNCTION_HELP.get(text, "")
    if text in DTYPES or text in DTYPE_NAMES:
        help_text = f"convert with `as`: `x as {DTYPE_NAMES.get(text, text)}`"
    if not help_text:
        near = nearest(text, [*BUILTINS, *fns])
        help_text = f"did you mean `{near}`?" if near else f"define it: `fn {text}(...) {{ ... }}`"
    others = (Label(value.span, f"`{text}` is a {value.role}, not a function"),) if value is not None else ()
    if value is not None and value.role is Role.TENSOR:
        help_text = f"read a tensor with square brackets: `{text}[...]`"
    sink.error(
        "E0202",
        f"there is no function named `{text}`",
        call.func.span,
        label="not defined",
        others=others,
        help=help_text,
    )


def unknown_dtype(ident: ast.Ident | ast.Name, metas: Iterable[str], in_fn: bool, sink: Sink) -> None:
    text = ident.text
    near = DTYPE_NAMES.get(text) or nearest(text, [*DTYPES, *metas])
    help_text = f"did you mean `{near}`?" if near else f"element types are {', '.join(DTYPES)}"
    if in_fn and near is None:
        help_text = "a fn does not see a kernel's metas; leave the type out, or name one of " + ", ".join(DTYPES)
    sink.error(
        "E0209",
        f"there is no element type named `{text}`",
        ident.span,
        label="unknown element type",
        help=help_text,
    )


def assigned_twice(names: Iterable[ast.Ident], sink: Sink) -> None:
    """`a, a = f(x);`"""
    seen: dict[str, ast.Ident] = {}
    for ident in names:
        first = seen.setdefault(ident.text, ident)
        if first is not ident and ident.text != "_":
            sink.error(
                "E0203",
                f"`{ident.text}` is assigned twice in one statement",
                ident.span,
                others=(Label(first.span, "first"),),
                help="use `_` for the value you do not need",
            )


def not_assignable(ident: ast.Ident, meaning: Definition, sink: Sink) -> None:
    """An assignment to something that is not a `var`."""
    name, role = ident.text, meaning.role
    others = (Label(meaning.span, f"declared here, as a {role}"),) if role is not Role.BUILTIN else ()
    helps = {
        Role.LET: f"declare it with `var {name} = ...;` to change it later",
        Role.TENSOR: f"write into a tensor with `{name}[...] = ...;`",
        Role.LOOP: "a loop variable belongs to its loop; use a `var` of your own, or a `while` loop",
        Role.FN_PARAM: f"copy it first: `var my_{name} = {name};`",
        Role.SCALAR: f"copy it first: `var my_{name} = {name};`",
    }
    sink.error(
        "E0207",
        f"`{name}` cannot be assigned",
        ident.span,
        label=f"a {role} never changes" if role is not Role.TENSOR else "a tensor is written element by element",
        others=others,
        help=helps.get(role, "declare a `var` with another name"),
    )
