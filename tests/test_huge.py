"""Programs much larger than anybody writes, through all stages: they run, or are refused with a message."""

from __future__ import annotations

import numpy as np
import pytest

import tilelang

HEAD = "kernel k(x: f32[N], inout y: f32[N]) grid (1) {\n    let i = 0 +: 16;\n"
DEVICES = ("reference", "model", "cpu")


def run(body: str, device: str) -> np.ndarray:
    """What a kernel with this body makes of y = 0, where x = 0, 1, 2, ... 15."""
    y = np.zeros(16, np.float32)
    tilelang.compile(f"{HEAD}{body}\n}}")["k"](np.arange(16, dtype=np.float32), y, device=device)
    return y


@pytest.mark.parametrize("device", DEVICES)
def test_a_sum_of_500_terms(device: str) -> None:
    found = run("    y[i] = " + " + ".join(["x[i]"] * 500) + ";", device)
    np.testing.assert_array_equal(found, 500 * np.arange(16))


@pytest.mark.parametrize("device", DEVICES)
def test_500_branches(device: str) -> None:
    found = run("\n".join(f"    if x[{n % 16}] > {n % 7}.5 {{ y[{n % 16}] += 1.0; }}" for n in range(500)), device)
    wanted = np.zeros(16)
    for n in range(500):
        wanted[n % 16] += n % 16 > n % 7 + 0.5
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("device", DEVICES)
def test_a_tower_of_40_loops(device: str) -> None:
    """Each of one round."""
    found = run("".join(f"for k{n} in range(1) {{\n" for n in range(40)) + "y[i] = x[i];\n" + "}\n" * 40, device)
    np.testing.assert_array_equal(found, np.arange(16))


@pytest.mark.parametrize("device", DEVICES)
def test_a_chain_of_300_values(device: str) -> None:
    lines = ["    let v0 = x[i];", *(f"    let v{n} = v{n - 1} * 1.0 + v{n // 2};" for n in range(1, 300)),
             "    y[i] = select(v299 > 0.0, 1.0, 0.0);"]
    np.testing.assert_array_equal(run("\n".join(lines), device), np.arange(16) > 0)
