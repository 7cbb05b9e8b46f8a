"""One kernel as a function on arrays: binding, compiling once for each combination of metas, launching.

The way of a call:

    is it like an earlier call? then only see that the arrays lie apart (`shortcuts`), else
    arguments -> which parameter, which array           (`calls`, `arguments`)
    element types, shapes, settings -> Binding          (`tilelang.semantics.specialize`)
    metas left open -> those found by tuning, if any    (`tuning`)
    outputs allocated, overlaps refused                 (`arguments`)
    metas, device -> Executable                         looked up; compiled when they are new
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilelang.diagnostics import CompileError, InternalError, Sink
from tilelang.driver import GPU, MIDDLE, Compilation, run
from tilelang.dtypes import DTYPES, DType
from tilelang.ir.host_types import dtype_of
from tilelang.runtime.arguments import Argument, allocate, as_number, check_places, convert
from tilelang.runtime.arrays import DeviceArray, HostArray, Refused
from tilelang.runtime.calls import Call, Setting, complain, given_names, sort_out
from tilelang.runtime.devices import Device, find_device, find_target
from tilelang.runtime.executables import Executable
from tilelang.runtime.facts import Facts, launch_facts
from tilelang.runtime.launch import Launch, Plan
from tilelang.runtime.shortcuts import SHORTCUTS, Shortcut, likeness, remember
from tilelang.runtime.tuning.store import Answer, Question
from tilelang.runtime.tuning.subject import Memory
from tilelang.semantics.bind_errors import check_scalar
from tilelang.semantics.binding import ArgFact, Binding, ScalarFact, TensorFact
from tilelang.semantics.constants import Value
from tilelang.semantics.mistakes import Mistake
from tilelang.semantics.signature import Signature, signature
from tilelang.semantics.specialize import Binder
from tilelang.syntax import ast
from tilelang.tiling.targets import Target

if TYPE_CHECKING:
    from tilelang.runtime.tuning.result import TuningResult

Key = tuple[object, ...]


@dataclass(frozen=True)
class Compiled:
    """A kernel compiled for one device and one combination of metas."""

    compilation: Compilation
    execute: Executable


class KernelHandle:
    """A kernel of a program; calling it runs it. `signature` says what it takes, `show()` in one line."""

    def __init__(self, front: Compilation, kernel: ast.KernelDef):
        if front.names is None:
            raise InternalError("runtime", "a kernel was asked for before its program's names were looked up")
        self.name = kernel.name.text
        self.front = front
        self.signature: Signature = signature(front.names, kernel)
        self.memory = Memory(front, self.signature)
        self._binder = self._make_binder(front, kernel)
        self._param_names = frozenset(p.name for p in self.signature.params)
        self._shortcuts: dict[Key, Shortcut] = {}
        self._middles: dict[Key, Compilation] = {}
        self._compiled: dict[Key, Compiled] = {}

    def _make_binder(self, front: Compilation, kernel: ast.KernelDef) -> Binder:
        try:
            return Binder(self.signature.names, kernel, self.signature)
        except Mistake as wrong:
            raise CompileError(list(wrong.diagnostics), front.source) from None

    # ------------------------------------------------------------------------------ running

    def __call__(self, /, *args: object, device: str = "auto", tuned: bool = True, **keywords: object) -> object:
        """Run the kernel.

        Args:
            args: arrays and numbers for all parameters in order, or for all but the `out` tensors.
            device: `auto`, `cpu`, `reference`, `simulator`, `model` or `cuda:N`.
            tuned: take metas that are not given as `tune` found them for such a call, if it did.
            keywords: parameters, metas (numbers, bools, element types) and dims by name.

        Returns:
            The `out` and `inout` arrays in the order of the signature: one as it is, several as a tuple, None if
            there are none. Arrays that were passed are returned as they were passed.

        Raises:
            CompileError: the program or an argument is wrong, or an `assert` of the kernel failed.
        """
        launch = self.prepare(*args, device=device, tuned=tuned, **keywords)
        launch.run()
        return launch.result

    def prepare(self, /, *args: object, device: str = "auto", tuned: bool = True, **keywords: object) -> Launch:
        """Check and bind the arguments and compile, but do not run yet; see `Launch`."""
        like = likeness(self._param_names, device, tuned, args, keywords)
        shortcut = self._shortcuts.get(like) if like is not None else None
        if shortcut is not None:
            launch = self._by_shortcut(shortcut, (*args, *keywords.values()))
            if launch is not None:
                return launch
        return self._by_all_checks(like, args, device, tuned, keywords)

    def _by_shortcut(self, shortcut: Shortcut, values: tuple) -> Launch | None:
        """The launch of a call that is like an earlier one; None if it may not be launched."""
        for i, j in shortcut.pairs:
            if np.may_share_memory(values[i], values[j]):
                return None
        plan = shortcut.plan
        arguments: dict = dict(zip(shortcut.names, values, strict=True))
        arguments.pop(None, None)
        if plan.numbers and not self._check_numbers(plan, arguments):
            return None
        try:
            for name, shape, dtype in shortcut.left_out:
                arguments[name] = np.zeros(shape, dtype)
        except MemoryError:
            return None  # the long way says so
        return Launch(plan, arguments, {name: arguments[name] for name in shortcut.outputs})

    def _by_all_checks(
        self, like: Key | None, args: Sequence[object], device: str, tuned: object, keywords: Mapping[str, object]
    ) -> Launch:
        sink = Sink()
        if not isinstance(tuned, bool):
            help = "give a parameter of this name by its position"
            complain(self.signature, sink, "E0504", "the option `tuned` is True or False", help=help)
        call = sort_out(self.signature, args, keywords, sink)
        self.stop_if(sink)
        arguments = convert(self.signature, call.values, sink)
        self.stop_if(sink)
        place = self.find_device(device, arguments)
        binding = self.bind(arguments, call.metas, call.dims)
        found = self.memory.find(place, binding, arguments, call.metas) if tuned else None
        if found is not None:
            binding, found = self._with_tuned(found, binding, arguments, call)
        plan, left_out = self._plan(place, arguments, binding, found)
        if like is not None:
            given = [
                *given_names(self.signature, len(args)),
                *(n if n in self._param_names else None for n in keywords),
            ]
            self._note_shortcut(like, remember(self.signature, plan, given, left_out))
        arguments.update(left_out)
        outputs = {p.name: call.values.get(p.name, arguments[p.name]) for p in self.signature.params if p.mode != "in"}
        return Launch(plan, arguments, outputs)

    def _with_tuned(
        self, found: Answer, binding: Binding, arguments: Mapping[str, Argument], call: Call
    ) -> tuple[Binding, Answer | None]:
        try:
            return self.bind(arguments, {**call.metas, **found.metas}, call.dims), found
        except CompileError:
            return binding, None  # no values of this kernel's metas: somebody has changed the file

    def _note_shortcut(self, like: Key, shortcut: Shortcut) -> None:
        if len(self._shortcuts) >= SHORTCUTS:
            self._shortcuts.clear()
        self._shortcuts[like] = shortcut

    def launch_on(
        self, place: Device, arguments: Mapping[str, Argument], metas: Mapping[str, Setting], dims: Mapping[str, int]
    ) -> Launch:
        """A launch on a device with exactly these metas, from arguments that are arrays and numbers already."""
        plan, left_out = self._plan(place, arguments, self.bind(arguments, metas, dims), None)
        outputs = {**arguments, **left_out}
        names = [p.name for p in self.signature.params if p.mode != "in"]
        return Launch(plan, {**arguments, **left_out}, {name: outputs[name] for name in names})

    def _plan(
        self, place: Device, arguments: Mapping[str, Argument], binding: Binding, tuned: Answer | None
    ) -> tuple[Plan, dict[str, HostArray]]:
        """The plan of a launch, and the outputs that were left out."""
        sink = Sink()
        left_out = allocate(self.signature, binding, arguments, sink)
        self.stop_if(sink)
        complete = {**arguments, **left_out}
        check_places(self.signature, complete, place, sink)
        self.stop_if(sink)
        compiled = self._compile(place, binding, complete)
        plan = Plan(place, binding, compiled.compilation, compiled.execute, self._numbers(binding), tuned)
        return plan, left_out

    def find_device(self, name: str, arguments: Mapping[str, Argument]) -> Device:
        """The device called `name`; `auto` looks where the arguments are. Raises CompileError (E0520, E0521)."""
        gpus = [a.device for a in arguments.values() if isinstance(a, DeviceArray)]
        try:
            return find_device(name, gpus)
        except CompileError as error:
            note = f"the signature is {self.show()}"
            span = self.signature.kernel.name.span
            found = [replace(d, span=span, notes=(*d.notes, note)) for d in error.diagnostics]
            raise CompileError(found, self.front.source) from None

    def bind(
        self, arguments: Mapping[str, Argument], metas: Mapping[str, Setting], dims: Mapping[str, int]
    ) -> Binding:
        """Every dim and meta for these arguments. Raises CompileError."""
        return self._bind({name: _fact(a) for name, a in arguments.items()}, metas, dims)

    def _bind(self, facts: Mapping[str, ArgFact], metas: Mapping[str, Setting], dims: Mapping[str, int]) -> Binding:
        sink = Sink()
        binding = self._binder.bind(facts, metas, sink, dims)
        self.stop_if(sink)
        if binding is None:
            raise InternalError("binding", f"{self.name} was not bound, and no reason was given")
        return binding

    def _numbers(self, binding: Binding) -> tuple[tuple[str, DType], ...]:
        """The scalar parameters with their element types."""
        types = {p.name: DTYPES.get(p.dtype) or binding.metas[p.dtype] for p in self.signature.params if p.dims is None}
        return tuple((name, dtype) for name, dtype in types.items() if isinstance(dtype, DType))

    def _check_numbers(self, plan: Plan, arguments: Mapping[str, Argument]) -> bool:
        """What binding checks of numbers; the rest of the plan does not depend on them. False: ask the long way."""
        for name, dtype in plan.numbers:
            try:
                number = as_number(arguments[name])
                check_scalar(self.signature, self.signature.param(name), number, dtype)
            except Refused:
                return False
            except Mistake as wrong:
                raise CompileError(list(wrong.diagnostics), self.front.source) from None
        return True

    # ------------------------------------------------------------------------------ compiling

    def compile(
        self, /, *args: object, device: str = "auto", target: str | Target | None = None, **keywords: object
    ) -> Compilation:
        """All stages for these arguments, to look at; nothing is run.

        Arguments are as in a call, or `TensorFact(dtype, shape)` and `ScalarFact(value)` in their place. With
        `target` ("sm_90") the stages are those of a GPU that need not be there.
        """
        sink = Sink()
        call = sort_out(self.signature, args, keywords, sink)
        self.stop_if(sink)
        given = {name: value for name, value in call.values.items() if isinstance(value, (TensorFact, ScalarFact))}
        rest = {name: value for name, value in call.values.items() if name not in given}
        arguments = convert(self.signature, rest, sink)
        self.stop_if(sink)
        binding = self._bind({**given, **{n: _fact(a) for n, a in arguments.items()}}, call.metas, call.dims)
        if target is None:
            return self._compile(self.find_device(device, arguments), binding, arguments).compilation
        chosen = find_target(target)
        facts = _facts(chosen, binding, arguments)
        return run(replace(self._middle(binding), target=chosen, facts=facts), GPU)

    def _compile(self, device: Device, binding: Binding, arguments: Mapping[str, Argument]) -> Compiled:
        facts = _facts(device.target, binding, arguments)
        key = (device.name, facts, *_exact(binding.metas))
        compiled = self._compiled.get(key)
        if compiled is None:
            compilation = run(replace(self._middle(binding), target=device.target, facts=facts), device.stages)
            compiled = self._compiled[key] = Compiled(compilation, device.load(compilation))
        return compiled

    def _middle(self, binding: Binding) -> Compilation:
        """Up to the optimised tile IR, which all devices share. It depends on the metas alone, not on dims."""
        key = _exact(binding.metas)
        middle = self._middles.get(key)
        if middle is None:
            middle = self._middles[key] = run(replace(self.front, binding=binding), MIDDLE)
        return replace(middle, binding=binding)

    # ------------------------------------------------------------------------------ tuning

    def tune(
        self,
        /,
        *args: object,
        device: str = "auto",
        by: str = "auto",
        gpu: str | None = None,
        limit: int = 512,
        seconds: float = 60.0,
        keep: bool = True,
        watch: Callable[[str, int, int], None] | None = None,
        **keywords: object,
    ) -> TuningResult:
        """Find the fastest values of the metas for these arguments; later calls like this one then use them.

        No argument is changed: what the kernel writes goes to arrays of the tuner's own.

        Args:
            args, keywords: as in a call. `BM=64` leaves one value to try, `BM=(64, 128)` two.
            device: `auto`, `cpu` or `cuda:N`, where launches are timed.
            by: `measurement`; or `model`, which estimates with the machine model and needs no GPU; `auto` takes the
                model if `gpu` is given, or if the device asked for is a GPU that is not there.
            gpu: the data sheet for the model: t4, a100 (if none is given), rtx3090, rtx4090, h100 or h200.
            limit: how many configurations to try at most.
            seconds: how long to measure at most; compiling is not counted.
            keep: False only looks: the result is not used by later calls.
            watch: called with what is being done, how much of it is done, and of how much; `print` shows that.

        Raises:
            CompileError: the arguments are wrong; E0530, there are too many configurations; E0531, all failed;
                E0532, there is nothing to tune; E0533, the device is not one that is measured.
            KeyboardInterrupt: Ctrl-C; its attribute `result` has what was found so far, and nothing is kept.
        """
        from tilelang.runtime.tuning.job import Options
        from tilelang.runtime.tuning.tune import tune

        options = Options(device, by, gpu, limit, seconds, keep, watch or (lambda doing, done, total: None))
        return tune(self, args, keywords, options)

    def remember(self, question: Question, answer: Answer) -> None:
        """Use a tuning result from now on."""
        self.memory.remember(question, answer)
        self._shortcuts.clear()

    # ------------------------------------------------------------------------------ showing

    def show(self) -> str:
        """The signature in one line: `kernel scale[BLOCK: {64, 128}](x: f32[N], s: f32, out y: f32[N]) grid (...)`."""
        return self.signature.show()

    def __repr__(self) -> str:
        return f"<tile {self.show()}>"

    def stop_if(self, sink: Sink) -> None:
        if sink.failed:
            raise CompileError(sink.diagnostics, self.front.source)


def _facts(target: Target | None, binding: Binding, arguments: Mapping[str, Argument]) -> Facts:
    """What code for this target may rely on."""
    return launch_facts(binding, arguments) if target is not None and target.vector_bytes else ()


def _fact(argument: Argument) -> ArgFact:
    if isinstance(argument, np.ndarray):
        return TensorFact(dtype_of(argument), argument.shape)
    if isinstance(argument, DeviceArray):
        return TensorFact(argument.dtype, argument.shape)
    return ScalarFact(argument)


def _exact(metas: Mapping[str, Value]) -> tuple[object, ...]:
    """Metas as a key. The type belongs to it: True, 1 and 1.0 are equal in Python and not in the language."""
    return tuple((name, type(value), value) for name, value in sorted(metas.items()))
