"""One tuning under way: every configuration is tried once, then those that are left race.

The first configuration's outputs are what those of all others are compared with, so that a fast wrong one cannot win.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tilelang.diagnostics import CompileError, Diagnostic, InternalError
from tilelang.runtime.arguments import Argument
from tilelang.runtime.arrays import DeviceArray
from tilelang.runtime.calls import Call
from tilelang.runtime.devices import Device
from tilelang.runtime.kernel import KernelHandle
from tilelang.runtime.launch import Launch
from tilelang.runtime.tuning import store
from tilelang.runtime.tuning.agreement import disagreement
from tilelang.runtime.tuning.arena import Arena
from tilelang.runtime.tuning.clocks import Clock
from tilelang.runtime.tuning.race import RunFailed, Runner, race
from tilelang.runtime.tuning.result import ESTIMATED, MEASURED, Trial, TuningResult
from tilelang.runtime.tuning.space import LIMIT, Choices, Config, configurations
from tilelang.semantics.binding import Binding
from tilelang.semantics.constants import Value

Watch = Callable[[str, int, int], None]
"""(what is being done, how much is done, of how much), for showing progress."""

SECONDS = 60.0


@dataclass(frozen=True)
class Options:
    """How to tune.

    `by`: "measurement", "model", or "auto": by the model if `gpu` is given, or if `device` is a GPU that is not there;
    else by measurement. `gpu`: the data sheet for the model.
    `limit`: configurations at most. `seconds`: when the race ends at the latest, compiling not counted. `keep`: write
    the result to disk. `clock`: in place of the device's own, for tests.
    """

    device: str = "auto"
    by: str = "auto"
    gpu: str | None = None
    limit: int = LIMIT
    seconds: float = SECONDS
    keep: bool = True
    watch: Watch = lambda doing, done, total: None
    clock: Clock | None = None


@dataclass(frozen=True)
class Site:
    """Where trials run: the device, its name in the store, how it is called for people, and how time is told there.

    `by`: MEASURED or ESTIMATED. `note`: what a reader of the result should know about it.
    """

    device: Device
    key: str
    title: str
    clock: Clock
    by: str = MEASURED
    note: str = ""


@dataclass
class Job:
    """One tuning under way. `trials` grow by one for each configuration, and get their times in the race.

    `binding` is that of a launch without tuned metas, `default` the configuration that such a launch has.
    """

    handle: KernelHandle
    options: Options
    site: Site
    call: Call
    arguments: Mapping[str, Argument]
    choices: Choices
    binding: Binding
    default: Config
    trials: list[Trial] = field(default_factory=list)
    runners: list[Runner] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.configs = configurations(self.choices.values, self.default)
        self.has_default = self.configs[0] == self.default
        self.arena = Arena(self.handle.signature, self.arguments, self.binding)
        self.launches: dict[int, Launch] = {}
        self.seen: dict[tuple[object, ...], int] = {}
        self.reference: dict[str, np.ndarray] | None = None
        self.errors: list[CompileError] = []

    # --- compiling, and one run of each

    def try_all(self) -> None:
        """Compile and run every configuration once; those that fail or do something else are set aside."""
        for number, config in enumerate(self.configs):
            self.options.watch("compiling", number, len(self.configs))
            try:
                self.trials.append(self._try(number, config))
            except CompileError as error:
                self.errors.append(error)
                first = error.diagnostics[0]
                self.trials.append(Trial(number, config, failed=f"{first.code}: {first.title}"))
            except InternalError as bug:
                self.trials.append(Trial(number, config, failed=f"a bug in the compiler: {bug}".split("\n")[0]))
            except MemoryError:
                self.trials.append(Trial(number, config, failed="there is not enough memory for it"))
        self.options.watch("compiling", len(self.configs), len(self.configs))

    def _try(self, number: int, config: Config) -> Trial:
        metas = {**self.call.metas, **config}
        launch = self.handle.launch_on(self.site.device, self.arena.arguments, metas, self.call.dims)
        twin = self.seen.setdefault((_code(launch), launch.grid, tuple(launch.dims.items())), number)
        if twin != number:
            return replace(self.trials[twin], number=number, metas=config, twin=twin)
        self.arena.reset()
        run = self.site.clock(launch)
        if reason := self._differs(launch, run.complete):
            return Trial(number, config, failed=reason)
        self.launches[number] = launch
        if self.site.by == ESTIMATED:
            return Trial(number, config, run.seconds, 1)
        return Trial(number, config, self._again(launch), 1)

    def _again(self, launch: Launch) -> float:
        """Seconds of one more run; the first one was for compiling, and to warm up."""
        self.arena.reset()
        return self.site.clock(launch).seconds

    def _differs(self, launch: Launch, complete: bool) -> str:
        """Where the outputs of the last run are not as the first configuration's, in words.

        `complete`: all programs were run. If the first configuration's were not, nothing can be compared.
        """
        if self.reference is None:
            self.reference = self.arena.snapshot() if complete else {}
            if not complete:
                self.notes.append("results were not compared: only a sample of the programs was run")
            elif self.site.by == MEASURED:
                self._again(launch)
                self._leave_out_unsteady()
            return ""
        found = disagreement(self._comparable(self.arena.outputs()), self.reference) if complete else ""
        return f"its result is not that of the first configuration: {found}" if found else ""

    def _leave_out_unsteady(self) -> None:
        """An output that differs between two runs of one configuration cannot be compared."""
        again, wanted = self.arena.outputs(), self.reference or {}
        unsteady = [name for name in wanted if disagreement({name: again[name]}, wanted)]
        if unsteady:
            self.notes.append(f"not compared, since it differs from run to run: {', '.join(unsteady)}")
            self.reference = {name: array for name, array in wanted.items() if name not in unsteady}

    def _comparable(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: array for name, array in outputs.items() if name in (self.reference or {})}

    # --- measuring

    def run_race(self) -> None:
        """Measure those that are left, against each other; the winner's result is compared once more."""
        if self.site.by == ESTIMATED:
            return
        self.runners = [Runner(number, partial(self._again, launch), [self.trials[number].seconds or 0.0])
                        for number, launch in self.launches.items()]
        try:
            while self.runners and not self._raced():
                pass
        except KeyboardInterrupt:
            self._note_times(frozenset(r.number for r in self.runners))
            raise

    def _raced(self) -> bool:
        """Hold a race; false if its winner computes something else by now, and the others have to race again."""
        total = len(self.runners)
        try:
            staying = race(self.runners, self.options.seconds,
                           lambda number, left: self.options.watch("measuring", total - left, total))
        except RunFailed as failed:
            self._set_aside(failed.number, f"it failed, though not at first: {failed}")
            return False
        self.options.watch("measuring", total, total)
        self._note_times(frozenset(staying))
        best = self.result().winner
        if best is None or best.number not in self.launches:
            return True
        self._again(self.launches[best.number])
        reason = disagreement(self._comparable(self.arena.outputs()), self.reference or {})
        if reason:
            self._set_aside(best.number, f"its result differs from run to run: {reason}")
        return not reason

    def _note_times(self, staying: frozenset[int]) -> None:
        samples = {r.number: r for r in self.runners if r.samples}
        for place, trial in enumerate(self.trials):
            runner = samples.get(trial.number if trial.twin is None else trial.twin)
            if runner is not None and not trial.failed:
                self.trials[place] = replace(trial, seconds=runner.median, runs=len(runner.samples),
                                             left=runner.number not in staying)

    def _set_aside(self, number: int, reason: str) -> None:
        self.trials = [replace(t, failed=reason) if number in (t.number, t.twin) else t for t in self.trials]
        self.runners = [r for r in self.runners if r.number != number]

    # --- the outcome

    def result(self) -> TuningResult:
        settled: dict[str, Value] = {name: self.binding.dims[name] for name in self.handle.signature.dims}
        settled |= {name: value for name, value in self.binding.metas.items() if name not in self.choices.values}
        when = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        note = "; ".join(filter(None, (self.site.note, *self.notes)))
        return TuningResult(self.handle.name, self.site.title, self.site.by, tuple(self.trials), settled,
                            self.choices.idle, self._flops(), self._bytes(), when, note, has_default=self.has_default)

    def _flops(self) -> float:
        """Operations in matrix products; 0 if there are none, or not all can be counted."""
        from tilelang.machine.eager import eager

        launch = next(iter(self.launches.values()), None)
        if launch is None or launch.compilation.optimized is None:
            return 0.0
        counted = eager(launch.compilation.optimized, launch.arguments, launch.dims, launch.grid)
        return 0.0 if counted.guessed else float(sum(counted.dot_flops.values()))

    def _bytes(self) -> float:
        modes = {p.name: p.mode for p in self.handle.signature.params}
        return float(sum((2 if modes[name] == "inout" else 1) * _size(value)
                         for name, value in self.arena.arguments.items()))

    def all_failed(self) -> CompileError:
        """E0531, with the reasons; if they are one and the same, that error itself."""
        titles = {tuple(d.title for d in error.diagnostics) for error in self.errors}
        if len(self.errors) == len(self.trials) and len(titles) == 1:
            return self.errors[0]
        reasons = dict.fromkeys(f"{_shown(t.metas)}: {t.failed}" for t in self.trials if t.failed)
        title = f"all {len(self.trials)} configurations of `{self.handle.name}` failed"
        span = self.handle.signature.kernel.name.span
        return CompileError([Diagnostic("E0531", title, span, notes=tuple(reasons)[:5],
                                        help="run one of them to see its whole message")], self.handle.front.source)

    def kept(self) -> TuningResult:
        """The result, remembered for later launches."""
        result = self.result()
        best = result.winner
        if best is None or best.seconds is None or not self.options.keep:
            return result
        question = self.handle.memory.question(self.site.key, self.binding, self.arguments, self.call.metas)
        answer = store.Answer(result.best, best.seconds, result.default.seconds if result.has_default else None,
                              result.by, result.when, len(self.trials), self.handle.front.source.name)
        self.handle.remember(question, answer)
        file = store.keep(question, answer)
        note = result.note or ("" if file is not None else "not kept on disk: there is no cache to write to")
        return replace(result, kept=file, note=note)


def _code(launch: Launch) -> str:
    """What the device runs; two configurations with the same code are one."""
    c = launch.compilation
    generated = c.cuda if c.target is not None else c.cpu
    if generated is None:
        raise InternalError("tuning", "a kernel was to be tried that is not compiled")
    return generated


def _size(value: Argument) -> int:
    if isinstance(value, DeviceArray):
        return int(np.prod(value.shape, dtype=np.int64)) * value.dtype.bytes
    return value.nbytes if isinstance(value, np.ndarray) else 0


def _shown(metas: Config) -> str:
    return " ".join(f"{name}={value}" for name, value in metas.items())
