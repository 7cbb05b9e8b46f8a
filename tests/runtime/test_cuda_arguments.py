"""Arguments of generated CUDA kernels: every view as flat memory, a first element and strides."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.tiling.threads import GPU, lowered, tile_kernel
from tilelang.codegen.cuda_signature import parameters
from tilelang.diagnostics import CompileError
from tilelang.runtime.cuda_arguments import copy_back, count_programs, flat_arguments, flatten, in_order
from tilelang.runtime.log import new_log

BASE = np.arange(24.0).reshape(4, 6)
VIEWS = [BASE, BASE.T, BASE[::-1], BASE[:, ::-2], BASE[1:3, 2:5], np.broadcast_to(BASE[0], (3, 6)), BASE[2, 3],
         BASE[:0],
         np.zeros((3, 0)), BASE.reshape(2, 2, 6)[::-1, :, ::3]]


@pytest.mark.parametrize("array", VIEWS, ids=lambda a: f"{a.shape}{a.strides}")
def test_flat_and_back(array):
    flat = flatten(np.asarray(array))
    assert flat.memory.ndim == 1 and flat.memory.flags.c_contiguous
    np.testing.assert_array_equal(flat.view(np.shape(array)), array)


def test_flat_memory_reaches_no_further_than_the_view():
    flat = flatten(BASE[1:3, 2:5])
    assert len(flat.memory) == 9 and flat.first == 0
    assert flatten(BASE[::-1]).first == 18


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_floats_travel_as_bits(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    flat = flatten(array)
    assert flat.memory.dtype == np.uint16
    target = np.zeros((2, 3), dtype)
    copy_back(target, flat.memory.copy(), flat)
    assert (target == array).all()


def test_arguments_come_in_the_order_of_the_parameters():
    kernel = lowered(tile_kernel("%x: in f32[%M, 3], %s: f16, %y: out i8[%M]", "", dims=("M",)), GPU)
    args = {"x": np.zeros((2, 3), np.float32)[:, ::-1], "s": 0.1, "y": np.zeros(2, np.int8)}
    log = new_log(())
    given = in_order(kernel, flat_arguments(kernel, args), args, {"M": 2}, (5,), log)
    told = {p.wished: value for p, value in zip(parameters(kernel), given, strict=True)}
    assert list(told) == ["x", "x_first", "x_s0", "x_s1", "s", "y", "y_first", "y_s0", "M", "grid_0", "grid_1",
                          "grid_2", "log"]
    assert (told["x_first"], told["x_s0"], told["x_s1"]) == (2, 3, -1)
    assert (told["M"], told["grid_0"], told["grid_1"], told["grid_2"]) == (2, 5, 1, 1)
    assert told["s"].dtype == np.float32 and told["s"] == np.float32(np.float16(0.1))
    assert told["log"] is log


def test_too_many_programs():
    assert count_programs((2**31 - 1,)) == 2**31 - 1
    with pytest.raises(CompileError) as caught:
        count_programs((2**16, 2**16, 1))
    assert caught.value.diagnostics[0].code == "E0622"
