"""What a tuning result is about: the kernel's text, the launch, the device. Equal subjects share their results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tilelang.driver import Compilation
from tilelang.dtypes import DType
from tilelang.runtime.arguments import Argument
from tilelang.runtime.arrays import DeviceArray
from tilelang.runtime.cache import key_of
from tilelang.runtime.calls import Setting
from tilelang.runtime.devices import Device, gpu_name
from tilelang.runtime.tuning import store
from tilelang.runtime.tuning.space import is_tunable
from tilelang.runtime.tuning.store import Answer, Pairs, Question
from tilelang.semantics.binding import Binding
from tilelang.semantics.signature import Signature
from tilelang.syntax import ast


def code_of(front: Compilation, kernel: ast.KernelDef) -> str:
    """A hash of the kernel's words and of those of the fns and consts that it needs; comments and layout do not count.

    Needed is every fn and const whose name the words mention: now and then one too many, never one too few.
    """
    items = {item.name.text: item for item in (front.module.items if front.module is not None else ())}
    needed, todo = {kernel.name.text}, [kernel.name.text]
    while todo:
        for kind, text in _words(front, items[todo.pop()]):
            if kind == "name" and text not in needed and isinstance(items.get(text), (ast.FnDef, ast.ConstDef)):
                needed.add(text)
                todo.append(text)
    words = [word for name in sorted(needed) for word in _words(front, items[name])]
    return key_of(*(text for _, text in words))


def _words(front: Compilation, item: ast.ConstDef | ast.FnDef | ast.KernelDef) -> list[tuple[str, str]]:
    return [(t.kind, t.text) for t in front.tokens or () if item.span.start <= t.span.start < item.span.end]


def device_key(device: Device) -> str:
    """The device by what decides its speed; empty for those whose speed nobody asks for."""
    if device.gpu is not None:
        return gpu_name(device.gpu) or device.name
    if device.name != "cpu":
        return ""
    import numba
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()}, {numba.get_num_threads()} threads"


def estimate_key(target: str) -> str:
    """The device of an estimate: any GPU of this kind."""
    return f"{target} (estimate)"


def question(
    signature: Signature,
    code: str,
    device: str,
    binding: Binding,
    arguments: Mapping[str, Argument],
    given: Mapping[str, Setting],
) -> Question:
    """What to look a result up by. `binding` is that of the launch without tuned metas; `given`: metas that are set."""
    dims = {name: binding.dims[name] for name in signature.dims}
    return Question(signature.name, code, device, _pairs({n: d.name for n, d in binding.dtypes.items()}), _pairs(dims),
                    _pairs({name: _unit_axis(arguments.get(name), shape) for name, shape in binding.shapes.items()}),
                    _pairs(_switches(signature, binding, given)))


def _pairs(found: Mapping[str, object]) -> Pairs:
    return tuple(sorted(found.items()))


def _switches(signature: Signature, binding: Binding, given: Mapping[str, Setting]) -> dict[str, object]:
    """Metas that say what is computed; of those without choices only the ones that are given, the rest follows."""
    found: dict[str, object] = {}
    for space in signature.spaces:
        if not is_tunable(space) and (space.choices or space.name in given):
            value = binding.metas[space.name]
            found[space.name] = value.name if isinstance(value, DType) else value
    return found


def _unit_axis(argument: Argument | None, shape: tuple[int, ...]) -> int:
    """The axis whose elements are neighbours in memory, the last of them; -1 if none is. A new array is contiguous."""
    if isinstance(argument, np.ndarray):
        size = argument.itemsize
    elif isinstance(argument, DeviceArray):
        size = argument.dtype.bytes
    else:
        return len(shape) - 1
    units = [axis for axis, (extent, stride) in enumerate(zip(shape, argument.strides, strict=True))
             if abs(stride) == size or extent < 2]
    return units[-1] if units else -1


class Memory:
    """The tuning results of one kernel: those of this process, and those on disk."""

    def __init__(self, front: Compilation, signature: Signature):
        self._front = front
        self._signature = signature
        self._tunable = frozenset(space.name for space in signature.spaces if is_tunable(space))
        self._found: dict[Question, Answer] = {}
        self._code = ""

    def question(self, device: str, binding: Binding, arguments: Mapping[str, Argument],
                 given: Mapping[str, Setting]) -> Question:
        """See `question`."""
        self._code = self._code or code_of(self._front, self._signature.kernel)
        return question(self._signature, self._code, device, binding, arguments, given)

    def remember(self, asked: Question, answer: Answer) -> None:
        """Use this from now on in this process, whether there is a cache or not."""
        self._found[asked] = answer

    def find(self, device: Device, binding: Binding, arguments: Mapping[str, Argument],
             given: Mapping[str, Setting]) -> Answer | None:
        """The result for a launch that leaves its tuned metas open; None if it sets one of them, or there is none.

        For a GPU a measured result comes before an estimate for its kind.
        """
        if not self._tunable.isdisjoint(given) or not (self._found or store.is_there()):
            return None
        key = device_key(device)
        keys = [key] if key else []
        if device.gpu is not None and device.target is not None:
            keys.append(estimate_key(device.target.name))
        for name in keys:
            asked = self.question(name, binding, arguments, given)
            answer = self._found.get(asked) or store.find(asked)
            if answer is not None and answer.metas.keys().isdisjoint(given):
                return answer
        return None
