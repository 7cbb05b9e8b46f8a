"""Barriers: where they are placed, that each is needed, and where none is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.tiling.test_reduce_and_scan import load_tile, store_tile
from tests.tiling.threads import GPU, lowered, names, simulate, tile_kernel, without_barrier
from tilelang.ir.core import Kernel
from tilelang.ir.parser import parse_kernel
from tilelang.ir.printer import print_kernel
from tilelang.memory.barriers import place_barriers
from tilelang.memory.uniform import varying_values

AT = "checked = (false,), mask = false, pointwise = false"


def placed(body: str, header: str = "%x: inout f32[64]") -> str:
    """The body with barriers, as text without the lines around."""
    kernel = parse_kernel(f"kernel @k({header}) dims() thread {{threads = 32}} {{\n{body}\n}}\n")
    return "\n".join(print_kernel(place_barriers(kernel)).splitlines()[1:-1])


PRELUDE = """
  %t: i32 = thread_id
  %c0: i32 = const {value = 0}
  %c1: i32 = const {value = 1}
  %c31: i32 = const {value = 31}
  %f: f32 = const {value = 1.0}
  %s: shared f32[32] = shared
  %o: i32 = sub %c31, %t
"""


def test_a_read_of_another_threads_write_waits():
    text = placed(PRELUDE + "shared.store %s, %t, %f\n%a: f32 = shared.load %s, %o\n")
    assert text.splitlines()[-2:] == ["  barrier", "  %a: f32 = shared.load %s, %o"]


def test_a_write_over_what_another_reads_waits():
    text = placed(PRELUDE + "%a: f32 = shared.load %s, %o\nshared.store %s, %t, %f\n")
    assert text.splitlines()[-2].strip() == "barrier"


def test_reads_do_not_wait_for_reads_nor_arrays_for_each_other():
    text = placed(PRELUDE + "%z: shared f32[32] = shared\n%a: f32 = shared.load %s, %o\n%b: f32 = shared.load %s, %t\n"
                  "shared.store %z, %t, %f\n")
    assert "barrier" not in text


def test_the_same_owner_needs_no_barrier():
    text = placed(PRELUDE + 'shared.store %s, %t, %f {owner = "element"}\n'
                  '%a: f32 = shared.load %s, %t {owner = "element"}\n')
    assert "barrier" not in text


def test_where_barriers_are_placed_already_only_others_wait():
    marked = "shared.store %s, %t, %f {placed = true}\n%a: f32 = shared.load %s, %o {placed = true}\n"
    assert "barrier" not in placed(PRELUDE + marked)
    assert placed(PRELUDE + marked + "shared.store %s, %o, %f\n").splitlines()[-2].strip() == "barrier"


def test_an_asynchronous_copy_writes_shared_memory_and_reads_the_tensor():
    header = "%x: inout f16[64]"
    prelude = PRELUDE + "%w: i64 = cast %t\n%h: shared f16[32] = shared\n%v: f16 = const {value = 1.0}\n"
    copy = "shared.copy_async %h, %c0, %x, %w, %c1\n"
    for before in ("%e: f16 = shared.load %h, %t\n", "global.store %x, %w, %v\n"):
        assert placed(prelude + before + copy, header).splitlines()[-2].strip() == "barrier"
    assert "barrier" not in placed(prelude + "%e: f16 = global.load %x, %w\n" + copy, header)


def test_one_barrier_serves_all_that_wait_at_it():
    text = placed(PRELUDE + "%z: shared f32[32] = shared\nshared.store %s, %t, %f\nshared.store %z, %t, %f\n"
                  "%a: f32 = shared.load %s, %o\n%b: f32 = shared.load %z, %o\n")
    assert text.count("barrier") == 1


def test_a_loop_waits_for_its_own_last_trip():
    text = placed(PRELUDE + """
  for %c0, %c31, %c1 (%k: i32) {
    %a: f32 = shared.load %s, %o
    shared.store %s, %t, %a
    yield
  }
""")
    assert text.count("barrier") == 2  # write after read; and around the loop, read after write


def test_a_barrier_goes_in_front_of_a_loop_that_only_reads():
    text = placed(PRELUDE + """
  shared.store %s, %t, %f
  for %c0, %c31, %c1 (%k: i32) {
    %a: f32 = shared.load %s, %k
    yield
  }
""")
    lines = [line.strip() for line in text.splitlines()]
    assert lines.count("barrier") == 1 and lines[lines.index("barrier") + 1].startswith("for")


def test_no_barrier_stands_where_threads_part():
    text = placed(PRELUDE + """
  %first: bool = lt %t, %c1
  shared.store %s, %t, %f
  if %first {
    %a: f32 = shared.load %s, %o
    yield
  } else {
    yield
  }
""")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("barrier") + 1].startswith("if")


def test_a_uniform_branch_has_its_barrier_inside():
    text = placed(PRELUDE + """
  %p: i64 = program_id {axis = 0}
  %zero: i64 = const {value = 0}
  %first: bool = eq %p, %zero
  shared.store %s, %t, %f
  if %first {
    %a: f32 = shared.load %s, %o
    yield
  } else {
    yield
  }
""")
    lines = [line.strip() for line in text.splitlines()]
    assert lines[lines.index("barrier") - 1].startswith("if")


def test_an_owner_that_moves_from_trip_to_trip_is_no_owner():
    """`x[k +: 32]` is another run of elements in each trip: what one thread wrote, another reads next."""
    body = PRELUDE + """
  %off: i64 = const {value = 0}
  for %c0, %c31, %c1 (%k: i32) {
    %b: f32 = global.load %x, %off {owner = "%k +: 32"}
    global.store %x, %off, %b {owner = "%k +: 32"}
    yield
  }
"""
    assert placed(body).count("barrier") == 1
    assert "barrier" not in placed(body.replace("%k +: 32", "%c0 +: 32"))


def test_atomics_of_one_kind_commute_unless_someone_looks():
    body = PRELUDE + """
  %off: i64 = const {value = 0}
  %a: f32 = global.atomic %x, %off, %f {kind = "add"}
  %b: f32 = global.atomic %x, %off, %f {kind = "add"}
"""
    assert "barrier" not in placed(body)
    assert placed(body.replace('%b: f32 = global.atomic %x, %off, %f {kind = "add"}',
                               '%b: f32 = global.atomic %x, %off, %f {kind = "xchg"}')).count("barrier") == 1
    assert placed(body + "shared.store %s, %t, %a\n").count("barrier") == 1


def test_while_loops_meet_themselves():
    text = placed(PRELUDE + """
  %n: i32 = while %c0 (%i: i32) {
    %a: f32 = shared.load %s, %c0
    %go: bool = lt %a, %f
    condition %go, %i
  } do (%j: i32) {
    shared.store %s, %t, %f
    yield %j
  }
""")
    assert text.count("barrier") == 2


def test_uniform_values():
    kernel = parse_kernel("""kernel @k(%x: in f32[64], %n: i32) dims() thread {threads = 32} {
  %t: i32 = thread_id
  %c0: i32 = const {value = 0}
  %s: shared i32[4] = shared
  %u: i32 = shared.load %s, %c0
  %v: i32 = shared.load %s, %t
  %w: i32 = for %c0, %n, %u (%i: i32, %c: i32) {
    %d: i32 = add %c, %v
    yield %d
  }
}
""".replace("%u (%i", "%u, %c0 (%i"))
    varying = {value.name for value in varying_values(kernel)}
    assert varying == {"t", "v", "w", "c", "d"}


# ------------------------------------------------------------------------------------ each barrier is needed

BIG, SMALL = (8, 16), (8,)

PROGRAMS: dict[str, tuple[Kernel, dict[str, np.ndarray]]] = {}


def program(name: str, header: str, body: str, **arrays: np.ndarray) -> None:
    PROGRAMS[name] = tile_kernel(header, body), arrays


RNG = np.random.default_rng(5)
X = RNG.standard_normal(BIG).astype(np.float32)

# (A sum that only thread 0 stores could do without the last barrier of its tree: the sums go to all threads.)
program("sum for all", "%x: in f32[8, 16], %y: out f32[8, 16]", load_tile(BIG, "f32") + """
  %s: f32 = reduce %v {axes = (0, 1), kind = "sum"}
  %r: f32[8, 16] = broadcast %s
""" + store_tile(BIG), x=X, y=np.zeros(BIG, np.float32))
program("two sums in one buffer", "%x: in f32[8, 16], %y: out f32[8, 16]", load_tile(BIG, "f32") + """
  %m: f32 = reduce %v {axes = (0, 1), kind = "sum"}
  %mb: f32[8, 16] = broadcast %m
  %d: f32[8, 16] = sub %v, %mb
  %s: f32 = reduce %d {axes = (0, 1), kind = "sum"}
  %r: f32[8, 16] = broadcast %s
""" + store_tile(BIG), x=X, y=np.zeros(BIG, np.float32))
program("rows", "%x: in f32[8, 16], %y: out f32[8]", load_tile(BIG, "f32") + """
  %r: f32[8] = reduce %v {axes = (1,), kind = "sum"}
""" + store_tile(SMALL), x=X, y=np.zeros(SMALL, np.float32))
program("transpose", "%x: in f32[8, 16], %y: out f32[16, 8]", load_tile(BIG, "f32") + """
  %r: f32[16, 8] = permute %v {axes = (1, 0)}
""" + store_tile((16, 8)), x=X, y=np.zeros((16, 8), np.float32))
program("scan", "%x: in f32[8, 16], %y: out f32[8, 16]", load_tile(BIG, "f32") + """
  %r: f32[8, 16] = scan %v {axis = 1, kind = "sum", reverse = false}
""" + store_tile(BIG), x=X, y=np.zeros(BIG, np.float32))
program("own writes", "%x: in f32[64], %y: inout f32[64]", f"""
  %i: i32[64] = iota
  %v: f32[64] = load %x, %i {{{AT}, other = false}}
  store %y, %i, %v {{{AT}}}
  %c63: i32[64] = const {{value = 63}}
  %j: i32[64] = sub %c63, %i
  %w: f32[64] = load %y, %j {{{AT}, other = false}}
  store %y, %i, %w {{{AT}}}
""", x=RNG.standard_normal(64).astype(np.float32), y=np.zeros(64, np.float32))
program("dots in a loop", "%x: in f32[8, 8], %y: out f32[8, 8]", load_tile((8, 8), "f32") + """
  %lo: i32 = const {value = 0}
  %hi: i32 = const {value = 3}
  %one: i32 = const {value = 1}
  %z: f32[8, 8] = const {value = 0.0}
  %r: f32[8, 8] = for %lo, %hi, %one, %v (%k: i32, %a: f32[8, 8]) {
    %b: f32[8, 8] = dot %a, %v, %z {tf32 = false}
    yield %b
  }
""" + store_tile((8, 8)), x=X[:, :8].copy(), y=np.zeros((8, 8), np.float32))


def results(thread: Kernel, arrays: dict[str, np.ndarray]) -> list[bytes]:
    return [np.asarray(simulate(thread, arrays, backwards=backwards)["y"]).tobytes() for backwards in (False, True)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_barrier_is_needed(name):
    """With one barrier less, some order of threads gives another result (the right one is that of both orders)."""
    kernel, arrays = PROGRAMS[name]
    thread = lowered(kernel, replace(GPU, shuffles=False))  # a shuffle in the simulator waits too, like a barrier
    count = names(thread).count("barrier")
    right = results(thread, arrays)
    assert count > 0 and right[0] == right[1]
    for number in range(count):
        broken = without_barrier(thread, number)
        assert results(broken, arrays) != right, f"barrier {number} of {count} can be deleted\n{print_kernel(thread)}"
