"""Kernel -> text. `tilelang.ir.parser` reads exactly this back, at every level and for any op.

    kernel @scale(%x: in f32[%N], %y: out f32[%N], %s: f32) dims(%N) tile {meta.BLOCK = 4, warps = 4} {
      %i: i32[4] = iota
      %v: f32[4] = load %x, %i {checked = (true,), mask = false, other = false, pointwise = false}
      %w: f32[4] = broadcast %s
      %p: f32[4] = mul %v, %w
      store %y, %i, %p {checked = (true,), mask = false, pointwise = false}
    }

The grammar, with `[]` around what may be absent and `*` after what may repeat (commas between):

    kernel  =  "kernel" @name "(" (value ":" type)* ")" "dims" "(" value* ")" level [attrs] "{" op* "}"
    op      =  [(value ":" type)* "="] name [value*] [attrs] [block (["else" | "do"] block)*] [@start:end]
    block   =  ["(" (value ":" type)* ")"] "{" op* "}"
    attrs   =  "{" (key "=" attr)* "}"
    attr    =  int | float | "true" | "false" | string | dtype | "(" attr* ")"
    type    =  ["in" | "out" | "inout" | "local" | "shared"] dtype ["[" (int | value)* "]"]

Attributes are printed sorted by key. `@start:end` is the op's span in the `.tile` source.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping

from tilelang.diagnostics import NOWHERE, InternalError
from tilelang.dtypes import DType
from tilelang.ir.core import Attr, Block, Kernel, Op, Value

BLOCK_WORDS = {"if": "else", "while": "do"}
"""The word between the two blocks of an op, for the reader's eye."""

PLAIN_KEY = re.compile(r"(?!(?:inf|nan)\b)[A-Za-z_][A-Za-z0-9_.]*")
VALUE_NAME = re.compile(r"[A-Za-z0-9_.]+")


def print_kernel(kernel: Kernel, *, spans: bool = False) -> str:
    """The text of a kernel, ending in a newline. `spans` adds each op's `@start:end`."""
    params = _declarations(kernel.params)
    dims = ", ".join(map(str, kernel.dims))
    attrs = f" {show_attrs(kernel.attrs)}" if kernel.attrs else ""
    lines = [f"kernel @{kernel.name}({params}) dims({dims}) {kernel.level}{attrs} {{"]
    _print_ops(kernel.body.ops, 1, spans, lines)
    lines.append("}")
    return "\n".join(lines) + "\n"


def print_op(op: Op, *, spans: bool = False, indent: int = 0) -> str:
    """The text of one op with its blocks, without a final newline."""
    lines: list[str] = []
    _print_ops((op,), indent, spans, lines)
    return "\n".join(lines)


def op_head(op: Op) -> str:
    """The op's first line without its blocks: what an error message quotes."""
    return _head(op)


def show_attrs(attrs: Mapping[str, Attr]) -> str:
    """`{a = 1, b = (true, false)}`, sorted by key."""
    return "{" + ", ".join(f"{_key(k)} = {show_attr(attrs[k])}" for k in sorted(attrs)) + "}"


def show_attr(value: Attr) -> str:
    """One attribute value; reading it back gives the same value, -0.0 and the sign of NaN included."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        sign = "-" if math.isnan(value) and math.copysign(1.0, value) < 0 else ""
        return sign + float.__repr__(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, DType):
        return value.name
    if isinstance(value, tuple):
        inside = ", ".join(map(show_attr, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    raise InternalError("printer", f"{value!r} ({type(value).__name__}) cannot be an attribute")


def _key(key: str) -> str:
    return key if PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _declarations(values: Iterable[Value]) -> str:
    return ", ".join(f"{value}: {value.type}" for value in values)


def _head(op: Op) -> str:
    parts = []
    if op.results:
        parts.append(f"{_declarations(op.results)} =")
    parts.append(op.name)
    if op.operands:
        parts.append(", ".join(map(str, op.operands)))
    if op.attrs:
        parts.append(show_attrs(op.attrs))
    return " ".join(parts)


def _print_ops(ops: Iterable[Op], depth: int, spans: bool, lines: list[str]) -> None:
    pad = "  " * depth
    for op in ops:
        lines.append(pad + _head(op))
        for number, block in enumerate(op.blocks):
            word = BLOCK_WORDS.get(op.name, "") if number else ""
            lines[-1] += f" {word}" if word else ""
            _print_block(block, depth, spans, lines)
        if spans and op.span != NOWHERE:
            lines[-1] += f" @{op.span.start}:{op.span.end}"


def _print_block(block: Block, depth: int, spans: bool, lines: list[str]) -> None:
    """Open the block on the last line, and leave its `}` as the last line."""
    lines[-1] += f" ({_declarations(block.args)}) {{" if block.args else " {"
    _print_ops(block.ops, depth + 1, spans, lines)
    lines.append("  " * depth + "}")
