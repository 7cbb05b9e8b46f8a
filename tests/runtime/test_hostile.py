"""Arguments that are not what they seem: whatever they do, the caller gets a coded message."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilelang
from tilelang.diagnostics import CompileError
from tilelang.runtime import cache

COPY = tilelang.compile("kernel copy(x: f32[N], s: f32, out y: f32[N]) grid (1) { y[0 +: 8] = x[0 +: 8] * s; }")
X = np.zeros(8, np.float32)


class Evil:
    """Every question makes it fail."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("evil")


class NoTypestr:
    @property
    def __cuda_array_interface__(self) -> dict:
        return {"version": 3}


class NoNumber(float):
    def __float__(self) -> float:
        raise RuntimeError("no")


@pytest.mark.parametrize("arguments, settings, code", [
    ((Evil(), 1.0), {}, "E0523"), ((NoTypestr(), 1.0), {}, "E0523"), ((X, Evil()), {}, "E0517"),
    ((X, NoNumber(2.0)), {}, "E0517"), ((X, 10**5000), {}, "E0517"), ((X, -(10**5000)), {}, "E0517"),
    ((X, 1.0), {"N": 10**5000}, "E0504"), ((X, 1.0), {"N": Evil()}, "E0504"),
])
def test_it_is_refused(arguments: tuple, settings: dict, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        COPY["copy"](*arguments, device="reference", **settings)
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_a_call_like_an_earlier_one_takes_no_pages_of_digits() -> None:
    COPY["copy"](X, 1, device="reference")
    with pytest.raises(CompileError, match="integer of 16610 bits"):
        COPY["copy"](X, 10**5000, device="reference")


def test_a_kernel_name_that_is_no_name() -> None:
    with pytest.raises(CompileError, match="no kernel"):
        COPY[[]]  # type: ignore[index]


def test_a_cache_in_the_home_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.VARIABLE, "~nobody-of-this-name/cache")
    assert cache.cache_root() == Path("~nobody-of-this-name/cache")
