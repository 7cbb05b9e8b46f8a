"""What a launch on a GPU does for shared memory beyond 48 KiB, with a driver that only writes down what it is told."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.runtime.test_intrinsics import pytestmark  # noqa: F401  (skips without the toolchain)
from tilelang.runtime.gpu import allow_shared


class Driver:
    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def cuKernelSetAttribute(self, *arguments: object) -> None:
        self.calls.append(arguments)


@pytest.mark.parametrize("size", [49_168, 166_912])
def test_the_driver_is_told_before_the_launch(size):
    """As numba does it for the attributes that it has calls for: attribute, value, kernel, device."""
    driver, loaded = Driver(), SimpleNamespace(handle="the kernel", device=SimpleNamespace(id=3))
    allow_shared(loaded, size, driver)
    ((attribute, *rest),) = driver.calls
    assert attribute.name == "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES" and rest == [size, "the kernel", 3]
