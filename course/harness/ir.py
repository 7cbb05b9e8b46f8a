"""Chapters 7 and 8: kernels of tile IR as text, and passes over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


# --- chapter 7 --------------------------------------------------------------------------------------


def located(function: Function, tensor: Any, indexes: Any, mask: Any, checked: Any, *more: bool) -> tuple[list, Any]:
    """(index arrays, valid) of a `Place`, all stretched to the shape that they have together."""
    import numpy as np

    place = function(tensor, indexes, mask, checked, *more)
    shapes = [i.shape for i in indexes] + ([mask.shape] if mask is not None else [])
    shape = np.broadcast_shapes(*shapes)
    return [np.array(np.broadcast_to(i, shape)) for i in place.indexes], np.array(np.broadcast_to(place.valid, shape))


def kernel_of(ops: str, params: str = "%x: in f32[%N], %y: out f32[%N], %t: inout f32[%N]", dims: str = "%N") -> str:
    """The text of a tile kernel with these ops."""
    return f"kernel @k({params}) dims({dims}) tile {{\n{ops}\n}}\n"


def verdict(function: Function, text: str) -> str:
    """What the verifier says of a kernel with the learner's function in place; empty if all is well."""
    from tilelang.diagnostics import InternalError
    from tilelang.ir.parser import parse_kernel
    from tilelang.ir.verifier import verify

    try:
        verify(parse_kernel(text))
    except InternalError as broken:
        return str(broken)
    return ""


def verdict_on_broken(function: Function, how: str) -> str:
    """What the verifier says of kernels that cannot be written down: their text would not be read back."""
    from dataclasses import replace

    from tilelang.diagnostics import InternalError
    from tilelang.ir.core import Block, Kernel, Op
    from tilelang.ir.parser import parse_kernel
    from tilelang.ir.verifier import verify

    loop = (
        "%lo: i64 = const {value = 0}\n%hi: i64 = const {value = 8}\n%st: i64 = const {value = 1}\n"
        "%s: i64 = for %lo, %hi, %st, %lo (%k: i64, %a: i64) {\n%b: i64 = add %a, %k\nyield %b\n}\n"
        "%last: i64 = add %s, %lo"
    )
    kernel = parse_kernel(kernel_of(loop))
    ops = list(kernel.body.ops)
    (body,) = ops[3].blocks
    inner, argument = body.ops[0].result, body.args[1]
    if how == "inner value outside":
        ops[4] = ops[4].with_operands(inner, ops[0].result)
    elif how == "argument outside":
        ops[4] = ops[4].with_operands(argument, ops[0].result)
    elif how == "twice":
        ops[4] = replace(ops[4], results=(inner,))
    elif how == "used before":
        early = Op("neg", (inner,), (replace(inner, name="early"),))
        ops[3] = replace(ops[3], blocks=(Block(body.args, (early, *body.ops)),))
    elif how == "yield in the middle":
        ops[3] = replace(ops[3], blocks=(Block(body.args, (body.ops[1], *body.ops)),))
    changed = Kernel(kernel.name, kernel.params, kernel.dims, Block((), tuple(ops)), kernel.level, kernel.attrs)
    try:
        verify(changed)
    except InternalError as broken:
        return str(broken)
    return ""


def deaths(function: Function, text: str) -> list[str]:
    """`OP: values` for each op of a kernel after which values are used no more, in the order of the text."""
    from tilelang.ir.core import Block
    from tilelang.ir.parser import parse_kernel

    kernel = parse_kernel(text)
    found: dict[int, dict[int, tuple[str, ...]]] = {}
    used = function(kernel.body, found)
    lines: list[str] = []

    def visit(block: Block) -> None:
        for number, op in enumerate(block.ops):
            for inner in op.blocks:
                visit(inner)
            dying = found.get(id(block), {}).get(number, ())
            if dying:
                name = op.results[0].name if op.results else op.name
                lines.append(f"{name}: {', '.join(sorted(dying))}")

    visit(kernel.body)
    return [*lines, f"from outside: {', '.join(sorted(used))}"]


def rule(function: Function, text: str) -> str:
    """The result types that a typing rule gives for the last op of a kernel, or the sentence that was broken."""
    from tilelang.ir.parser import parse_kernel
    from tilelang.ir.requirements import IllFormed

    try:
        types = function(parse_kernel(text).body.ops[-1])
    except IllFormed as broken:
        return f"IllFormed: {broken}"
    return ", ".join(map(str, types)) if isinstance(types, tuple) else f"{types}, which is no tuple of types"


# --- chapter 8 --------------------------------------------------------------------------------------


def after(function: Function, which: str, text: str) -> str:
    """The text of a kernel after one pass with the learner's function in place."""
    from tilelang.ir.parser import parse_kernel
    from tilelang.ir.printer import print_kernel
    from tilelang.ir.verifier import verify
    from tilelang.passes import PASSES

    kernel = dict(PASSES)[which](parse_kernel(text))
    verify(kernel)
    return print_kernel(kernel)


def ops_after(function: Function, which: str, text: str) -> list[str]:
    """The names of the ops after one pass, in order; what is inside a loop or branch is indented."""
    from tilelang.ir.core import Block
    from tilelang.ir.parser import parse_kernel

    lines: list[str] = []

    def visit(block: Block, indent: str) -> None:
        for op in block.ops:
            lines.append(indent + op.name)
            for inner in op.blocks:
                visit(inner, indent + "  ")

    visit(parse_kernel(after(function, which, text)).body, "")
    return lines


def on_ops(function: Function, text: str) -> Any:
    """A function of the ops of a kernel's body."""
    from tilelang.ir.parser import parse_kernel

    return function(parse_kernel(text).body.ops)


def hoisted(function: Function, text: str) -> tuple[list[str], list[str]]:
    """(results of what moves out of the last op, a loop; results of what stays in it, block after block)."""
    from tilelang.ir.parser import parse_kernel

    moved, loop = function(parse_kernel(text).body.ops[-1])
    stay = [op.results[0].name if op.results else op.name for block in loop.blocks for op in block.ops]
    return [op.results[0].name for op in moved], stay
