"""The combinations of metas that tuning tries.

Tuned are the metas with several numbers to choose from. An element type is given by the arguments, and a bool says
*what* is computed (`CAUSAL: {false, true}`), not how: these stay as they are. `matmul(a, b, BM=64)` leaves one value
of BM, `BM=(64, 128)` two; a meta without choices (`BLOCK = next_pow2(N)`) is tuned over the values that are listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeGuard

from tilelang.diagnostics import InternalError, Sink
from tilelang.driver import Compilation
from tilelang.runtime.arrays import describe
from tilelang.runtime.calls import Setting, as_setting, complain
from tilelang.runtime.tuning.store import Tunable
from tilelang.semantics.bind_errors import parse_meta
from tilelang.semantics.mistakes import Mistake
from tilelang.semantics.signature import Signature
from tilelang.semantics.spaces import COMPILER_METAS, MAX_COMBINATIONS, Space, show
from tilelang.syntax import ast

Config = Mapping[str, Tunable]
"""A value for each tuned meta."""

LIMIT = 512
"""Configurations that are tried at most, if the caller does not say otherwise."""


@dataclass(frozen=True)
class Choices:
    """What each tuned meta may be, in the order of the header. `idle`: metas that change nothing on this device."""

    values: Mapping[str, tuple[Tunable, ...]]
    idle: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return prod(len(values) for values in self.values.values())


def is_tunable(space: Space) -> bool:
    """Does this meta have numbers to choose from?"""
    return bool(space.choices) and all(_is_number(choice) for choice in space.choices)


def _is_number(value: object) -> TypeGuard[Tunable]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def tunable_value(value: object) -> Tunable:
    """`value`, which is one: that of a tuned meta always is."""
    if not _is_number(value):
        raise InternalError("tuning", f"a tuned meta has the value {value!r}")
    return value


def configurations(choices: Mapping[str, Sequence[Tunable]], first: Config) -> list[dict[str, Tunable]]:
    """Every combination once: `first` if it is one of them, then the others, the last meta changing fastest."""
    found = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    return [config for config in found if config == first] + [config for config in found if config != first]


# ------------------------------------------------------------------------------------ what the caller asks for


def listed_values(
    signature: Signature, keywords: Mapping[str, object], sink: Sink
) -> tuple[dict[str, tuple[Tunable, ...]], dict[str, object]]:
    """(the metas given as a list of values, the other keywords). Reports empty lists and values that cannot be."""
    listed: dict[str, tuple[Tunable, ...]] = {}
    rest = dict(keywords)
    for space in signature.spaces:
        given = rest.get(space.name)
        if isinstance(given, (list, tuple, range)) and (is_tunable(space) or not space.choices):
            listed[space.name] = _values(signature, space, rest.pop(space.name), sink)  # type: ignore[arg-type]
    return listed, rest


def _values(signature: Signature, space: Space, given: Sequence[object], sink: Sink) -> tuple[Tunable, ...]:
    help = f"list some numbers: `{space.name}=(64, 128)`"
    if not given:
        title = f"there is no value for the meta `{space.name}` to try"
        complain(signature, sink, "E0504", title, space.span, help=help)
    if len(given) > MAX_COMBINATIONS:  # a range may have more than can be looked at
        title = f"`{space.name}` is to be tuned over {len(given):,} values, more than {MAX_COMBINATIONS:,}"
        complain(signature, sink, "E0530", title, space.span, help="list fewer")
        return ()
    values: dict[Tunable, None] = {}
    for item in given:
        setting = as_setting(item)
        if not _is_number(setting):
            title = f"the meta `{space.name}` cannot be tuned over {describe(item)}"
            complain(signature, sink, "E0504", title, space.span, help=help)
            break
        try:
            values[tunable_value(parse_meta(signature, space, setting))] = None
        except Mistake as wrong:
            for diagnostic in wrong.diagnostics:
                sink.report(diagnostic)
    return tuple(values)


def choices_of(
    front: Compilation,
    signature: Signature,
    given: Mapping[str, Setting],
    listed: Mapping[str, tuple[Tunable, ...]],
    reads_compiler_metas: bool,
) -> Choices:
    """What is to be tuned. `given` are metas with one value, `listed` those with several.

    A meta that no word of the kernel mentions, and that the compiler does not read for this device, makes no
    difference: only its first choice is tried.
    """
    values: dict[str, tuple[Tunable, ...]] = {}
    idle = []
    mentioned = _mentioned(front, signature.kernel)
    for space in signature.spaces:
        if space.name in listed:
            values[space.name] = listed[space.name]
        elif is_tunable(space):
            values[space.name] = _choices(signature, space, given)
        else:
            continue
        used = space.name in mentioned or (reads_compiler_metas and space.name in COMPILER_METAS)
        if not used and len(values[space.name]) > 1:
            default = space.fixed if space.fixed in values[space.name] else values[space.name][0]
            values[space.name] = (tunable_value(default),)
            idle.append(space.name)
    return Choices(values, tuple(idle))


def _choices(signature: Signature, space: Space, given: Mapping[str, Setting]) -> tuple[Tunable, ...]:
    chosen = (parse_meta(signature, space, given[space.name]),) if space.name in given else space.choices
    return tuple(map(tunable_value, chosen))


def _mentioned(front: Compilation, kernel: ast.KernelDef) -> set[str]:
    """The names that stand in a kernel's text in more than one place: metas among them are used, not only declared."""
    names = [t.text for t in front.tokens or () if t.kind == "name"
             and kernel.span.start <= t.span.start < kernel.span.end]
    once: set[str] = set()
    again: set[str] = set()
    for name in names:
        (again if name in once else once).add(name)
    return again


def check_size(signature: Signature, choices: Choices, limit: int, sink: Sink) -> None:
    """Report a kernel with nothing to tune (E0532), and more configurations than are to be tried (E0530)."""
    if not choices.values:
        complain(signature, sink, "E0532", f"`{signature.name}` has no metas to tune",
                 notes=("tuned are metas with several numbers to choose from, such as `BM: {64, 128}`",),
                 help=_suggestion(signature))
    elif choices.count > limit:
        listed = ", ".join(f"{name} {len(values)}" for name, values in choices.values.items() if len(values) > 1)
        complain(signature, sink, "E0530",
                 f"the metas of `{signature.name}` have {choices.count:,} combinations, more than {limit:,}",
                 notes=(f"values of each: {listed}",),
                 help=_narrower(choices) + ", or allow more with `limit`")


def _suggestion(signature: Signature) -> str:
    free = [space.name for space in signature.spaces if not space.choices]
    if free:
        name = free[0]
        return f"say which values of `{name}` to try: `{name}=(64, 128)`, on the command line --set {name}=64,128"
    return "give a meta choices in the kernel's header"


def _narrower(choices: Choices) -> str:
    widest = max(choices.values, key=lambda name: len(choices.values[name]))
    values = choices.values[widest][:2]
    if len(values) < 2:
        return "give some of the metas a value"
    shown = ", ".join(map(show, values))
    return f"try fewer values: `{widest}=({shown})`, on the command line --set {widest}={shown.replace(' ', '')}"
