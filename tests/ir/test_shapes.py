"""Shape ops in the interpreter, on values that are the same for all programs and on those that are not."""

from __future__ import annotations

import numpy as np

from tests.ir.running import run, shaped, st


def test_broadcast_of_uniform_and_varying() -> None:
    r = shaped(
        """
      %pb: i32[3] = broadcast %p
      %i: i32[3] = iota
      %v: i32[3] = add %pb, %i
      %r: i32[2, 2, 3] = broadcast %v
    """,
        (2, 2, 3),
    )
    assert np.array_equal(r, np.arange(3)[:, None, None, None] + np.zeros((2, 2, 1), int) + np.arange(3))
    assert np.array_equal(
        shaped("%r: i32[1, 2, 3, 1] = broadcast %u", (1, 2, 3, 1)), np.full((3, 1, 2, 3, 1), 7)
    )
    r = shaped(
        "%i: i32[3] = iota\n%j: i32[1, 3, 1] = reshape %i\n%r: i32[2, 1, 3, 2] = broadcast %j", (2, 1, 3, 2)
    )
    assert np.array_equal(r[1], np.broadcast_to(np.arange(3)[:, None], (2, 1, 3, 2)))


def test_broadcast_where_the_batch_could_be_taken_for_an_extent() -> None:
    """Three programs and an extent of 3: the axis of programs must not be stretched or aligned."""
    r = shaped("%v: i32[1] = reshape %p\n%r: i32[3, 3] = broadcast %v", (3, 3))
    assert np.array_equal(r, np.arange(3)[:, None, None] + np.zeros((3, 3), int))


def test_permute_reshape_cat() -> None:
    make = """
      %i: i32[24] = iota
      %pb: i32[24] = broadcast %p
      %v: i32[24] = add %i, %pb
      %t: i32[2, 3, 4] = reshape %v
    """
    whole = np.arange(24).reshape(2, 3, 4) + np.arange(3)[:, None, None, None]
    r = shaped(make + "%r: i32[4, 2, 3] = permute %t {axes = (2, 0, 1)}", (4, 2, 3))
    assert np.array_equal(r, whole.transpose(0, 3, 1, 2))
    r = shaped(make + "%q: i32[4, 3, 2] = permute %t {axes = (2, 1, 0)}\n%r: i32[6, 4] = reshape %q", (6, 4))
    assert np.array_equal(r, whole.transpose(0, 3, 2, 1).reshape(3, 6, 4))
    r = shaped(
        make + "%k: i32[2, 1, 4] = const {value = 5}\n%r: i32[2, 4, 4] = cat %k, %t {axis = 1}", (2, 4, 4)
    )
    assert np.array_equal(r, np.concatenate([np.full((3, 2, 1, 4), 5), whole], axis=2))
    r = shaped(
        "%a: i32[1] = reshape %u\n%b: i32[1] = reshape %p\n%r: i32[3] = cat %a, %b, %a {axis = 0}", (3,)
    )
    assert r.tolist() == [[7, 0, 7], [7, 1, 7], [7, 2, 7]]


def test_program_ids_of_a_three_axis_grid() -> None:
    y = np.zeros((2, 3, 4, 4), np.int64)
    ids = "\n".join(
        f"%p{a}: i64 = program_id {{axis = {a}}}\n%n{a}: i64 = num_programs {{axis = {a}}}" for a in range(3)
    )
    body = f"""
      {ids}
      %ten: i64 = const {{value = 10}}
      %a: i64 = mul %p0, %ten
      %b: i64 = add %a, %p1
      %c: i64 = mul %b, %ten
      %d: i64 = add %c, %p2
      %l: i64[1] = reshape %d
      %e: i64[1] = reshape %n0
      %f: i64[1] = reshape %n1
      %g: i64[1] = reshape %n2
      %v: i64[4] = cat %l, %e, %f, %g {{axis = 0}}
      %i: i64[4] = iota
      store %y, %p0, %p1, %p2, %i, %v {st(False, False, False, False)}
    """
    run("%y: out i64[2, 3, 4, 4]", body, (2, 3, 4), y=y)
    assert y[1, 2, 3].tolist() == [123, 2, 3, 4]
    assert np.array_equal(
        y[..., 0], np.add.outer(np.add.outer(np.arange(2) * 100, np.arange(3) * 10), np.arange(4))
    )
