"""The data sheets: figures agree with one another, and each says where it is from."""

from __future__ import annotations

from dataclasses import fields

import pytest

from tilelang.machine.gpus import GPUS, KIB, Gpu
from tilelang.tiling.targets import TARGETS

ALL = pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)


def test_the_six_gpus_are_there() -> None:
    assert list(GPUS) == ["t4", "a100", "rtx3090", "rtx4090", "h100", "h200"]


@ALL
def test_every_figure_has_a_source(gpu: Gpu) -> None:
    figures = [item.name for item in fields(gpu) if item.name not in ("name", "title", "target", "sources")]
    assert all(len(gpu.source(figure)) > 10 for figure in figures)
    assert "Compute Capability" in gpu.source("warps_per_sm")
    assert "Compute Capability" not in gpu.source("memory_rate")


def test_the_h200_has_its_own_memory_and_the_chip_of_the_h100() -> None:
    assert "H200" in GPUS["h200"].source("memory_rate")
    assert "H100" in GPUS["h200"].source("l2")


@ALL
def test_the_f32_peak_is_lanes_times_clock(gpu: Gpu) -> None:
    """64 lanes an SM on Turing and GA100, 128 on the others; a fused multiply-add is two operations."""
    lanes = 64 if gpu.target in ("sm_75", "sm_80") else 128
    assert gpu.f32 == pytest.approx(2 * lanes * gpu.sms * gpu.clock, rel=0.01)


@ALL
def test_the_target_s_block_fits_an_sm(gpu: Gpu) -> None:
    target = TARGETS[gpu.target]
    system = 0 if gpu.target == "sm_75" else KIB
    assert target.shared_per_block + system == gpu.shared_per_sm
    assert target.max_threads <= gpu.warps_per_sm * gpu.warp_size


@ALL
def test_memories_get_faster_towards_the_threads(gpu: Gpu) -> None:
    assert gpu.memory_rate < gpu.l2_rate < gpu.shared_rate


def test_the_a100_s_rates_as_its_whitepaper_gives_them() -> None:
    a100 = GPUS["a100"]
    assert a100.shared_rate == pytest.approx(19.5e12, rel=0.01)
    assert a100.l2_rate == pytest.approx(7.2e12, rel=0.01)
    assert a100.register_bytes == 27648 * KIB
