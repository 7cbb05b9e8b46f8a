"""`load`, `store` and `atomic`: views, bounds, masks, duplicates, and the order of atomics."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.running import at, ld, run, st
from tilelang.diagnostics import InternalError
from tilelang.dtypes import DTYPES
from tilelang.ir.host_types import numpy_dtype
from tilelang.ir.interpreter import interpret
from tilelang.ir.parser import parse_kernel
from tilelang.ir.tile_ops import ATOMIC_KINDS

RNG = np.random.default_rng(0)


COPY = f"""
  %c: i32[4] = iota
  %r: i32[4] = iota
  %v: i32[4, 4] = load %x, %r, %c {ld(True, True)}
  store %y, %r, %c, %v {st(True, True)}
"""
BASE = np.arange(64, dtype=np.int32).reshape(8, 8)
VIEWS = {
    "plain": BASE[:3, :4],
    "transposed": BASE.T[:3, :4],
    "reversed": BASE[::-1, ::-1][:3, :4],
    "strided": BASE[::2, ::2][:3, :4],
    "broadcast rows": np.broadcast_to(BASE[0, :4], (3, 4)),
    "broadcast all": np.broadcast_to(np.int32(7), (3, 4)),
    "no rows": BASE[:0, :4],
    "no columns": BASE[:3, :0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_read(name: str) -> None:
    x = VIEWS[name]
    y = np.full((4, 4), -1, np.int32)
    run("%x: in i32[%M, %N], %y: out i32[4, 4]", COPY, dims=dict(zip("MN", x.shape, strict=True)), x=x, y=y)
    expected = np.zeros((4, 4), np.int32)
    expected[: x.shape[0], : x.shape[1]] = x
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("name", ["plain", "transposed", "reversed", "strided", "no rows", "no columns"])
def test_views_are_written_and_nothing_beside_them(name: str) -> None:
    memory = np.full((8, 8), -1, np.int32)
    views = {
        "plain": memory[:3, :4],
        "transposed": memory.T[:3, :4],
        "reversed": memory[::-1, ::-1][:3, :4],
        "strided": memory[::2, ::2][:3, :4],
        "no rows": memory[:0, :4],
        "no columns": memory[:3, :0],
    }
    kernel = parse_kernel(f"kernel @k(%x: in i32[4, 4], %y: out i32[%M, %N]) dims(%M, %N) tile {{{COPY}}}")
    x = np.arange(16, dtype=np.int32).reshape(4, 4)
    view = views[name]
    interpret(kernel, {"x": x, "y": view}, {"M": view.shape[0], "N": view.shape[1]}, (1,))
    assert np.array_equal(view, x[: view.shape[0], : view.shape[1]])
    assert (memory == -1).sum() == memory.size - view.size


@pytest.mark.parametrize("pointwise", [False, True])
def test_mask_and_other(pointwise: bool) -> None:
    y, z = np.arange(6, dtype=np.float32), np.full(6, 9, np.float32)
    run(
        "%y: in f32[6], %z: out f32[6]",
        f"""
      %c: i32[8] = iota
      %two: i32[8] = const {{value = 2}}
      %zero: i32[8] = const {{value = 0}}
      %odd: i32[8] = mod %c, %two
      %m: bool[8] = ne %odd, %zero
      %o: f32[8] = const {{value = 0.5}}
      %v: f32[8] = load %y, %c, %m, %o {ld(True, mask=True, other=True, pointwise=pointwise)}
      %three: i32[8] = const {{value = 3}}
      %high: bool[8] = ge %c, %three
      store %z, %c, %v, %high {st(True, mask=True, pointwise=pointwise)}
    """,
        y=y,
        z=z,
    )
    assert z.tolist() == [9, 9, 9, 3, 0.5, 5]


def test_duplicate_stores_keep_the_last_in_row_major_and_program_order() -> None:
    y = np.zeros(2, np.int64)
    run(
        "%y: out i64[2]",
        f"""
      %c: i64[4] = iota
      %z: i64[4] = const {{value = 0}}
      %p: i64 = program_id {{axis = 0}}
      %ten: i64 = const {{value = 10}}
      %t: i64 = mul %p, %ten
      %tb: i64[4] = broadcast %t
      %v: i64[4] = add %tb, %c
      store %y, %z, %v {st(True)}
    """,
        (3,),
        y=y,
    )
    assert y.tolist() == [23, 0]


def test_a_dropped_check_that_was_needed_is_found() -> None:
    body = f"%c: i32[8] = iota\n%v: f32[8] = load %x, %c {ld(False)}"
    with pytest.raises(InternalError, match="its test was dropped"):
        run("%x: in f32[6]", body, x=np.zeros(6, np.float32))
    run("%x: in f32[8]", body, x=np.zeros(8, np.float32))


def test_an_unchecked_index_may_be_outside_where_the_mask_is_off() -> None:
    run(
        "%x: in f32[4]",
        f"""
      %c: i32[8] = iota
      %four: i32[8] = const {{value = 4}}
      %m: bool[8] = lt %c, %four
      %v: f32[8] = load %x, %c, %m {ld(False, mask=True)}
    """,
        x=np.zeros(4, np.float32),
    )


def test_uniform_and_varying_operands_of_one_access() -> None:
    """Every mix of an index, mask, other and value that differ between programs or do not."""
    y, z = np.zeros((3, 4), np.int64), np.zeros(4, np.int64)
    run(
        "%x: in i64[4], %y: out i64[3, 4], %z: inout i64[4]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %c: i64[4] = iota
      %pb: i64[4] = broadcast %p
      %m: bool[4] = le %c, %pb
      %u: i64[4] = load %x, %c, %m, %pb {ld(True, mask=True, other=True)}
      %w: i64[4] = load %x, %c {ld(True)}
      %s: i64[4] = add %u, %w
      store %y, %p, %c, %s {st(True, True)}
      store %z, %c, %w, %m {st(True, mask=True)}
    """,
        (3,),
        x=np.array([100, 200, 300, 400]),
        y=y,
        z=z,
    )
    assert y.tolist() == [[200, 200, 300, 400], [200, 400, 301, 401], [200, 400, 600, 402]]
    assert z.tolist() == [100, 200, 300, 0]


def atomic_by_hand(kind: str, memory: np.ndarray, addresses, values, expected) -> list:
    """One after another, in Python."""
    old = []
    for address, value, wanted in zip(addresses, values, expected, strict=True):
        if not 0 <= address < len(memory):
            old.append(memory.dtype.type(0))
            continue
        now = memory[address]
        old.append(now)
        with np.errstate(all="ignore"):
            memory[address] = {
                "add": lambda now=now, value=value: now + value,
                "max": lambda now=now, value=value: np.maximum(now, value),
                "min": lambda now=now, value=value: np.minimum(now, value),
                "xchg": lambda value=value: value,
                "cas": lambda now=now, value=value, wanted=wanted: (
                    value if now.tobytes() == wanted.tobytes() else now
                ),
            }[kind]()
    return old


@pytest.mark.parametrize("dtype", ["i32", "i64", "u32", "u64", "f32", "f64"])
@pytest.mark.parametrize("kind", ATOMIC_KINDS)
@pytest.mark.parametrize("cells", [1, 3, 40])
def test_atomics_are_one_after_another(kind: str, dtype: str, cells: int) -> None:
    """120 operations of 3 programs on few cells: duplicates within and between programs."""
    host = numpy_dtype(DTYPES[dtype])
    rng = np.random.default_rng(cells)
    i = rng.integers(-1, cells + 1, (3, 5, 8)).astype(np.int32)
    v, w = (rng.integers(0, 4, (3, 5, 8)).astype(host) for _ in range(2))
    if host.kind == "f":
        v = v * host.type(0.1)
        v[0, 0, 0], v[2, 4, 7] = np.nan, -0.0
        w = w * host.type(0.1)
    y, old = np.zeros(cells, host), np.full((3, 5, 8), 9, host)
    second = ", %we" if kind == "cas" else ""
    run(
        f"%i: in i32[3, 5, 8], %v: in {dtype}[3, 5, 8], %w: in {dtype}[3, 5, 8], %y: inout {dtype}[{cells}], "
        f"%old: out {dtype}[3, 5, 8]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %r: i32[5] = iota
      %c: i32[8] = iota
      %ie: i32[5, 8] = load %i, %p, %r, %c {ld(False, False, False)}
      %ve: {dtype}[5, 8] = load %v, %p, %r, %c {ld(False, False, False)}
      %we: {dtype}[5, 8] = load %w, %p, %r, %c {ld(False, False, False)}
      %o: {dtype}[5, 8] = atomic %y, %ie, %ve{second} {{kind = "{kind}", {at(True, pointwise=True)}}}
      store %old, %p, %r, %c, %o {st(False, False, False)}
    """,
        (3,),
        i=i,
        v=v,
        w=w,
        y=y,
        old=old,
    )
    memory = np.zeros(cells, host)
    expected = atomic_by_hand(kind, memory, i.ravel(), v.ravel(), w.ravel())
    np.testing.assert_array_equal(y, memory)
    np.testing.assert_array_equal(old.ravel(), np.array(expected, host))


@pytest.mark.parametrize("count", [1, 50])
def test_compare_and_swap_of_floats_compares_bits(count: int) -> None:
    """A NaN equals itself, and -0.0 is not 0.0; in a short and in a long run of operations."""
    y = np.array([np.nan, 0.0], np.float32)
    run(
        "%y: inout f32[2]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %c: i64[2] = iota
      %one: f32[1] = const {{value = 1.0}}
      %nan: f32[1] = const {{value = nan}}
      %zero: f32[1] = const {{value = -0.0}}
      %e: f32[2] = cat %nan, %zero {{axis = 0}}
      %v: f32[2] = broadcast %one
      %o: f32[2] = atomic %y, %c, %v, %e {{kind = "cas", {at(True)}}}
    """,
        (count,),
        y=y,
    )
    assert y.tolist() == [1.0, 0.0]


def test_a_uniform_atomic_is_done_by_every_program() -> None:
    y, old = np.zeros(1, np.int32), np.zeros(100, np.int32)
    run(
        "%y: inout i32[1], %old: out i32[100]",
        f"""
      %z: i32 = const {{value = 0}}
      %one: i32 = const {{value = 1}}
      %o: i32 = atomic %y, %z, %one {{kind = "add", {at(True)}}}
      %p: i64 = program_id {{axis = 0}}
      store %old, %p, %o {st(True)}
    """,
        (100,),
        y=y,
        old=old,
    )
    assert y.tolist() == [100] and old.tolist() == list(range(100))


def test_histogram_with_a_mask() -> None:
    x = RNG.integers(0, 20, 1000).astype(np.int32)
    h = np.zeros(16, np.int32)
    run(
        "%x: in i32[1000], %h: inout i32[16]",
        f"""
      %p: i64 = program_id {{axis = 0}}
      %n: i64 = const {{value = 64}}
      %s: i64 = mul %p, %n
      %sb: i64[64] = broadcast %s
      %io: i64[64] = iota
      %c: i64[64] = add %sb, %io
      %end: i64[64] = const {{value = 1000}}
      %m: bool[64] = lt %c, %end
      %v: i32[64] = load %x, %c, %m {ld(False, mask=True)}
      %one: i32[64] = const {{value = 1}}
      %o: i32[64] = atomic %h, %v, %one, %m {{kind = "add", {at(True, mask=True)}}}
    """,
        (16,),
        x=x,
        h=h,
    )
    assert np.array_equal(h, np.bincount(x, minlength=20)[:16])


def test_atomics_on_a_rank_0_and_on_an_empty_tensor() -> None:
    y, z = np.array(5, np.int64), np.zeros((0, 3), np.int64)
    run(
        "%y: inout i64[], %z: inout i64[%N, 3]",
        f"""
      %two: i64 = const {{value = 2}}
      %a: i64 = atomic %y, %two {{kind = "add", {at()}}}
      %b: i64 = atomic %z, %two, %two, %two {{kind = "add", {at(True, True)}}}
      %n: i64 = atomic %y, %b {{kind = "max", {at()}}}
    """,
        (3,),
        {"N": 0},
        y=y,
        z=z,
    )
    assert y.item() == 11
