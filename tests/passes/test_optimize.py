"""optimize: the order, the fixed point, and what happens when a pass is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilelang.passes
from tests.passes.helpers import body_of, kernel
from tilelang.diagnostics import InternalError
from tilelang.ir.core import Block, Kernel
from tilelang.ir.printer import print_kernel
from tilelang.passes import MAX_ROUNDS, PASSES, optimize

BODY = """
        %zero: i32 = const {value = 0}
        %t: bool = eq %n, %n
        %r: i32 = if %t {
          %a: i32 = add %n, %zero
          yield %a
        } else {
          yield %zero
        }
        print %r {text = ""}"""


def test_it_ends_at_a_fixed_point() -> None:
    seen: list[str] = []
    result = optimize(kernel(BODY), observe=lambda name, _: seen.append(name))
    assert body_of(result) == 'print %n {text = ""}'
    names = [name for name, _ in PASSES]
    assert seen == names * (len(seen) // len(names))
    assert len(seen) < MAX_ROUNDS * len(names)
    assert print_kernel(optimize(result)) == print_kernel(result)


def test_a_pass_leaves_its_input_alone() -> None:
    before = kernel(BODY)
    text = print_kernel(before)
    optimize(before)
    assert print_kernel(before) == text


def drop_everything(of: Kernel) -> Kernel:
    return replace(of, body=Block((), of.body.ops[1:]))


def crash(of: Kernel) -> Kernel:
    raise KeyError("no")


@pytest.mark.parametrize(("broken", "words"), [(drop_everything, "before:"), (crash, "%t: bool = eq")])
def test_a_wrong_pass_is_named_with_what_it_did(monkeypatch: pytest.MonkeyPatch, broken: object, words: str) -> None:
    monkeypatch.setattr(tilelang.passes, "PASSES", (("broken", broken),))
    with pytest.raises(InternalError, match="pass broken") as caught:
        optimize(kernel(BODY))
    assert words in caught.value.dump
