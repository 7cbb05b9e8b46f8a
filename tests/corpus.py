"""The shared corpus: every program in `tests/programs/*.tile`, with the arguments its header asks for.

A program's header says how to run it, one case a line:

    # case: x=randn(5,37) s=0.5 BLOCK=16 N=37 @rtol=1e-4

* `name=value` gives a kernel parameter, a meta or a dim. A value is a Python expression without blanks over the
  generators below (`randn(5,37)`, `special(16,f16)`, `randn(8,6).T[::2]`), a number, or for a meta a number or dtype.
  A tensor's element type is the generator's last argument, else the one the kernel names.
* `out` tensors that a case leaves out are allocated, filled with poison: what a kernel must not write can be
  checked. A case that names one (`y=poison(5,40)[:,::2]`) chooses its layout.
* `@kernel=k` picks a kernel (else the file's only one), `@rtol=`, `@atol=` set tolerances, `@fails=text` says
  that an `assert` fails with that text, `@prints` that the program prints.

    for case in load_corpus():
        arguments = case.arguments()           # fresh arrays, the same every time
        run(case.path, case.kernel, arguments, case.metas)
        case.check(arguments)                  # against the NumPy reference in tests/programs/reference.py

`pytest.mark.parametrize("case", load_corpus(), ids=str)` runs them all.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ml_dtypes import bfloat16

from tests.generators import GENERATORS, NUMPY_DTYPES, poison
from tilelang.diagnostics import CompileError, Sink, Source
from tilelang.dtypes import DTYPES
from tilelang.ir.core import Kernel
from tilelang.semantics import typed
from tilelang.syntax import ast

if TYPE_CHECKING:
    from tilelang.semantics.binding import Binding
    from tilelang.semantics.names import Names

DTYPE_OF = {NUMPY_DTYPES[name]: dtype for name, dtype in DTYPES.items()}

PROGRAMS = Path(__file__).parent / "programs"

RTOL = {np.dtype(np.float64): 1e-11, np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-3,
        np.dtype(bfloat16): 1.6e-2}
ATOL = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5, np.dtype(np.float16): 1e-3,
        np.dtype(bfloat16): 1e-2}

Arguments = dict[str, Any]
"""Parameter name -> array or number."""


@dataclass(frozen=True)
class Specialised:
    """A case's kernel, bound to its arguments and built."""

    typed: typed.TypedKernel
    tile: Kernel
    dims: dict[str, int]
    grid: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One way to run one program. `values` holds the header's text, before it is evaluated."""

    path: Path
    kernel: str
    number: int
    values: dict[str, str] = field(hash=False)
    metas: dict[str, int | str] = field(hash=False)
    given_dims: dict[str, int] = field(hash=False)
    options: dict[str, str] = field(hash=False)

    @property
    def name(self) -> str:
        stem = self.path.stem
        return f"{stem}-{self.number}" if self.kernel == stem else f"{stem}-{self.kernel}-{self.number}"

    def __str__(self) -> str:
        return self.name

    @property
    def fails(self) -> str | None:
        """The text of the `assert` that this case fails, if it is meant to."""
        return self.options.get("fails")

    @property
    def source(self) -> Source:
        return Source(self.path.read_text(encoding="utf-8"), self.path.name)

    def arguments(self) -> Arguments:
        """Fresh arguments in the order of the signature: the same values at every call, `out`s poisoned."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        definition = _kernel_of(self.path, self.kernel)
        given = {param.name.text: _evaluate(self.values[param.name.text], param, rng)
                 for param in definition.params if param.name.text in self.values}
        missing = [p for p in definition.params if p.name.text not in given]
        if not missing:
            return given
        binding = self._bind(given)
        for param in missing:
            shape, dtype = binding.shapes[param.name.text], binding.dtypes[param.name.text]
            given[param.name.text] = poison(*shape, NUMPY_DTYPES[dtype.name])
        return {p.name.text: given[p.name.text] for p in definition.params}

    def specialise(self, arguments: Arguments | None = None) -> Specialised:
        """Check and build the kernel for the arguments' dtypes and shapes, as the driver does."""
        from tilelang.ir.build import build
        from tilelang.semantics.check import check_kernel

        binding = self._bind(self.arguments() if arguments is None else arguments)
        sink = Sink()
        kernel = check_kernel(_names_of(self.path), _kernel_of(self.path, self.kernel), binding, sink)
        _raise_errors(sink, self.source)
        return Specialised(kernel, build(kernel), dict(binding.dims), tuple(binding.grid))

    def interpret(self, kernel: Kernel, arguments: Arguments, bound: Specialised) -> list[tuple]:
        """Run tile IR on the interpreter, in place; gives what it printed."""
        from tilelang.ir.interpreter import interpret

        printed: list[tuple] = []
        interpret(kernel, arguments, bound.dims, bound.grid, output=lambda *line: printed.append(line))
        return printed

    def expected(self) -> Arguments | None:
        """The arguments as the NumPy reference leaves them, or None where there is no reference."""
        from tests.programs.reference import run_reference

        arguments = self.arguments()
        known = {**arguments, **self._bind(arguments).metas, **self.bound_dims()}
        return arguments if run_reference(self.kernel, known) else None

    def bound_dims(self) -> dict[str, int]:
        return dict(self._bind(self.arguments()).dims)

    def check(self, arguments: Arguments) -> None:
        """Compare arguments after a run with the reference's: integers to the bit, floats within bounds."""
        expected = self.expected()
        if expected is not None:
            self.compare(arguments, expected)

    def compare(self, got: Arguments, expected: Arguments) -> None:
        """Raise AssertionError with the first difference, where the two are not the same within the bounds."""
        for name, want in expected.items():
            if isinstance(want, np.ndarray):
                rtol = float(self.options.get("rtol", RTOL.get(want.dtype, 0)))
                atol = float(self.options.get("atol", ATOL.get(want.dtype, 0)))
                assert_close(np.asarray(got[name]), want, rtol, atol, f"{self.name}: {name}")

    def _bind(self, arguments: Arguments) -> Binding:
        """The specialiser's `Binding` for these arguments."""
        from tilelang.semantics.specialize import ScalarFact, TensorFact, bind, signature

        names = _names_of(self.path)
        facts: dict[str, Any] = {}
        for name, value in arguments.items():
            is_tensor = isinstance(value, np.ndarray)
            facts[name] = TensorFact(DTYPE_OF[value.dtype], value.shape) if is_tensor else ScalarFact(value)
        sink = Sink()
        shape = signature(names, _kernel_of(self.path, self.kernel))
        binding = bind(shape, facts, self.metas, sink, dims=self.given_dims)
        _raise_errors(sink, self.source)
        if binding is None:
            raise ValueError(f"{self.name}: the arguments do not bind")
        return binding


def assert_close(got: np.ndarray, want: np.ndarray, rtol: float, atol: float, what: str) -> None:
    """Equal to the bit for integers and bool; for floats NaN where NaN, inf where inf, the rest within bounds."""
    if got.shape != want.shape or got.dtype != want.dtype:
        raise AssertionError(f"{what}: got {got.dtype}{got.shape}, expected {want.dtype}{want.shape}")
    if want.dtype.kind in "iub":
        wrong = got != want
    else:
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(a - b) <= atol + rtol * np.abs(b)
        wrong = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(f"{what}{list(place)}: got {got[place]!r}, expected {want[place]!r} "
                             f"({int(wrong.sum())} of {wrong.size} elements differ)")


def assert_identical(got: Arguments, want: Arguments, what: str) -> None:
    """Every array the same to the bit, except that any NaN equals any NaN."""
    for name, expected in want.items():
        if isinstance(expected, np.ndarray):
            assert_close(np.asarray(got[name]), expected, 0.0, 0.0, f"{what}: {name}")
            if expected.dtype.kind not in "iub":
                a, b = np.asarray(got[name]).astype(np.float64), expected.astype(np.float64)
                signs = (np.signbit(a) != np.signbit(b)) & ~np.isnan(b)
                assert not signs.any(), f"{what}: {name}: zeros differ in sign"


@cache
def load_corpus() -> tuple[Case, ...]:
    """Every case of every program, sorted by file."""
    return tuple(case for path in sorted(PROGRAMS.glob("*.tile")) for case in _cases(path))


def _cases(path: Path) -> list[Case]:
    cases: list[Case] = []
    kernels = {kernel.name.text: kernel for kernel in _module_of(path).kernels}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# case:"):
            continue
        words = {key: value for key, _, value in (word.partition("=") for word in line[7:].split())}
        options = {key[1:]: value for key, value in words.items() if key.startswith("@")}
        name = options.get("kernel") or (next(iter(kernels)) if len(kernels) == 1 else path.stem)
        if name not in kernels:
            raise ValueError(f"{path.name}: no kernel {name!r}")
        cases.append(_case(path, kernels[name], len(cases), words, options))
    if not cases:
        raise ValueError(f"{path.name} has no `# case:` line")
    return cases


def _case(path: Path, kernel: ast.KernelDef, number: int, words: dict[str, str], options: dict[str, str]) -> Case:
    params = {p.name.text for p in kernel.params}
    metas = {m.name.text for m in kernel.metas}
    plain = {key: value for key, value in words.items() if not key.startswith("@")}
    return Case(
        path, kernel.name.text, number,
        values={k: v for k, v in plain.items() if k in params},
        metas={k: v if v in DTYPES else int(v, 0) for k, v in plain.items() if k in metas},
        given_dims={k: int(v, 0) for k, v in plain.items() if k not in params and k not in metas},
        options=options)


def _evaluate(text: str, param: ast.Param, rng: np.random.Generator) -> Any:
    """The value of an argument's expression. The corpus is our own: `eval` sees nothing but the generators."""
    dtype = NUMPY_DTYPES.get(param.dtype.text)
    names = {name: (lambda *args, make=make, **kw: make(rng, dtype, *args, **kw)) for name, make in GENERATORS.items()}
    scope = {"__builtins__": {}, "inf": np.inf, "nan": np.nan, "broadcast": np.broadcast_to,
             "True": True, "False": False, **NUMPY_DTYPES, **names}
    return eval(text, scope)


@cache
def _module_of(path: Path) -> ast.Module:
    from tilelang.syntax.parsing import parse

    source, sink = Source(path.read_text(encoding="utf-8"), path.name), Sink()
    module = parse(source, sink)
    _raise_errors(sink, source)
    return module


@cache
def _names_of(path: Path) -> Names:
    from tilelang.semantics.names import resolve

    sink = Sink()
    names = resolve(_module_of(path), sink)
    _raise_errors(sink, Source(path.read_text(encoding="utf-8"), path.name))
    return names


def _kernel_of(path: Path, name: str) -> ast.KernelDef:
    return next(kernel for kernel in _module_of(path).kernels if kernel.name.text == name)


def _raise_errors(sink: Sink, source: Source) -> None:
    if sink.failed:
        raise CompileError([d for d in sink.diagnostics if d.is_error], source)
