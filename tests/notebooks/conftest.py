"""An IPython shell with the extension loaded, as a notebook's kernel has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tilelang.notebook import load_ipython_extension


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance()
    load_ipython_extension(made)
    yield made
    InteractiveShell.clear_instance()
