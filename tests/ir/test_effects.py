"""Asserts and prints: which program is reported, in which order, whatever the batch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.running import ld
from tilelang.diagnostics import Span
from tilelang.ir.interpreter import TileAssertionError, interpret, print_line
from tilelang.ir.parser import parse_kernel
from tilelang.ir.verifier import verify


def failing(body: str, programs: int = 8, batch: int | None = None) -> tuple[TileAssertionError, list]:
    printed: list = []
    constants = "\n".join(f"%c{i}: i64 = const {{value = {i}}}" for i in range(8))
    kernel = parse_kernel(f"""kernel @k() dims() tile {{
      %p: i64 = program_id {{axis = 0}}
      {constants}
      {body}
    }}""")
    verify(kernel)
    with pytest.raises(TileAssertionError) as caught:
        interpret(
            kernel,
            {},
            {},
            (programs,),
            output=lambda *entry: printed.append(entry),
            batch=batch,
            max_steps=99,
        )
    return caught.value, printed


BATCHES = pytest.mark.parametrize("batch", [1, 3, None])


@BATCHES
def test_the_first_failing_program_is_reported(batch: int | None) -> None:
    error, _ = failing('%ok: bool = lt %p, %c5\nassert %ok {text = "below 5"} @7:12', batch=batch)
    assert (error.program, error.text, error.span, error.op.name) == ((5,), "below 5", Span(7, 12), "assert")


@BATCHES
def test_an_earlier_program_that_fails_at_a_later_op_comes_first(batch: int | None) -> None:
    error, _ = failing(
        """
      %a: bool = ne %p, %c5
      assert %a {text = "not 5"}
      %b: bool = ne %p, %c3
      assert %b {text = "not 3"}
      %c: bool = ne %p, %c4
      assert %c {text = "not 4"}
    """,
        batch=batch,
    )
    assert (error.program, error.text) == ((3,), "not 3")


@BATCHES
def test_the_first_of_two_failures_of_one_program_is_reported(batch: int | None) -> None:
    error, _ = failing(
        """
      %a: bool = ne %p, %c2
      assert %a {text = "first"}
      assert %a {text = "second"}
    """,
        batch=batch,
    )
    assert (error.program, error.text) == ((2,), "first")


@BATCHES
def test_a_failed_program_does_not_run_into_what_the_assert_guards(batch: int | None) -> None:
    """Program 6 would loop for ever, and program 7 would step by 0; program 4 fails after them."""
    error, _ = failing(
        """
      %a: bool = ne %p, %c6
      assert %a {text = "not 6"}
      %n: i64 = while %p (%v: i64) {
        %more: bool = ge %v, %c6
        condition %more, %v
      } do (%w: i64) {
        %six: bool = ne %p, %c6
        %d: i64 = if %six {
          yield %c1
        } else {
          yield %c0
        }
        %x: i64 = sub %w, %d
        yield %x
      }
      %b: bool = ne %p, %c4
      assert %b {text = "not 4"}
    """,
        batch=batch,
    )
    assert (error.program, error.text) == ((4,), "not 4")
    error, _ = failing(
        """
      %step: i64 = sub %p, %c3
      %a: bool = ne %step, %c0
      assert %a {text = "step"}
      for %c0, %c5, %step (%k: i64) {
        yield
      }
    """,
        batch=batch,
    )
    assert (error.program, error.text) == ((3,), "step")


@BATCHES
def test_an_access_that_the_assert_makes_safe_is_not_an_internal_error(batch: int | None) -> None:
    """Bounds checks may be dropped on the word of an assert; the failed programs must not trip over that."""
    kernel = parse_kernel(f"""kernel @k(%x: in f32[4]) dims() tile {{
      %p: i64 = program_id {{axis = 0}}
      %four: i64 = const {{value = 4}}
      %ok: bool = lt %p, %four
      assert %ok {{text = "below 4"}}
      %v: f32 = load %x, %p {ld(False)}
    }}""")
    with pytest.raises(TileAssertionError) as caught:
        interpret(kernel, {"x": np.zeros(4, np.float32)}, {}, (8,), batch=batch)
    assert caught.value.program == (4,)


@BATCHES
def test_asserts_in_branches_and_on_tiles(batch: int | None) -> None:
    error, _ = failing(
        """
      %late: bool = gt %p, %c3
      if %late {
        %i: i64[4] = iota
        %pb: i64[4] = broadcast %p
        %s: i64[4] = add %i, %pb
        %limit: i64[4] = const {value = 9}
        %ok: bool[4] = lt %s, %limit
        assert %ok {text = "tile"}
        yield
      } else {
        yield
      }
    """,
        batch=batch,
    )
    assert (error.program, error.text) == ((6,), "tile")


def test_the_program_id_has_one_number_per_grid_axis() -> None:
    kernel = parse_kernel("""kernel @k() dims() tile {
      %p: i64 = program_id {axis = 1}
      %q: i64 = program_id {axis = 2}
      %a: i64 = add %p, %q
      %three: i64 = const {value = 3}
      %ok: bool = lt %a, %three
      assert %ok {text = "x"}
    }""")
    with pytest.raises(TileAssertionError) as caught:
        interpret(kernel, {}, {}, (2, 3, 4))
    assert caught.value.program == (0, 2, 1)  # axis 0 counts fastest


@BATCHES
def test_prints_come_in_order_of_programs(batch: int | None) -> None:
    error, printed = failing(
        """
      print {text = "start"}
      %two: i64 = mod %p, %c2
      %odd: bool = eq %two, %c1
      if %odd {
        print %p {text = "odd"}
        yield
      } else {
        yield
      }
      %ok: bool = lt %p, %c4
      assert %ok {text = "below 4"}
      print {text = "end"}
    """,
        batch=batch,
    )
    shown = [(text, None if value is None else value.item(), program) for text, value, program in printed]
    expected = []
    for p in range(4):
        expected += [("start", None, (p,))] + [("odd", p, (p,))] * (p % 2) + [("end", None, (p,))]
    assert error.program == (4,)
    assert shown == [*expected, ("start", None, (4,))]


def test_print_of_a_tile_and_the_plain_sink(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = parse_kernel(
        'kernel @k() dims() tile {\n%i: i32[3] = iota\nprint %i {text = "i ="}\nprint {text = "x"}\n}'
    )
    interpret(kernel, {}, {}, (1, 2))
    assert capsys.readouterr().out == "(0, 0) i = [0 1 2]\n(0, 0) x\n(0, 1) i = [0 1 2]\n(0, 1) x\n"
    print_line("t", None, (1, 2))
    assert capsys.readouterr().out == "(1, 2) t\n"
