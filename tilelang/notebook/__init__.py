"""The compiler in a Jupyter notebook: `%load_ext tilelang.notebook`.

    %%tile y = softmax(x)
    kernel softmax[BLOCK = next_pow2(N)](x: f32[M, N], out y: f32[M, N]) grid (M) { ... }

A cell that begins with `%%tile` is a `.tile` program. Its kernels become Python functions of the notebook; what
stands behind `%%tile` is run with them. Mistakes are shown where they are, Tab completes names, and programs, IR,
layouts and profiles show themselves as text and pictures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """What `%load_ext tilelang.notebook` calls."""
    from tilelang.notebook import completion, errors, formatters, magic

    magic.install(shell)
    errors.install(shell)
    completion.install(shell)
    formatters.install(shell)
