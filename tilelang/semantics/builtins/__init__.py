"""The built-in functions: one table for the checker, near-miss names and the reference manual."""

from __future__ import annotations

from tilelang.semantics.builtins import (
    effects,
    elementwise,
    memory,
    products,
    programs,
    random,
    reductions,
    shapes,
)
from tilelang.semantics.builtins.declare import Builtin

BUILTINS: dict[str, Builtin] = {
    builtin.name: builtin
    for module in (programs, shapes, reductions, products, elementwise, random, memory, effects)
    for builtin in module.TABLE
}
"""By name, grouped as in the reference."""
