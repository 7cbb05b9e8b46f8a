"""The `Emitter`: names, places, spans, and result types from the typing rules."""

from __future__ import annotations

import pytest

from tilelang.diagnostics import NOWHERE, InternalError, Span
from tilelang.dtypes import BOOL, F16, F32, I8, I32, I64
from tilelang.ir.core import LocalType
from tilelang.ir.emit import Emitter, const_hint, value_names
from tilelang.ir.parser import parse_kernel
from tilelang.semantics.types import TileType

SCALAR, TILE = TileType(F32), TileType(F32, (4,))


def test_names_follow_hints_and_never_clash() -> None:
    emit = Emitter(["x", "x_1"])
    names = [emit.name(h) for h in ("x", "y", "x", "y", "y_1", "y", "x_2")]
    assert names == ["x_2", "y", "x_3", "y_1", "y_1_1", "y_2", "x_2_1"]
    assert len(set(names) | {"x", "x_1"}) == len(names) + 2


def test_names_stay_clear_of_a_whole_kernel() -> None:
    kernel = parse_kernel(
        "kernel @k(%a: i8) dims(%N) tile {\n"
        "%b: i8 = neg %a\nfor %N, %N, %N (%i: i64) {\n%c: i8 = neg %b\nyield\n}\n}"
    )
    assert value_names(kernel) == {"a", "N", "b", "i", "c"}
    emit = Emitter.within(kernel)
    assert [emit.name(n) for n in ("a", "N", "i", "c", "d")] == ["a_1", "N_1", "i_1", "c_1", "d"]


def test_result_types_come_from_the_rules() -> None:
    emit = Emitter()
    one, tile = emit.const(1, SCALAR), emit.const(2, TILE)
    assert emit.op("add", tile, tile).type == TILE
    assert emit.op("lt", tile, tile).type == TileType(BOOL, (4,))
    assert emit.op("reduce", tile, kind="argmax", axes=(0,)).type == TileType(I32)
    assert emit.op("program_id", axis=0).type == TileType(I64)
    assert emit.op("cat", tile, tile, axis=0).type == TileType(F32, (8,))
    assert emit.broadcast(one, (2, 3)).type == TileType(F32, (2, 3))
    assert emit.cast(one, F16).type == TileType(F16)
    assert emit.reshape(tile, (2, 2)).type == TileType(F32, (2, 2))
    assert emit.iota(5, I8).type == TileType(I8, (5,))


def test_helpers_do_nothing_where_nothing_is_to_do() -> None:
    emit = Emitter()
    tile = emit.const(1.0, TILE)
    count = len(emit.ops)
    assert emit.broadcast(tile, (4,)) is emit.reshape(tile, (4,)) is emit.cast(tile, F32) is tile
    assert len(emit.ops) == count


def test_constants_take_the_kind_of_their_type() -> None:
    emit = Emitter()
    emit.const(1, SCALAR)
    emit.const(1, TileType(BOOL))
    emit.const(1, TileType(I8))
    assert [repr(op.attrs["value"]) for op in emit.ops] == ["1.0", "True", "1"]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (3, "c3"),
        (-1, "cm1"),
        (True, "true"),
        (0.5, "c0.5"),
        (1e20, "c1e20"),
        (1e-7, "c1em07"),
        (float("-inf"), "ninf"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (-0.0, "cm0"),
    ],
)
def test_hints_of_constants(value: float, hint: str) -> None:
    assert const_hint(value) == hint


def test_blocks_nest_and_close() -> None:
    emit = Emitter()
    zero = emit.const(0, TileType(I64))
    with emit.block(("k", zero.type), ("s", zero.type)) as outer:
        with emit.block() as inner:
            emit.terminate("yield")
        assert emit.ops is outer.ops
        emit.terminate("yield", outer.args[0])
    (result,) = emit.structured("for", (zero, zero, zero, zero), (outer.close(),), hints=("total",))
    assert (result.name, result.type) == ("total", zero.type)
    assert [op.name for op in emit.ops] == ["const", "for"]
    assert [op.name for op in inner.close().ops] == ["yield"]


def test_a_block_is_left_also_when_the_writer_fails() -> None:
    emit = Emitter()
    with pytest.raises(ZeroDivisionError), emit.at(Span(1, 2)), emit.block():
        raise ZeroDivisionError
    emit.const(1, SCALAR)
    assert len(emit.ops) == 1 and emit.ops[0].span == NOWHERE


def test_spans_nest() -> None:
    emit = Emitter()
    with emit.at(Span(0, 9)):
        emit.const(1, SCALAR)
        with emit.at(Span(3, 4)):
            emit.const(1, SCALAR)
        emit.const(1, SCALAR)
    emit.const(1, SCALAR)
    assert [op.span for op in emit.ops] == [Span(0, 9), Span(3, 4), Span(0, 9), NOWHERE]


def test_an_ill_typed_op_is_refused_at_once() -> None:
    emit = Emitter()
    with pytest.raises(InternalError, match="add: operands must all have one type"):
        emit.op("add", emit.const(1, SCALAR), emit.const(1, TILE))
    with pytest.raises(InternalError, match="no such tile op"):
        emit.op("frobnicate", emit.const(1, SCALAR))
    with pytest.raises(InternalError, match="two blocks"):
        emit.structured("if", (emit.const(True, TileType(BOOL)),), ())


def test_thread_ops_bring_their_types_along() -> None:
    emit = Emitter()
    array = emit.op("local", type=LocalType(F32, 8), hint="acc")
    assert (array.name, str(array.type)) == ("acc", "local f32[8]")
