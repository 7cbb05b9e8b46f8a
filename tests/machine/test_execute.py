"""Running thread IR: values, loops, branches, memory, atomics, effects."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tests.machine.threads import constants, run, thread_kernel
from tilelang.diagnostics import InternalError
from tilelang.ir.batch import StepLimitReached, TileAssertionError
from tilelang.ir.core import Block, Kernel, Op
from tilelang.ir.parser import parse_kernel
from tilelang.machine import execute

SOFTMAX = constants(4, 5, 8, 16) + """
  %ninf: f32 = const {value = -inf}
  %s: shared f32[32] = shared
  %inside: bool = lt %tw, %N
  %row: i64 = mul %p, %sx
  %col: i64 = mul %tw, %cx
  %at: i64 = add %row, %col
  %v: f32 = if %inside {
    %l: f32 = global.load %x, %at
    yield %l
  } else { yield %ninf }
  shared.store %s, %t, %v
  barrier
  %m: f32 = for %c0, %c5, %c1, %v (%i: i32, %a: f32) {
    %d: i32 = shl %c1, %i
    %o: i32 = xor %t, %d
    %b: f32 = shared.load %s, %o
    %n: f32 = maximum %a, %b
    barrier
    shared.store %s, %t, %n
    barrier
    yield %n
  }
  %c: f32 = sub %v, %m
  %e: f32 = exp %c
  shared.store %s, %t, %e
  barrier
  %sum: f32 = for %c0, %c5, %c1, %e (%i2: i32, %a2: f32) {
    %d2: i32 = shl %c1, %i2
    %o2: i32 = xor %t, %d2
    %b2: f32 = shared.load %s, %o2
    %n2: f32 = add %a2, %b2
    barrier
    shared.store %s, %t, %n2
    barrier
    yield %n2
  }
  %r: f32 = div %e, %sum
  if %inside {
    %ro: i64 = mul %p, %sy
    %co: i64 = mul %tw, %cy
    %to: i64 = add %ro, %co
    global.store %y, %to, %r
    yield
  } else { yield }
"""


@pytest.mark.parametrize("batch", [None, 1, 3])
def test_softmax_of_rows(batch: int | None) -> None:
    strides = "".join(f"%{a}{t}: i64 = stride %{t} {{axis = {n}}}\n" for t in "xy" for n, a in enumerate("sc"))
    kernel = thread_kernel("%x: in f32[%M, %N], %y: out f32[%M, %N]", strides + SOFTMAX, dims=["M", "N"])
    rng = np.random.default_rng(0)
    x = rng.standard_normal((27, 11), np.float32).T[:, ::-1]
    y = np.zeros((11, 54), np.float32)
    run(kernel, (11,), {"M": 11, "N": 27}, x=x, y=y[:, ::2], batch=batch)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y[:, ::2], e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    assert not y[:, 1::2].any()

def test_coordinates_of_programs_and_scalars() -> None:
    body = constants(3, 100) + """
      %q: i64 = program_id {axis = 1}
      %r: i64 = program_id {axis = 2}
      %n: i64 = num_programs {axis = 1}
      %m: i64 = num_programs {axis = 2}
      %a: i64 = mul %q, %w3
      %b: i64 = add %a, %p
      %c: i64 = mul %p, %w100
      %d: i64 = add %c, %q
      %e: i64 = add %d, %r
      %f: i64 = mul %n, %w100
      %g: i64 = add %f, %m
      %h: i64 = mul %g, %w100
      %i: i64 = add %e, %k
      global.store %y, %b, %i
      global.store %z, %b, %g
    """
    kernel = thread_kernel("%y: out i64[4, 3], %z: out i64[4, 3], %k: i64", body, 1)
    y, z = np.zeros((2, 4, 3), np.int64)
    run(kernel, (3, 4), y=y, z=z, k=7)
    assert (y == np.arange(3) * 100 + np.arange(4)[:, None] + 7).all()
    assert (z == 401).all()
    run(kernel, (3, 0, 5), y=y, z=z, k=7)


def test_a_while_loop_whose_trips_differ_between_threads_and_programs() -> None:
    """Collatz: how many steps until 1, in 4 programs of 8 threads."""
    body = constants(3, 8) + """
      %w8p: i64 = mul %p, %w8
      %o: i64 = add %w8p, %tw
      %n: i64 = add %o, %w1
      %last: i64, %count: i32 = while %n, %c0 (%v: i64, %k: i32) {
        %go: bool = ne %v, %w1
        condition %go, %v, %k
      } do (%u: i64, %j: i32) {
        %odd: i64 = and %u, %w1
        %is: bool = ne %odd, %w0
        %next: i64 = if %is {
          %three: i64 = mul %u, %w3
          %up: i64 = add %three, %w1
          yield %up
        } else {
          %down: i64 = shr %u, %w1
          yield %down
        }
        %more: i32 = add %j, %c1
        yield %next, %more
      }
      global.store %y, %o, %count
    """
    y = np.zeros(32, np.int32)
    run(thread_kernel("%y: out i32[32]", body, 8), (4,), y=y)

    def steps(n: int) -> int:
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    assert y.tolist() == [steps(n) for n in range(1, 33)]


@pytest.mark.parametrize("dtype", ["i8", "u8", "i64", "u64"])
def test_for_is_pythons_range_in_each_thread(dtype: str) -> None:
    """Bounds and step differ between threads; the range of the dtype's extremes does not overflow."""
    width = {"i8": np.int8, "u8": np.uint8, "i64": np.int64, "u64": np.uint64}[dtype]
    info = np.iinfo(width)
    cases = [(0, 5, 1), (5, 0, 1), (3, 3, 1), (info.max - 3, info.max, 2), (info.min, info.min + 1, info.max),
             (0, info.max, info.max // 3), (7, 100, 9)]
    if info.min < 0:
        cases += [(5, 0, -1), (0, 5, -2), (info.max, info.min, info.min), (info.min + 2, info.min, -1), (9, -9, -4)]
    body = f"""
      %lo: {dtype} = global.load %a, %tw
      %hi: {dtype} = global.load %b, %tw
      %st: {dtype} = global.load %c, %tw
      %z: {dtype} = const {{value = 0}}
      %n: i32, %sum: {dtype} = for %lo, %hi, %st, %c0, %z (%i: {dtype}, %k: i32, %s: {dtype}) {{
        %more: i32 = add %k, %c1
        %plus: {dtype} = add %s, %i
        yield %more, %plus
      }}
      global.store %y, %tw, %n
      global.store %z2, %tw, %sum
    """
    count = len(cases)
    inputs = ", ".join(f"%{name}: in {dtype}[{count}]" for name in "abc")
    header = f"{inputs}, %y: out i32[{count}], %z2: out {dtype}[{count}]"
    a, b, c = (np.asarray(column, width) for column in zip(*cases, strict=True))
    y, z = np.zeros(count, np.int32), np.zeros(count, width)
    run(thread_kernel(header, body, count), a=a, b=b, c=c, y=y, z2=z)
    assert y.tolist() == [len(range(*case)) for case in cases]
    wrap = 1 << (8 * width().itemsize)
    assert [int(v) % wrap for v in z] == [sum(range(*case)) % wrap for case in cases]


def test_registers_rotate_in_a_loop() -> None:
    """A local array, indexed by constants, by a loop's index, and by a number of the thread's own."""
    body = constants(3, 4) + """
      %r: local i32[4] = local
      for %c0, %c4, %c1 {unroll = true} (%i: i32) {
        %v: i32 = mul %i, %t
        local.store %r, %i, %v
        yield
      }
      for %c0, %c3, %c1 (%k: i32) {
        %keep: i32 = local.load %r, %c0
        for %c0, %c3, %c1 {unroll = true} (%j: i32) {
          %next: i32 = add %j, %c1
          %w: i32 = local.load %r, %next
          local.store %r, %j, %w
          yield
        }
        local.store %r, %c3, %keep
        yield
      }
      %own: i32 = and %t, %c3
      %x: i32 = local.load %r, %own
      global.store %y, %tw, %x
    """
    y = np.zeros(32, np.int32)
    run(thread_kernel("%y: out i32[32]", body), y=y)
    assert y.tolist() == [((t % 4 + 3) % 4) * t for t in range(32)]


def test_a_register_stored_by_some_threads_at_their_own_index() -> None:
    body = constants(3) + """
      %r: local i32[4] = local
      for %c0, %c3, %c1 (%i: i32) {
        local.store %r, %i, %c0
        yield
      }
      local.store %r, %c3, %c0
      %own: i32 = and %t, %c3
      %odd: i32 = and %t, %c1
      %is: bool = eq %odd, %c1
      if %is {
        local.store %r, %own, %t
        yield
      } else { yield }
      %x: i32 = local.load %r, %own
      global.store %y, %tw, %x
    """
    y = np.full(32, -1, np.int32)
    run(thread_kernel("%y: out i32[32]", body), y=y)
    assert y.tolist() == [t if t % 2 else 0 for t in range(32)]


def test_a_value_read_before_the_register_changed_keeps_its_meaning() -> None:
    body = """
      %r: local i32[1] = local
      local.store %r, %c0, %t
      %before: i32 = local.load %r, %c0
      local.store %r, %c0, %c2
      global.store %y, %tw, %before
    """
    y = np.zeros(32, np.int32)
    run(thread_kernel("%y: out i32[32]", body), y=y)
    assert y.tolist() == list(range(32))


def one_after_another(kernel: Kernel) -> Kernel:
    """The kernel with no loop marked as unrolled, so that no trips run side by side."""
    def plain(op: Op) -> Op:
        attrs = {key: value for key, value in op.attrs.items() if key != "unroll"}
        return replace(op, attrs=attrs, blocks=tuple(Block(b.args, tuple(map(plain, b.ops))) for b in op.blocks))

    return replace(kernel, body=Block((), tuple(map(plain, kernel.body.ops))))


def test_trips_side_by_side_do_what_trips_in_turn_do() -> None:
    """Inner loops and branches, a tail, a store where the last trip's value stays, and the same counts."""
    body = constants(3, 6, 8, 20, 40) + """
      %r: local i32[6] = local
      %s: shared i32[48] = shared
      for %c0, %c6, %c1 {unroll = true} (%i: i32) {
        %at: i32 = mul %i, %c8
        %e: i32 = add %at, %t
        %odd: i32 = and %e, %c1
        %is: bool = eq %odd, %c0
        %v: i32 = if %is {
          %sum: i32 = for %c0, %e, %c3, %c0 (%k: i32, %a: i32) {
            %b: i32 = add %a, %k
            yield %b
          }
          yield %sum
        } else { yield %e }
        local.store %r, %i, %v
        shared.store %s, %e, %v
        %in: bool = lt %e, %c40
        if %in {
          %o: i32 = shr %t, %c0
          %ow: i64 = cast %o
          global.store %last, %ow, %v
          yield
        } else { yield }
        yield
      }
      barrier
      for %c0, %c6, %c1 {unroll = true} (%i2: i32) {
        %at2: i32 = mul %i2, %c8
        %e2: i32 = add %at2, %t
        %x: i32 = local.load %r, %i2
        %x2: i32 = shared.load %s, %e2
        %x3: i32 = add %x, %x2
        %in2: bool = lt %e2, %c40
        if %in2 {
          %w: i64 = cast %e2
          global.store %y, %w, %x3
          yield
        } else { yield }
        yield
      }
    """
    kernel = thread_kernel("%y: out i32[40], %last: out i32[8]", body, 8)
    results = []
    for version in (kernel, one_after_another(kernel)):
        y, last = np.zeros(40, np.int32), np.zeros(8, np.int32)
        report = run(version, (2,), y=y, last=last)
        costs = [(op.name, counts) for op, counts in report.ops if op.name not in ("for", "yield")]
        results.append((y.tolist(), last.tolist(), costs))
    assert results[0] == results[1]
    wanted = [sum(range(0, e, 3)) if e % 2 == 0 else e for e in range(40)]
    assert results[0][0] == [2 * v for v in wanted]
    assert results[0][1] == wanted[32:]


def test_atomics_go_by_programs_and_threads_in_order() -> None:
    body = constants(4) + """
      %kind: i64 = mod %tw, %w2
      %old: i32 = global.atomic %y, %kind, %t {kind = "add"}
      %at: i64 = mul %p, %w4
      %to: i64 = add %at, %tw
      global.store %z, %to, %old
    """
    y, z = np.zeros(2, np.int32), np.zeros((2, 4), np.int32)
    run(thread_kernel("%y: inout i32[2], %z: out i32[2, 4]", body, 4), (2,), y=y, z=z)
    assert y.tolist() == [4, 8]
    assert z.tolist() == [[0, 0, 0, 1], [2, 4, 2, 5]]


def test_compare_and_swap_lets_one_thread_win() -> None:
    body = constants(9) + """
      %me: i32 = add %t, %c1
      %old: i32 = global.atomic %y, %w1, %me, %c0 {kind = "cas"}
      global.store %z, %tw, %old
    """
    y, z = np.zeros(2, np.int32), np.zeros(4, np.int32)
    run(thread_kernel("%y: inout i32[2], %z: out i32[4]", body, 4), y=y, z=z)
    assert (y.tolist(), z.tolist()) == ([0, 1], [0, 1, 1, 1])


def test_half_floats_round_after_each_op() -> None:
    body = """
      %a: bf16 = global.load %x, %tw
      %b: bf16 = add %a, %a
      %c: bf16 = mul %b, %a
      global.store %y, %tw, %c
    """
    x = (np.arange(32) / 7).astype(ml_dtypes.bfloat16)
    y = np.zeros(32, ml_dtypes.bfloat16)
    run(thread_kernel("%x: in bf16[32], %y: out bf16[32]", body), x=x, y=y)
    assert y.tolist() == ((x + x) * x).tolist()


# ------------------------------------------------------------------------------------ effects


def test_an_assert_reports_the_first_program_that_fails() -> None:
    """Program 3 fails early and would loop for ever, program 2 fails late in its text: 2 is reported."""
    body = constants(3) + """
      %ok3: bool = ne %p, %w3
      assert %ok3 {id = 0, text = "not three"}
      while {
        %stuck: bool = eq %p, %w3
        condition %stuck
      } do { yield }
      %c: bool = eq %p, %w2
      if %c {
        %mine: bool = ne %t, %c1
        assert %mine {id = 1, text = "not two"}
        yield
      } else { yield }
    """
    kernel = thread_kernel("", body)
    for batch in (None, 1, 2):
        with pytest.raises(TileAssertionError) as failed:
            run(kernel, (5,), batch=batch)
        assert (failed.value.program, failed.value.text) == ((2,), "not two")
    run(kernel, (2,))


def test_a_program_stopped_by_an_assert_leaves_its_loops() -> None:
    body = """
      %ok: bool = ne %p, %w1
      assert %ok {id = 0, text = "stuck"}
      while {
        %stuck: bool = eq %p, %w1
        condition %stuck
      } do { yield }
    """
    with pytest.raises(TileAssertionError):
        run(thread_kernel("", body), (2,))


def test_the_step_limit() -> None:
    kernel = thread_kernel("", "while { %go: bool = eq %p, %w0\ncondition %go } do { yield }")
    with pytest.raises(StepLimitReached):
        execute(kernel, {}, {}, (1,), max_steps=99)


def test_prints_come_in_order_of_programs_and_with_whole_tiles() -> None:
    body = constants(3) + """
      %first: bool = eq %t, %c0
      if %first { print {id = 0, text = "start"}
        yield } else { yield }
      for %c0, %c2, %c1 (%k: i32) {
        %e: i32 = sub %c3, %t
        %v: i32 = add %e, %k
        print %e, %v {id = 1, shape = (2, 2), text = "tile"}
        if %first { print %c0, %k {id = 2, text = "k"}
          yield } else { yield }
        yield
      }
    """
    lines: list[tuple] = []

    def output(text: str, value: np.ndarray | None, program: tuple[int, ...]) -> None:
        lines.append((program, text, None if value is None else value.tolist()))

    execute(thread_kernel("", body, 4), {}, {}, (2, 1), output=output)
    one = [("start", None), ("tile", [[0, 1], [2, 3]]), ("k", 0), ("tile", [[1, 2], [3, 4]]), ("k", 1)]
    assert lines == [((program, 0), *entry) for program in range(2) for entry in one]


def test_a_print_that_became_two_ops_is_put_together() -> None:
    """As the whole trips of a loop and the rest of it print elements of one tile."""
    body = constants(4) + """
      for %c0, %c2, %c1 (%k: i32) {
        print %t, %k {id = 0, shape = (4,), text = "tile"}
        %e: i32 = add %t, %c2
        print %e, %t {id = 0, shape = (4,), text = "tile"}
        yield
      }
    """
    lines: list[object] = []
    execute(thread_kernel("", body, 2), {}, {}, (1,), output=lambda text, value, program: lines.append(value.tolist()))
    assert lines == [[0, 0, 0, 1], [1, 1, 0, 1]]


def test_deep_nesting() -> None:
    """Deeper than Python's own recursion limit allows; built by hand, for the text parser stops earlier."""
    shell = thread_kernel("%y: out i32[4]", "%c: bool = lt %t, %c2\nglobal.store %y, %tw, %c1", 4)
    end = Op("yield")
    *before, condition, store = shell.body.ops
    inner: Op = store
    for _ in range(1500):
        inner = Op("if", condition.results, (), {}, (Block((), (inner, end)), Block((), (end,))))
    y = np.zeros(4, np.int32)
    run(replace(shell, body=Block((), (*before, condition, inner))), y=y)
    assert y.tolist() == [1, 1, 0, 0]


# ------------------------------------------------------------------------------------ misuse


def test_what_execute_refuses() -> None:
    tile = parse_kernel("kernel @k() dims() tile {}")
    with pytest.raises(InternalError, match="thread level"):
        execute(tile, {}, {}, (1,))
    kernel = thread_kernel("%x: in f32[3]", "")
    for wrong in (np.zeros(3), np.zeros((3, 1), np.float32), 3):
        with pytest.raises(InternalError, match="argument %x"):
            execute(kernel, {"x": wrong}, {}, (1,))
    record = np.zeros(3, np.dtype([("a", np.float32), ("b", np.int8)]))["a"]
    with pytest.raises(InternalError, match="whole elements"):
        execute(kernel, {"x": record}, {}, (1,))


def test_a_chosen_few_programs() -> None:
    body = "%c: bool = eq %t, %c0\nif %c { global.store %y, %p, %c1\nyield } else { yield }"
    kernel = thread_kernel("%y: out i32[9]", body)
    y = np.zeros(9, np.int32)
    report = execute(kernel, {"y": y}, {}, (9,), programs=np.array([1, 4, 8]))
    assert np.flatnonzero(y).tolist() == [1, 4, 8] and report.programs == 3
