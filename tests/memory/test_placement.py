"""Where shared arrays are: aligned, one after another, declared up to 48 KiB and asked for beyond."""

from __future__ import annotations

import pytest

from tilelang.ir.core import Kernel
from tilelang.ir.parser import parse_kernel
from tilelang.memory.placement import dynamic_bytes, place_arrays


def kernel(*types: str) -> Kernel:
    body = "\n".join(f"  %a{n}: shared {type} = shared" for n, type in enumerate(types))
    return parse_kernel(f"kernel @k() dims() thread {{threads = 32}} {{\n{body}\n}}\n")


@pytest.mark.parametrize(("types", "starts", "end"), [
    ((), [], 0), (("f32[4]",), [0], 16), (("i8[1]", "f64[1]", "f16[9]", "i8[16]"), [0, 16, 32, 64], 80),
    (("bool[17]", "f32[1]"), [0, 32], 48)])
def test_every_array_begins_at_a_multiple_of_16_bytes(types, starts, end):
    placed, size = place_arrays(kernel(*types))
    assert list(placed.values()) == starts and size == end


@pytest.mark.parametrize(("types", "asked"), [
    (("f32[12288]",), 0), (("f32[12287]", "i8[1]"), 49168), (("f32[12288]", "i8[1]"), 49168), (("f16[24577]",), 49168)])
def test_48_kib_are_declared_and_one_byte_more_is_asked_for(types, asked):
    """12,287 f32 fill 49,148 bytes: with padding to 16 and one byte after that they do not fit any more."""
    assert dynamic_bytes(kernel(*types)) == asked
