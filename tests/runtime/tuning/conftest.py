"""What the tests of tuning share: a cache folder of their own, and a clock that says what it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tilelang.runtime import cache
from tilelang.runtime.launch import Launch
from tilelang.runtime.tuning.clocks import Clock, Run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache's folder, new and empty."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_gave_up", [])
    yield tmp_path / "cache"


@pytest.fixture
def clock_of() -> Callable[[Callable[[Mapping], float]], Clock]:
    """A clock that runs the launch, and then takes the seconds from its metas."""

    def make(seconds: Callable[[Mapping], float]) -> Clock:
        def clock(launch: Launch) -> Run:
            launch.run(lambda text, value, program: None)
            return Run(seconds(launch.metas))

        return clock

    return make
