"""Shared memory is used again where lifetimes allow it."""

from __future__ import annotations

from tilelang.ir.parser import parse_kernel
from tilelang.memory.shared import share_memory

HEAD = """kernel @k(%x: in f32[64]) dims() thread {threads = 32} {
  %t: i32 = thread_id
  %c0: i32 = const {value = 0}
  %c9: i32 = const {value = 9}
  %c1: i32 = const {value = 1}
  %f: f32 = const {value = 1.0}
  %yes: bool = lt %t, %c9
  %a: shared f32[32] = shared
  %b: shared f32[64] = shared
"""


def arrays(body: str) -> dict[str, int]:
    """The shared arrays that are left, with their sizes."""
    kernel = share_memory(parse_kernel(HEAD + body + "\n}\n"))
    return {op.result.name: op.result.type.size for op in kernel.walk() if op.name == "shared"}


STORE_A, STORE_B = "shared.store %a, %t, %f\n", "shared.store %b, %t, %f\n"
LOAD_A, LOAD_B = "%va: f32 = shared.load %a, %t\n", "%vb: f32 = shared.load %b, %t\n"


def test_one_after_the_other_share_the_larger_size():
    assert arrays(STORE_A + LOAD_A + STORE_B + LOAD_B) == {"a": 64}


def test_alive_together_stay_apart():
    assert arrays(STORE_A + STORE_B + LOAD_A + LOAD_B) == {"a": 32, "b": 64}


def test_types_do_not_mix():
    body = STORE_A + LOAD_A + "%i: shared i32[32] = shared\nshared.store %i, %t, %t\n"
    assert arrays(body + STORE_B) == {"a": 64, "i": 32}


def test_unused_arrays_disappear():
    assert arrays(STORE_A) == {"a": 32}


def test_what_a_loop_reads_from_outside_lives_to_its_end():
    loop = f"for %c0, %c9, %c1 (%k: i32) {{\n{LOAD_A}{STORE_B}{LOAD_B}yield\n}}\n"
    assert arrays(STORE_A + loop) == {"a": 32, "b": 64}


def test_what_a_loop_writes_anew_is_free_between():
    loop = f"for %c0, %c9, %c1 (%k: i32) {{\n{STORE_A}{LOAD_A}{STORE_B}{LOAD_B}yield\n}}\n"
    assert arrays(loop) == {"a": 64}


def test_within_a_loop_over_registers_nothing_is_handed_on():
    """No barrier can stand between the read of one and the write of the other."""
    loop = f"for %c0, %c9, %c1 {{unroll = true}} (%k: i32) {{\n{LOAD_A}{STORE_B}yield\n}}\n"
    assert arrays(STORE_A + loop + LOAD_B) == {"a": 32, "b": 64}
    branch = f"if %yes {{\n{LOAD_A}{STORE_B}yield\n}} else {{\nyield\n}}\n"
    assert arrays(STORE_A + branch + LOAD_B) == {"a": 32, "b": 64}


UNIFORM = "%p: i64 = program_id {axis = 0}\n%c5: i64 = const {value = 5}\n%all: bool = lt %p, %c5\n"


def test_branches_that_all_threads_take_together_share():
    """Only one of them happens."""
    branches = f"{{\n{STORE_A}{LOAD_A}yield\n}} else {{\n{STORE_B}{LOAD_B}yield\n}}\n"
    assert arrays(f"{UNIFORM}if %all {branches}") == {"a": 64}
    assert arrays(f"if %yes {branches}") == {"a": 32, "b": 64}


def test_what_lives_beyond_a_branch_is_alive_in_the_other():
    branches = f"{{\n{LOAD_A}yield\n}} else {{\n{STORE_B}{LOAD_B}yield\n}}\n"
    after = LOAD_A.replace("%va", "%later")
    assert arrays(f"{UNIFORM}{STORE_A}if %all {branches}{after}") == {"a": 32, "b": 64}
    first = f"{{\n{STORE_B}{LOAD_B}yield\n}} else {{\n{LOAD_A}yield\n}}\n"
    assert arrays(f"{UNIFORM}{STORE_A}if %all {first}") == {"a": 32, "b": 64}


def test_tiny_arrays_stay_apart_and_save_a_barrier():
    tiny = "".join(f"%{n}: shared f32[4] = shared\nshared.store %{n}, %c0, %f\n%v{n}: f32 = shared.load %{n}, %c1\n"
                   for n in ("p", "q"))
    assert arrays(tiny) == {"p": 4, "q": 4}


def test_there_is_an_end_to_the_number_of_tiny_arrays():
    tiny = "".join(f"%p{n}: shared f32[4] = shared\nshared.store %p{n}, %c0, %f\n" for n in range(40))
    assert len(arrays(tiny)) == 16
