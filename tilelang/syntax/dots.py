"""What to write in place of a `.`, which no program has: attributes, methods and modules of other languages.

The lexer meets these before there is any grammar, so they are told apart by the text around the dot.
"""

from __future__ import annotations

import re

from tilelang.diagnostics import Sink, Source, Span

_MODULES = {
    "tl", "triton", "language", "libdevice", "np", "numpy", "torch", "F", "jnp", "cp", "cupy", "cuda", "math",
    "random",
}  # fmt: skip
_CUDA_INDICES = {
    "blockIdx": "`blockIdx.x` is `program_id(0)`",
    "gridDim": "`gridDim.x` is `num_programs(0)`",
    "threadIdx": "a program works on a whole tile, `0 +: BLOCK`; the compiler gives its elements to threads",
    "blockDim": "a program works on a whole tile, `0 +: BLOCK`; the compiler gives its elements to threads",
}
_ATTRIBUTES = {
    "shape": "extents have names: the dims of the parameter, such as `N` of `x: f32[N]`",
    "size": "extents have names: the dims of the parameter, such as `N` of `x: f32[N]`",
    "T": "write `transpose(v)`",
    "dtype": "the element type of a parameter is written in the header, or is a meta: `T: {f16, f32}`",
    "to": "convert with `as`: `v as f16`",
    "astype": "convert with `as`: `v as f16`",
    "type": "convert with `as`: `v as f16`",
    "float": "convert with `as`: `v as f32`",
    "half": "convert with `as`: `v as f16`",
    "item": "a value with no axes is a scalar already",
    "view": "write `reshape(v, [M, N])`",
}
_MODULE_MEMBERS = {
    "load": "there are no modules and no pointers: `tl.load(p + i, mask=m, other=0.0)` is `x[i] where m else 0.0`",
    "store": "there are no modules and no pointers: `tl.store(p + i, v, mask=m)` is `y[i] = v where m;`",
    "arange": "there are no modules: an index tile is `0 +: BLOCK`",
    "constexpr": "a compile-time parameter is a meta: `kernel k[BLOCK: {64, 128}](...)`",
    "where": "there are no modules: write `select(condition, a, b)`",
    "trans": "there are no modules: write `transpose(v)`",
    "pi": "there are no modules: write `pi`",
    "inf": "there are no modules: write `inf`",
    "float16": "there are no modules: the type is `f16`",
    "float32": "there are no modules: the type is `f32`",
    "float64": "there are no modules: the type is `f64`",
    "int32": "there are no modules: the type is `i32`",
    "int64": "there are no modules: the type is `i64`",
}


def report_dot(source: Source, span: Span, sink: Sink, title: str) -> None:
    """Report the `.` at `span`, E0003 or E0115, unless an earlier message about its line says it all."""
    line_start = source.text.rfind("\n", 0, span.start) + 1
    before = source.text[line_start : span.start]
    after = source.text[span.end : span.end + 80]
    imports = re.match(r"\s*(import|from)\b", before)
    if imports:
        word = Span(line_start + imports.start(1), line_start + imports.end(1))
        help = "a program is one file; there is nothing to import"
        sink.error("E0115", f"`{imports.group(1)}` is not a word of this language", word, help=help)
    elif before.endswith(".") or before.lstrip().startswith("@"):
        return  # the second dot of `...`; a decorator, whose `@` was reported
    else:
        sink.error("E0003", title, span, help=_help(before, after))


def _help(before: str, after: str) -> str:
    owner = (re.search(r"(\w+)$", before[-80:]) or [""])[0]
    member = (re.match(r"(\w*)", after) or [""])[0]
    if after.startswith("."):
        return "there is no `...`: write one index for each axis"
    if owner in _CUDA_INDICES:
        return _CUDA_INDICES[owner]
    called = after[len(member) :].lstrip().startswith("(")
    if owner in _MODULES and member:
        return (
            _MODULE_MEMBERS.get(member)
            or f"there are no modules: write `{member}{'(...)' if called else ''}`"
        )
    if member in _ATTRIBUTES:
        return _ATTRIBUTES[member]
    if called:
        return f"there are no methods: call a function, `{member}(v)`"
    return "there are no attributes, methods or modules: call a function, `f(v)`"
