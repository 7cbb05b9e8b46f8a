"""What the machine model finds: races, unwritten reads, divergent barriers, accesses outside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.machine.threads import barriers, constants, problems, run, thread_kernel, without_barrier
from tilelang.ir.core import Kernel
from tilelang.machine import Problem, execute
from tilelang.machine import races as race_module
from tilelang.machine.races import AccessLog

ROUND_TRIP = """
  %s: shared i32[32] = shared
  %c31: i32 = const {value = 31}
  %o: i32 = sub %c31, %t
  %x: i32 = mul %t, %t
  shared.store %s, %t, %x
  barrier
  %v: i32 = shared.load %s, %o
  global.store %y, %tw, %v
"""


def exchange() -> Kernel:
    """y[t] = (31 - t) squared, by way of shared memory."""
    return thread_kernel("%y: out i32[32]", ROUND_TRIP)


def test_an_exchange_with_its_barrier_is_right() -> None:
    y = np.zeros(32, np.int32)
    run(exchange(), y=y)
    assert y.tolist() == [(31 - t) ** 2 for t in range(32)]


def test_an_exchange_without_its_barrier_races() -> None:
    kernel = without_barrier(exchange(), 0)
    report = run(kernel, check=False, y=np.zeros(32, np.int32))
    (race,) = report.findings
    assert race.problem is Problem.SHARED_RACE and race.array == "s"
    assert race.other is not None and (race.other.name, race.op.name) == ("shared.store", "shared.load")
    writer, reader = race.threads
    assert race.index == writer == 31 - reader
    assert "race on shared memory at %s[" in str(race)


def test_races_are_not_looked_for_when_told_not_to() -> None:
    y = np.zeros(32, np.int32)
    assert execute(without_barrier(exchange(), 0), {"y": y}, {}, (1,), check_races=False).findings == ()


TRANSPOSE = constants(4, 7, 8, 15) + """
  %s: shared f32[64] = shared
  %i: i32 = floordiv %t, %c8
  %j: i32 = mod %t, %c8
  %v: f32 = global.load %x, %tw
  shared.store %s, %t, %v
  barrier
  %js: i32 = mul %j, %c8
  %at: i32 = add %js, %i
  %w: f32 = shared.load %s, %at
  global.store %y, %tw, %w
"""


def test_transpose_through_shared_memory_many_blocks() -> None:
    body = TRANSPOSE.replace("%tw\n", "%o\n").replace("%y, %tw", "%y, %o")
    start = "%w64: i64 = const {value = 64}\n%first: i64 = mul %p, %w64\n%o: i64 = add %first, %tw\n"
    kernel = thread_kernel("%x: in f32[5, 8, 8], %y: out f32[5, 8, 8]", start + body, 64)
    x, y = np.random.default_rng(0).random((5, 8, 8), np.float32), np.zeros((5, 8, 8), np.float32)
    run(kernel, (5,), x=x, y=y)
    assert (y == x.transpose(0, 2, 1)).all()
    report = run(without_barrier(kernel, 0), (5,), check=False, x=x, y=y)
    assert problems(report) == {Problem.SHARED_RACE}


TREE = constants(3, 4, 8, 16, 32) + """
  %s: shared i64[32] = shared
  %v: i64 = global.load %x, %tw
  shared.store %s, %t, %v
  %last: i32 = for %c0, %c3, %c1, %c16 (%step: i32, %half: i32) {
    barrier
    %active: bool = lt %t, %half
    if %active {
      %o: i32 = add %t, %half
      %a: i64 = shared.load %s, %t
      %b: i64 = shared.load %s, %o
      %c: i64 = add %a, %b
      shared.store %s, %t, %c
      yield
    } else { yield }
    %next: i32 = shr %half, %c1
    yield %next
  }
  barrier
  %two: bool = lt %t, %c2
  if %two {
    %o2: i32 = add %t, %c2
    %a2: i64 = shared.load %s, %t
    %b2: i64 = shared.load %s, %o2
    %s2: i64 = add %a2, %b2
    shared.store %s, %t, %s2
    yield
  } else { yield }
  barrier
  %one: bool = eq %t, %c0
  if %one {
    %a1: i64 = shared.load %s, %c0
    %b1: i64 = shared.load %s, %c1
    %s1: i64 = add %a1, %b1
    shared.store %s, %c0, %s1
    yield
  } else { yield }
  barrier
  %sum: i64 = shared.load %s, %c0
  global.store %y, %tw, %sum
"""


def test_a_tree_reduction_needs_each_of_its_barriers() -> None:
    kernel = thread_kernel("%x: in i64[32], %y: out i64[32]", TREE.replace("%c0, %c3,", "%c0, %c3,"))
    x, y = np.arange(32) ** 3, np.zeros(32, np.int64)
    report = run(kernel, x=x, y=y)
    assert (y == x.sum()).all()
    assert report.barriers == 3 + 3
    assert barriers(kernel) == 4
    for number in range(4):
        found = run(without_barrier(kernel, number), check=False, x=x, y=y)
        assert problems(found) == {Problem.SHARED_RACE}, f"barrier {number}"


def test_a_race_around_the_back_edge_of_a_loop() -> None:
    """Read, then write for the next trip: the barrier between the two trips is missing."""
    body = constants(3, 31) + """
      %s: shared i32[32] = shared
      shared.store %s, %t, %t
      for %c0, %c3, %c1 (%k: i32) {
        barrier
        %n: i32 = add %t, %c1
        %o: i32 = and %n, %c31
        %v: i32 = shared.load %s, %o
        barrier
        shared.store %s, %t, %v
        yield
      }
    """
    kernel = thread_kernel("", body)
    run(kernel)
    for number in range(2):
        assert problems(run(without_barrier(kernel, number), check=False)) == {Problem.SHARED_RACE}


def test_a_shared_array_declared_in_a_loop_is_one_array() -> None:
    body = constants(3, 31) + """
      for %c0, %c3, %c1 (%k: i32) {
        %s: shared i32[32] = shared
        shared.store %s, %t, %t
        barrier
        %o: i32 = sub %c31, %t
        %v: i32 = shared.load %s, %o
        barrier
        yield
      }
    """
    kernel = thread_kernel("", body)
    run(kernel)
    assert problems(run(without_barrier(kernel, 1), check=False)) == {Problem.SHARED_RACE}


def test_the_same_value_from_two_threads_is_a_race() -> None:
    kernel = thread_kernel("%y: out i32[4]", "global.store %y, %w1, %c2")
    (race,) = run(kernel, check=False, y=np.zeros(4, np.int32)).findings
    assert race.problem is Problem.GLOBAL_RACE
    assert (race.threads, race.index, race.array) == ((0, 1), 1, "y")
    assert race.op is race.other


def test_one_thread_may_write_and_read_as_it_likes() -> None:
    body = """
      %mine: bool = eq %t, %c1
      if %mine {
        global.store %y, %w0, %c1
        global.store %y, %w0, %c2
        %v: i32 = global.load %y, %w0
        global.store %y, %w1, %v
        yield
      } else { yield }
    """
    y = np.zeros(4, np.int32)
    run(thread_kernel("%y: inout i32[4]", body), (3,), y=y)
    assert y.tolist() == [2, 2, 0, 0]


ATOMIC = "%old: i32 = global.atomic %y, %w0, %c1 {kind = \"add\"}\n"


def test_atomics_do_not_race_with_each_other() -> None:
    y = np.zeros(2, np.int32)
    run(thread_kernel("%y: inout i32[2]", ATOMIC), (5,), y=y)
    assert y.tolist() == [5 * 32, 0]


@pytest.mark.parametrize("other", ["%v: i32 = global.load %y, %w0", "global.store %y, %w0, %c1"])
def test_an_atomic_races_with_a_plain_access_of_another_thread(other: str) -> None:
    def guarded(thread: int) -> str:
        return f"%mine: bool = eq %t, %c{thread}\nif %mine {{ {other}\nyield }} else {{ yield }}"

    y = np.zeros(2, np.int32)
    (race,) = run(thread_kernel("%y: inout i32[2]", ATOMIC + guarded(1)), check=False, y=y).findings
    assert race.problem is Problem.GLOBAL_RACE and race.threads[1] == 1
    only = f"%first: bool = eq %t, %c1\nif %first {{ {ATOMIC} yield }} else {{ yield }}\n"
    run(thread_kernel("%y: inout i32[2]", only + guarded(1)), y=y)


def test_blocks_do_not_race_with_each_other() -> None:
    """Nothing orders blocks but atomics, yet that is no race within a block."""
    kernel = thread_kernel("%y: out i32[32]", "global.store %y, %tw, %t")
    y = np.zeros(32, np.int32)
    run(kernel, (7,), y=y)
    assert y.tolist() == list(range(32))


def test_a_global_race_through_a_broadcast_stride() -> None:
    """All threads write different elements of the tensor's index space that are one element of memory."""
    body = "%s: i64 = stride %y {axis = 0}\n%o: i64 = mul %tw, %s\nglobal.store %y, %o, %t"
    kernel = thread_kernel("%y: out i32[32]", body)
    view = np.lib.stride_tricks.as_strided(np.zeros(1, np.int32), (32,), (0,))
    assert problems(run(kernel, check=False, y=view)) == {Problem.GLOBAL_RACE}


# ------------------------------------------------------------------------------------ barriers


def test_a_barrier_in_a_divergent_branch() -> None:
    body = "%c: bool = lt %t, %c2\nif %c { barrier\nyield } else { yield }"
    (finding,) = run(thread_kernel("", body), (3,), check=False).findings
    assert finding.problem is Problem.DIVERGENT_BARRIER
    assert finding.threads == (0, 2) and finding.program == (0,) and finding.times == 3


def test_a_barrier_in_both_branches_is_divergent_too() -> None:
    body = "%c: bool = lt %t, %c2\nif %c { barrier\nyield } else { barrier\nyield }"
    assert len(run(thread_kernel("", body), check=False).findings) == 2


def test_a_barrier_in_a_loop_that_threads_leave_at_different_times() -> None:
    body = "for %c0, %t, %c1 (%k: i32) { barrier\nyield }"
    (finding,) = run(thread_kernel("", body, 4), check=False).findings
    assert finding.problem is Problem.DIVERGENT_BARRIER and finding.threads == (1, 0)


def test_a_barrier_where_whole_blocks_come() -> None:
    """Program 1 of 3 takes the branch; and a loop runs as often as the program's number says."""
    body = """
      %s: shared i32[32] = shared
      %c31: i32 = const {value = 31}
      %o: i32 = sub %c31, %t
      shared.store %s, %t, %t
      %c: bool = eq %p, %w1
      if %c { barrier
        yield } else { barrier
        yield }
      for %w0, %p, %w1 (%k: i64) {
        %v: i32 = shared.load %s, %o
        barrier
        shared.store %s, %o, %v
        barrier
        yield
      }
    """
    report = run(thread_kernel("", body), (4,))
    assert report.barriers == 4 + 2 * (0 + 1 + 2 + 3)


def test_a_race_in_one_program_only_while_others_pass_the_barrier() -> None:
    body = """
      %s: shared i32[32] = shared
      %c31: i32 = const {value = 31}
      %o: i32 = sub %c31, %t
      shared.store %s, %t, %t
      %c: bool = eq %p, %w2
      if %c { yield } else { barrier
        yield }
      %v: i32 = shared.load %s, %o
    """
    (race,) = run(thread_kernel("", body), (4,), check=False).findings
    assert race.program == (2,) and race.problem is Problem.SHARED_RACE


# ------------------------------------------------------------------------------------ memory


def test_reading_shared_memory_that_nobody_wrote() -> None:
    body = """
      %s: shared i32[33] = shared
      shared.store %s, %t, %t
      barrier
      %o: i32 = add %t, %c1
      %v: i32 = shared.load %s, %o
    """
    (finding,) = run(thread_kernel("", body), (2,), check=False).findings
    assert finding.problem is Problem.UNINITIALISED
    assert (finding.threads, finding.index, finding.array, finding.times) == ((31,), 32, "s", 2)


def test_reading_a_register_that_this_thread_did_not_write() -> None:
    body = """
      %r: local f32[3] = local
      %z: f32 = const {value = 0.0}
      %c: bool = ne %t, %c2
      if %c { local.store %r, %c1, %z
        yield } else { yield }
      %v: f32 = local.load %r, %c1
    """
    (finding,) = run(thread_kernel("", body), check=False).findings
    assert finding.problem is Problem.UNINITIALISED and finding.threads == (2,) and finding.index == 1


@pytest.mark.parametrize("where", ["sub %tw, %w1", "add %tw, %w2"])
def test_a_store_outside_a_tensor_is_found_and_not_made(where: str) -> None:
    kernel = thread_kernel("%y: out i32[33]", f"%o: i64 = {where}\nglobal.store %y, %o, %c2")
    memory = np.zeros(99, np.int32)
    (finding,) = run(kernel, check=False, y=memory[33:66]).findings
    assert finding.problem is Problem.OUT_OF_BOUNDS and finding.index in (-1, 33)
    assert not memory[:33].any() and not memory[66:].any() and memory[33:66].any()


def test_a_load_outside_gives_zero() -> None:
    body = "%o: i64 = mul %tw, %w2\n%v: i32 = global.load %x, %o\nglobal.store %y, %tw, %v"
    x, y = np.arange(1, 33, dtype=np.int32), np.full(32, -1, np.int32)
    report = run(thread_kernel("%x: in i32[32], %y: out i32[32]", body), check=False, x=x, y=y)
    assert problems(report) == {Problem.OUT_OF_BOUNDS}
    assert y.tolist() == [*range(1, 33, 2), *[0] * 16]


def test_the_gaps_of_a_strided_tensor_are_outside() -> None:
    kernel = thread_kernel("%y: out i32[16]", "global.store %y, %tw, %c2", 31)
    memory = np.zeros(32, np.int32)
    (finding,) = run(kernel, check=False, y=memory[::2]).findings
    assert finding.problem is Problem.OUT_OF_BOUNDS and finding.index == 1 and finding.times == 15
    assert memory.tolist() == [2, 0] * 16


@pytest.mark.parametrize("place", ["shared", "local"])
def test_an_index_outside_a_shared_or_local_array(place: str) -> None:
    body = f"""
      %a: {place} i32[31] = {place}
      %neg: i32 = sub %t, %c1
      {place}.store %a, %neg, %t
      barrier
      %v: i32 = {place}.load %a, %neg
    """
    report = run(thread_kernel("", body, 8), check=False)
    assert {f.index for f in report.findings if f.problem is Problem.OUT_OF_BOUNDS} == {-1}
    assert {f.op.name for f in report.findings} == {f"{place}.store", f"{place}.load"}


def test_lanes_that_are_masked_off_touch_nothing() -> None:
    body = "%c: bool = lt %t, %c2\nif %c { global.store %y, %tw, %c1\nyield } else { yield }"
    y = np.zeros(2, np.int32)
    run(thread_kernel("%y: out i32[2]", body), y=y)
    assert y.tolist() == [1, 1]


def test_an_empty_tensor_is_never_touched() -> None:
    body = "%c: bool = lt %tw, %N\nif %c { global.store %y, %tw, %c1\nyield } else { yield }"
    run(thread_kernel("%y: out i32[%N]", body, dims=["N"]), dims={"N": 0}, y=np.zeros(0, np.int32))
    report = run(thread_kernel("%y: out i32[0]", "global.store %y, %tw, %c1"), check=False, y=np.zeros(0, np.int32))
    assert problems(report) == {Problem.OUT_OF_BOUNDS}


# ------------------------------------------------------------------------------------ the log


def test_a_long_log_is_compacted_and_still_finds_the_race(monkeypatch: pytest.MonkeyPatch) -> None:
    """No barrier in a long loop: the log keeps one access of an op, thread and element."""
    monkeypatch.setattr(race_module, "COMPACT_FROM", 500)
    sizes: list[int] = []
    record = AccessLog.record
    monkeypatch.setattr(AccessLog, "record", lambda log, access: (record(log, access), sizes.append(log.size))[0])
    body = constants(7, 100) + """
      %s: shared i32[64] = shared
      shared.store %s, %t, %t
      barrier
      for %c0, %c100, %c1 (%k: i32) {
        %o: i32 = mod %k, %c7
        %at: i32 = add %t, %o
        %i: i32 = mod %at, %c7
        %v: i32 = shared.load %s, %i
        yield
      }
      %last: bool = eq %t, %c7
      if %last { shared.store %s, %c2, %t
        yield } else { yield }
    """
    (race,) = run(thread_kernel("", body, 16), (3,), check=False).findings
    assert race.problem is Problem.SHARED_RACE and race.index == 2 and race.threads[1] == 7
    assert max(sizes) <= 500 + 16 * 3
