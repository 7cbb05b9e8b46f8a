"""One launch: bound arguments, ready to run, and what can be asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilelang.diagnostics import NOWHERE, CompileError, Diagnostic, Source
from tilelang.driver import Compilation
from tilelang.dtypes import DType
from tilelang.ir.batch import PrintSink, print_line
from tilelang.runtime.arrays import Argument
from tilelang.runtime.devices import Device
from tilelang.runtime.executables import AssertFailed, Executable, OutOfMemory, RaceFound
from tilelang.runtime.tuning.store import Answer
from tilelang.semantics.binding import Binding
from tilelang.semantics.constants import Value


@dataclass(frozen=True)
class Plan:
    """All of a launch but its arrays and numbers: the same for every call with the same types, shapes, settings.

    `numbers`: the scalar parameters with their element types. `tuned`: the tuning result that gave the metas.
    """

    device: Device
    binding: Binding
    compilation: Compilation
    execute: Executable
    numbers: tuple[tuple[str, DType], ...]
    tuned: Answer | None = None


class Launch:
    """A kernel with its arguments. `run` may be called again, with what the arrays then hold.

    `arguments`: every parameter's array or number by name. `outputs`: the `out` and `inout` arrays by name, in the
    order of the signature; those that were passed, as they were passed.
    """

    __slots__ = ("_plan", "arguments", "outputs")

    def __init__(self, plan: Plan, arguments: dict[str, Argument], outputs: dict[str, object]):
        self._plan = plan
        self.arguments = arguments
        self.outputs = outputs

    def run(self, output: PrintSink = print_line) -> None:
        """Run all programs of the grid; returns when the outputs hold the results.

        `output` gets what the kernel prints, in the order of programs. Raises CompileError: E0590 if an `assert`
        failed (what the outputs hold then is not decided), E0591 if the device `model` saw a race, E0592 if there is no
        memory for the programs.
        """
        plan = self._plan
        if 0 in plan.binding.grid:
            return
        try:
            plan.execute(self.arguments, plan.binding.dims, plan.binding.grid, output)
        except AssertFailed as failed:
            raise self._assert_failed(failed) from None
        except RaceFound as race:
            raise self._race(race) from None
        except OutOfMemory:
            raise self._out_of_memory() from None

    @property
    def result(self) -> object:
        """What a call returns: no output None, one as it is, several as a tuple."""
        outputs = tuple(self.outputs.values())
        return outputs[0] if len(outputs) == 1 else outputs or None

    @property
    def device(self) -> Device:
        return self._plan.device

    @property
    def compilation(self) -> Compilation:
        """Every stage of the compiler, for this launch."""
        return self._plan.compilation

    @property
    def grid(self) -> tuple[int, ...]:
        return self._plan.binding.grid

    @property
    def dims(self) -> Mapping[str, int]:
        """Every dim's extent; hidden ones (`x.1`) too."""
        return self._plan.binding.dims

    @property
    def metas(self) -> Mapping[str, Value]:
        return self._plan.binding.metas

    @property
    def tuned(self) -> Answer | None:
        """The tuning result that the metas are from, with its date; None if they are given, or the default ones."""
        return self._plan.tuned

    def __repr__(self) -> str:
        return f"<launch of {self._plan.binding.kernel} on {self.device}, grid {self.grid}>"

    # ------------------------------------------------------------------------------ when it goes wrong

    @property
    def _source(self) -> Source:
        return self._plan.compilation.source

    def _assert_failed(self, failed: AssertFailed) -> CompileError:
        diagnostic = Diagnostic(
            "E0590",
            f"assert failed: {failed.text}",
            failed.span,
            f"false in program {_tuple(failed.program)}",
            notes=(f"the grid is {_tuple(self.grid)}; no program before it failed",),
        )
        return CompileError([diagnostic], self._source)

    def _race(self, race: RaceFound) -> CompileError:
        diagnostic = Diagnostic(
            "E0591",
            f"two elements are written to one place of `{race.tensor}`",
            race.span,
            f"in program {_tuple(race.program)}",
            notes=("which of the two stays is not decided, and may differ from run to run",),
            help="let every element have a place of its own, or use atomic_add, atomic_max, ...",
        )
        return CompileError([diagnostic], self._source)


    def _out_of_memory(self) -> CompileError:
        names = self._plan.compilation.names
        kernel = names.module.kernels if names else ()
        span = next((k.name.span for k in kernel if k.name.text == self._plan.binding.kernel), None)
        diagnostic = Diagnostic(
            "E0592",
            f"there is no memory to run kernel `{self._plan.binding.kernel}`",
            span or NOWHERE,
            "each thread needs scratch memory for its tiles",
            notes=("what the outputs hold now is not decided",),
            help="end other programs, use smaller arrays or tiles, or fewer threads (OMP_NUM_THREADS=1)",
        )
        return CompileError([diagnostic], self._source)


def _tuple(numbers: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, numbers))})"
