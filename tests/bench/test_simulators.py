"""The comparison of the machine model with numba's simulator: all contestants compute, and a wrong one is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from tilelang.bench.simulators import Case, job, measure

SMALL = Case("transpose", ((8, 8),), ((16, 8),), {"BLOCK": 8})


def test_measures_all_three() -> None:
    assert all(seconds > 0 for seconds in measure(SMALL))


def test_a_block_has_as_many_threads_as_on_a_gpu() -> None:
    thread_ir = job(SMALL, SMALL.few).compilation.thread_ir
    assert thread_ir is not None and thread_ir.attrs["threads"] == 128


def test_a_wrong_result_is_no_measurement() -> None:
    work = job(SMALL, SMALL.few)
    with pytest.raises(AssertionError):
        work.seconds_a_block(lambda: np.asarray(work.launch.result).fill(0))
