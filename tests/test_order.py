"""Programs in which the order of memory accesses decides give the same everywhere. See `tests.fuzzing.order`."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import tilelang
from tests.fuzzing.order import program

PROGRAMS = int(os.environ.get("TILEC_ORDERS", "16"))


def results(text: str, seed: int, device: str) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    tensors = [rng.integers(-3, 4, size).astype(np.float32) for size in (*rng.choice((8, 9, 10), 1).repeat(3), 4)]
    with np.errstate(all="ignore"):
        tilelang.compile(text)["k"](*tensors, device=device)
    return tensors


@pytest.mark.parametrize("device", ["cpu", "model"])
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_order_of_accesses(seed: int, device: str) -> None:
    text = program(random.Random(seed))
    for found, wanted in zip(results(text, seed, device), results(text, seed, "reference"), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=text)
