"""Tuning one kernel for one launch: every configuration is compiled and tried, and the fastest is kept.

    result = program.tune("matmul", a, b)
    result.best                                 {'BM': 128, 'BN': 64, ...}
    program["matmul"](a, b)                     from now on with these, also in later processes

The steps: which configurations there are (`space`); compiling each, one first run, and comparing what it wrote with
what the first configuration wrote; then the `race` (both in `job`). What fails is set aside with the reason. By the
machine model there is no race: one estimate for each.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence

from tilelang.diagnostics import CompileError, Sink
from tilelang.runtime.arguments import Argument, convert
from tilelang.runtime.calls import Call, complain, sort_out
from tilelang.runtime.kernel import KernelHandle
from tilelang.runtime.tuning.clocks import computer_clock, find_gpu, gpu_clock, model_clock, model_device
from tilelang.runtime.tuning.job import Job, Options, Site
from tilelang.runtime.tuning.result import ESTIMATED, MEASURED, TuningResult
from tilelang.runtime.tuning.space import (
    Choices,
    Config,
    check_size,
    choices_of,
    configurations,
    listed_values,
    tunable_value,
)
from tilelang.runtime.tuning.subject import device_key, estimate_key
from tilelang.semantics.binding import Binding
from tilelang.semantics.mistakes import Mistake

GPU_NAME = re.compile(r"cuda\b")
DEFAULT_GPU = "a100"


class TuningInterrupted(KeyboardInterrupt):
    """Ctrl-C while tuning. `result` is what is known so far, None if nothing is; nothing was kept on disk."""

    def __init__(self, result: TuningResult | None):
        self.result = result
        best = " ".join(f"{n}={v}" for n, v in result.best.items()) if result is not None else "nothing was measured"
        super().__init__(f"tuning was interrupted; the best so far: {best}")


def tune(handle: KernelHandle, args: Sequence[object], keywords: Mapping[str, object],
         options: Options) -> TuningResult:
    """Tune a kernel for these arguments, see `KernelHandle.tune`."""
    job = _prepared(handle, args, keywords, options)
    try:
        job.try_all()
        job.run_race()
    except KeyboardInterrupt:
        raise TuningInterrupted(job.result() if any(t.valid for t in job.trials) else None) from None
    if not any(trial.valid for trial in job.trials):
        raise job.all_failed()
    return job.kept()


# ------------------------------------------------------------------------------------ before anything runs


def _prepared(handle: KernelHandle, args: Sequence[object], keywords: Mapping[str, object], options: Options) -> Job:
    sink = Sink()
    listed, rest = listed_values(handle.signature, keywords, sink)
    call = sort_out(handle.signature, args, rest, sink)
    handle.stop_if(sink)
    arguments = convert(handle.signature, call.values, sink)
    handle.stop_if(sink)
    site = _site(handle, arguments, options)
    try:
        choices = choices_of(handle.front, handle.signature, call.metas, listed, site.device.target is not None)
    except Mistake as wrong:
        raise CompileError(list(wrong.diagnostics), handle.front.source) from None
    check_size(handle.signature, choices, options.limit, sink)
    handle.stop_if(sink)
    binding, default = _bound(handle, arguments, call, choices)
    return Job(handle, options, site, call, arguments, choices, binding, default)


def _site(handle: KernelHandle, arguments: Mapping[str, Argument], options: Options) -> Site:
    if options.by not in ("auto", MEASURED, ESTIMATED):
        title = f"tuning is by measurement or by model, not by `{options.by}`"
        raise _refused(handle, "E0533", title, "leave `by` out")
    if options.by == ESTIMATED or (options.by == "auto" and options.gpu is not None):
        return _model_of(options)
    try:
        device = handle.find_device(options.device, arguments)
    except CompileError as missing:
        if options.by == "auto" and missing.diagnostics[0].code == "E0521" and GPU_NAME.match(options.device):
            return _model_of(options, f"there is no {options.device} here, so this is about another GPU")
        raise
    key = device_key(device)
    if not key:
        title = f"the device `{device}` is not made to be fast, so nothing is measured on it"
        raise _refused(handle, "E0533", title, "tune for `cpu` or a GPU; or estimate with the machine model: by model")
    return Site(device, key, key, options.clock or (gpu_clock if device.gpu is not None else computer_clock))


def _model_of(options: Options, note: str = "") -> Site:
    gpu = find_gpu(options.gpu or DEFAULT_GPU)
    clock = options.clock or model_clock(gpu)
    return Site(model_device(gpu), estimate_key(gpu.target), gpu.title, clock, ESTIMATED, note)


def _refused(handle: KernelHandle, code: str, title: str, help: str) -> CompileError:
    sink = Sink()
    complain(handle.signature, sink, code, title, help=help)
    return CompileError(sink.diagnostics, handle.front.source)


def _bound(handle: KernelHandle, arguments: Mapping[str, Argument], call: Call,
           choices: Choices) -> tuple[Binding, Config]:
    """(dims and metas of the launch, the default configuration)

    Extents may depend on metas (`x: f32[BM]`), so that an array may fit some configurations only, and not the default
    one. If it fits none the arguments are wrong, and the default configuration's message is as good as any.
    """
    try:
        binding = handle.bind(arguments, call.metas, call.dims)
        return binding, {name: tunable_value(binding.metas[name]) for name in choices.values}
    except CompileError:
        for config in configurations(choices.values, {}):
            with contextlib.suppress(CompileError):
                return handle.bind(arguments, {**call.metas, **config}, call.dims), {}
        raise
