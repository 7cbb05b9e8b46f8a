"""The roofline: each term by hand, the limiter, and where blocks do not fill the SMs evenly."""

from __future__ import annotations

import pytest

from tests.machine.profiles import A100
from tilelang.machine.roofline import Work, roofline

MANY = 108 * 1000
"""Programs that fill an A100's SMs evenly."""


@pytest.mark.parametrize(("work", "limiter", "seconds"), [
    ({"hbm": 1555e9}, "HBM", 1.0),
    ({"l2": 5120 * 1.41e9}, "L2", 1.0),
    ({"wavefronts": 108 * 1.41e9}, "shared memory", 1.0),
    ({"issue": 108 * 4 * 1.41e9}, "instruction issue", 1.0),
    ({"f32": 19.5e12 / 64}, "f32 arithmetic", 1.0),        # 2 operations for each of 32 lanes
    ({"f64": 9.7e12 / 64}, "f64 arithmetic", 1.0),
    ({"integer": 108 * 2 * 1.41e9}, "integer arithmetic", 1.0),  # 64 lanes a clock: two warps
    ({"special": 108 * 1.41e9}, "special functions", 2.0),       # 16 lanes a clock: half a warp
])
def test_one_term_alone(work: dict[str, float], limiter: str, seconds: float) -> None:
    found = roofline(A100, Work(MANY, **work))
    assert found.limiter.name == limiter
    assert found.seconds == pytest.approx(seconds)


def test_the_slowest_term_is_the_time() -> None:
    found = roofline(A100, Work(MANY, hbm=1555e9, wavefronts=3 * 108 * 1.41e9, issue=108 * 4 * 1.41e9))
    assert (found.limiter.name, found.seconds) == ("shared memory", pytest.approx(3.0))


def test_109_blocks_take_an_sm_twice_as_long_as_108() -> None:
    each = 1e6
    full, over = (roofline(A100, Work(n, wavefronts=n * each)).seconds for n in (108, 109))
    assert over == pytest.approx(2 * full)


def test_one_block_gets_no_more_from_l2_than_the_port_of_its_sm() -> None:
    assert roofline(A100, Work(1, l2=64 * 1.41e9)).seconds == pytest.approx(1.0)


def test_intensity_and_ridge() -> None:
    found = roofline(A100, Work(MANY, hbm=1000.0, flops=2000.0))
    assert found.intensity == 2.0
    assert found.ridge == pytest.approx(19.5e12 / 1555e9)


def test_the_speed_of_light_is_compulsory_bytes_or_products_at_full_rate() -> None:
    assert roofline(A100, Work(MANY, hbm=4e9, compulsory=1555e6)).light == pytest.approx(1e-3)
    assert roofline(A100, Work(MANY, compulsory=1.0, dot_flops=19.5e9)).light == pytest.approx(1e-3)
    assert roofline(A100, Work(MANY, compulsory=1.0, dot_flops=312e9, tensor=312e12)).light == pytest.approx(1e-3)


def test_nothing_takes_no_time() -> None:
    found = roofline(A100, Work(0))
    assert (found.seconds, found.intensity, found.light) == (0, 0, 0)
