"""Facts of a launch: what arrays and dims are like, as far as better code can be made of it.

`tilelang.memory.axis` lists them and says what they mean. They become part of what a kernel is compiled for: another
array with the same facts runs the same code. So they are few and coarse, and whether all hold is quickly seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING

from tilelang.semantics.binding import Binding

if TYPE_CHECKING:
    from tilelang.runtime.arrays import Argument

Facts = tuple[tuple[str, int], ...]
"""Attributes of a kernel, sorted by name."""

DIVISOR = 16
"""What dims and strides are multiples of, or not; and addresses in bytes."""
SMALL = 1 << 31


def launch_facts(binding: Binding, arguments: Mapping[str, Argument]) -> Facts:
    """What is true of this launch. A tensor without an argument is taken to be contiguous, from an aligned address."""
    found: dict[str, int] = {
        f"fact.{dim}.div": DIVISOR for dim, extent in binding.dims.items() if extent % DIVISOR == 0}
    small = all(extent < SMALL for extent in binding.dims.values())
    for name, shape in binding.shapes.items():
        strides, aligned = _placed(arguments.get(name), shape)
        found.update(_of_strides(name, strides))
        if aligned:
            found[f"fact.{name}.aligned"] = DIVISOR
        if all(stride >= 0 for stride in strides):
            found[f"fact.{name}.forward"] = True
        small &= sum((n - 1) * abs(stride) for n, stride in zip(shape, strides, strict=True)) < SMALL
        small &= all(extent < SMALL for extent in shape)
    if small:
        found["fact.small"] = True
    return tuple(sorted(found.items()))


def _placed(argument: object, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """Strides in elements, and whether the first element's address on the GPU is aligned.

    A host array is copied to an aligned place from its lowest address on; that is its first element's, unless a stride
    is negative.
    """
    if argument is None:
        return tuple(prod(shape[axis + 1:]) for axis in range(len(shape))), True
    address = getattr(argument, "address", None)
    item = argument.itemsize if address is None else argument.dtype.bytes  # type: ignore[attr-defined]
    strides = tuple(stride // item for stride in argument.strides)  # type: ignore[attr-defined]
    if address is None:
        return strides, all(stride >= 0 for stride in strides)
    return strides, address % DIVISOR == 0


def _of_strides(name: str, strides: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    for axis, stride in enumerate(strides):
        if stride == 1:
            yield f"fact.{name}.stride{axis}", 1
        elif stride % DIVISOR == 0:
            yield f"fact.{name}.stride{axis}.div", DIVISOR
