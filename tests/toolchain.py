"""Whether NVIDIA's compilers (the extra `cuda`) are there, and the mark of tests that need them."""

from __future__ import annotations

import pytest

from tilelang.diagnostics import CompileError
from tilelang.runtime import cuda_compile


def toolchain_missing() -> bool:
    try:
        cuda_compile.tool("ptxas")
    except CompileError:
        return True
    return False


needs_toolchain = pytest.mark.skipif(toolchain_missing(), reason="needs pip install 'tile-course[cuda]'")
