"""Facts of a launch, and that a kernel is compiled anew for other facts only."""

from __future__ import annotations

import numpy as np
import pytest

import tilelang
from tilelang.dtypes import F32
from tilelang.runtime.arrays import DeviceArray
from tilelang.runtime.facts import launch_facts
from tilelang.semantics.binding import Binding


def facts(argument: object, shape: tuple[int, ...], **dims: int) -> dict[str, int]:
    binding = Binding("k", dims=dims, shapes={"x": shape}, dtypes={"x": F32})
    found = dict(launch_facts(binding, {} if argument is None else {"x": argument}))  # type: ignore[dict-item]
    return {name.removeprefix("fact."): value for name, value in found.items()}


X = np.zeros((64, 48), np.float32)
ALL = {"x.aligned": 16, "x.forward": True, "x.stride0.div": 16, "x.stride1": 1, "small": True}


@pytest.mark.parametrize(("argument", "shape", "wanted"), [
    (None, (64, 48), ALL), (X, (64, 48), ALL),
    (X[:, :17], (64, 17), ALL),
    (X.T, (48, 64), {"x.aligned": 16, "x.forward": True, "x.stride0": 1, "x.stride1.div": 16, "small": True}),
    (X[:, ::2], (64, 24), {"x.aligned": 16, "x.forward": True, "x.stride0.div": 16, "small": True}),
    (X[:, ::-1], (64, 48), {"x.stride0.div": 16, "small": True}),
    (np.zeros((3, 7), np.float32), (3, 7), {"x.aligned": 16, "x.forward": True, "x.stride1": 1, "small": True}),
    (np.zeros((), np.float32), (), {"x.aligned": 16, "x.forward": True, "small": True})])
def test_facts_of_an_array(argument, shape, wanted):
    assert facts(argument, shape) == wanted


@pytest.mark.parametrize(("address", "aligned"), [(4096, True), (4096 + 16, True), (4096 + 8, False)])
def test_an_array_on_a_gpu_is_aligned_where_its_address_is(address, aligned):
    array = DeviceArray(address, (64,), (4,), F32, False, 0, None)
    assert ("x.aligned" in facts(array, (64,))) == aligned


def test_dims_that_are_multiples_of_16():
    assert facts(None, (), M=32, N=33, K=0) == {
        "x.aligned": 16, "x.forward": True, "small": True, "M.div": 16, "K.div": 16}


@pytest.mark.parametrize(("shape", "small"), [
    (((1 << 31) - 1,), True), ((1 << 31,), False), ((1 << 16, 1 << 15), True), ((1 << 16, 1 << 16), False)])
def test_what_needs_more_than_31_bits_is_not_small(shape, small):
    """The largest distance between elements counts, and every extent."""
    assert ("small" in facts(None, shape)) == small


def test_a_kernel_is_compiled_for_each_set_of_facts_once():
    add = tilelang.compile("""
kernel add[B = 512](x: f32[N], out y: f32[N]) grid (cdiv(N, B)) {
    let i = program_id(0) * B +: B;
    y[i] = x[i] + 1.0;
}""")["add"]
    x = np.arange(4096, dtype=np.float32)
    seen = set()
    for view in (x[:1024], x[:2048], x[:1023], x[:2048:2], x[16:1040], x[::-1][:1024]):
        seen.add(id(add.compile(view, device="model").thread_ir))
        np.testing.assert_array_equal(add(view, device="model"), view + 1)
    assert len(seen) == 4  # as it is best; N odd; strided; backwards
