"""Chapters 9 to 12: threads, memory, generated code, launching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.diagnostics import Sink

Function = Callable[..., Any]


# --- chapters 9 and 10 ------------------------------------------------------------------------------


def barriers(function: Function, text: str) -> list[str]:
    """The names of the ops of a thread kernel after barrier placement, with the learner's function in place."""
    from tilelang.ir.core import Block
    from tilelang.ir.parser import parse_kernel
    from tilelang.memory.barriers import place_barriers

    lines: list[str] = []

    def visit(block: Block, indent: str) -> None:
        for op in block.ops:
            lines.append(indent + op.name)
            for inner in op.blocks:
                visit(inner, indent + "  ")

    visit(place_barriers(parse_kernel(text)).body, "")
    return lines


def waiting_at(function: Function, text: str) -> list[str]:
    """For each barrier that is placed in a thread kernel, the name of the op whose span it has."""
    from dataclasses import replace

    from tilelang.diagnostics import Span
    from tilelang.ir.core import Block
    from tilelang.ir.parser import parse_kernel
    from tilelang.memory.barriers import place_barriers

    names: dict[Span, str] = {}

    def with_spans(block: Block) -> Block:
        ops = []
        for op in block.ops:
            span = Span(len(names) + 1, len(names) + 2)
            names[span] = op.name
            ops.append(replace(op, span=span, blocks=tuple(map(with_spans, op.blocks))))
        return Block(block.args, tuple(ops))

    kernel = parse_kernel(text)
    placed = place_barriers(replace(kernel, body=with_spans(kernel.body)))
    return [names.get(op.span, "no op") for op in placed.walk() if op.name == "barrier"]


def shared_arrays(function: Function, ranges: list[tuple[str, int, int, int]]) -> tuple[dict[str, str], dict[str, int]]:
    """(which array's memory each one uses, its size) for arrays given as (name, size, first, last) in f32."""
    from tilelang.dtypes import F32, I32
    from tilelang.ir.core import SharedType, Value
    from tilelang.memory.shared import Range

    arrays = {
        Value(name, SharedType(I32 if name.startswith("i") else F32, size)): Range(first, last)
        for name, size, first, last in ranges
    }
    renamed, sizes = function(arrays)
    return {a.name: home.name for a, home in renamed.items()}, {a.name: size for a, size in sizes.items()}


def on_lanes(function: Function, rows: list[list[int | None]], item: int) -> Any:
    """A count of the machine model, for an access of one program: a row of indexes for each trip, None: not active."""
    import numpy as np

    from tilelang.machine.lanes import Lanes

    index = np.array([[0 if i is None else i for i in row] for row in rows], np.int64)[:, None, :]
    active = np.array([[i is not None for i in row] for row in rows])[:, None, :]
    shape = (len(rows), 1, len(rows[0]))
    return function(index, item, Lanes(shape, None if active.all() else active))


def same_for_all(function: Function, threads: int, item: int) -> Any:
    """A count of the machine model, for an access in which all threads want element 7."""
    import numpy as np

    from tilelang.machine.lanes import Lanes

    return function(np.full((1, 1, 1), 7, np.int64), item, Lanes((1, 1, threads)))


def row_of_places(function: Function, row: int, columns: int) -> list[int]:
    """The places of a row's elements, sorted."""
    return sorted(function(row, column, columns) for column in range(columns))


def banks_of_column(function: Function, column: int, columns: int) -> int:
    """How many different banks 32 rows of a column lie in."""
    return len({function(row, column, columns) % 32 for row in range(32)})


def split_of(function: Function, *args: Any) -> Any:
    """A `Split` as the numbers in it."""
    found = function(*args)
    return found if found is None else (found.outer, found.length, found.inner, found.threads, found.vector)


# --- chapter 11 -------------------------------------------------------------------------------------


def fresh_names(function: Function, wished: list[str], taken: list[str]) -> list[str]:
    """The identifiers that one `Names` gives for these wishes, one after another."""
    from tilelang.codegen.names import Names

    names = Names(taken)
    return [function(names, wish) for wish in wished]


def on_op(function: Function, text: str, *args: Any) -> Any:
    """A function of the last op of a kernel."""
    from tilelang.ir.parser import parse_kernel

    return function(parse_kernel(text).body.ops[-1], *args)


def on_array(function: Function, shape: tuple[int, ...], view: str) -> Any:
    """A function of a view of a fresh array; `view` is an expression in `a`."""
    import numpy as np

    from tilelang.runtime.arrays import as_array

    a = np.zeros(shape, np.float32)
    return function(as_array(eval(view, {"a": a, "np": np})))  # `view` comes from the grader


# --- chapter 12 -------------------------------------------------------------------------------------


def names_given(function: Function, program: str, count: int) -> Any:
    """The names that `given_names` finds for the only kernel of a program."""
    from tilelang.diagnostics import Source
    from tilelang.semantics.names import resolve
    from tilelang.semantics.signature import signature
    from tilelang.syntax.parsing import parse

    module = parse(Source(program), Sink())
    return function(signature(resolve(module, Sink()), module.kernels[0]), count)


def refusal(function: Function, value: Any, what: str = "code") -> str:
    """The code with which a value is refused (or `what` else is said of it), or what it was taken for."""
    from tilelang.runtime.arrays import Refused

    try:
        return f"taken for {function(value)!r}"
    except Refused as refused:
        return str(getattr(refused, what))
