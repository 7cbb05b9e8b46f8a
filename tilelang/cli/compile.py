"""`tilec compile FILE --emit STAGE`: what a kernel becomes, stage by stage."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import click

from tilelang.cli.arguments import Number, parse_settings, parse_words
from tilelang.cli.faults import OK, USAGE, USER_ERROR, Fault
from tilelang.cli.files import read_source, write_text
from tilelang.cli.kernels import Header, Setting, locate, read_header
from tilelang.cli.terminal import show_diagnostics
from tilelang.diagnostics import CompileError, InternalError, Sink
from tilelang.driver import CPU, FRONT, GPU, MIDDLE, Compilation, run
from tilelang.near import nearest
from tilelang.rendering import printable

ASSUMED_EXTENT = 1024
"""What a dim is taken to be if the command line does not say. Only metas computed from dims depend on it."""

DEFAULT_TARGET = "sm_80"

Show = Callable[[Compilation], str]


@dataclass(frozen=True)
class Emit:
    """One thing that can be shown: `show` makes it of a compilation that has been run up to stage `until`."""

    does: str
    until: str
    show: Show


# ------------------------------------------------------------------------------------------- the stages


def _tokens(c: Compilation) -> str:
    from tilelang.syntax.printing import show_tokens

    return show_tokens(c.tokens or [], c.source)


def _tree(c: Compilation) -> str:
    from tilelang.syntax.parsing import parse_tree
    from tilelang.syntax.printing import show_tree

    return show_tree(parse_tree(c.source, Sink()))


def _ast(c: Compilation) -> str:
    from tilelang.syntax.printing import show_ast

    return show_ast(_there(c.module), c.source)


def _types(c: Compilation) -> str:
    from tilelang.semantics.show import show_types

    return show_types(_there(c.typed), c.source)


def _ir(field: str) -> Show:
    def show(c: Compilation) -> str:
        from tilelang.ir.printer import print_kernel

        return print_kernel(_there(getattr(c, field)))

    return show


def _layouts(c: Compilation) -> str:
    from tilelang.tiling.pictures import show_layouts

    kernel = _there(c.optimized)
    return show_layouts(replace(kernel, attrs={**kernel.attrs, **dict(c.facts)}), _there(c.target))


def _ptx(c: Compilation) -> str:
    from tilelang.runtime.cuda_compile import compile_ptx

    return compile_ptx(_there(c.cuda), _there(c.thread_ir), _there(c.target))


def _sass(c: Compilation) -> str:
    from tilelang.runtime.cuda_compile import sass

    return sass(_ptx(c), _there(c.target))


def _llvm(c: Compilation) -> str:
    from tilelang.runtime.cpu import compile

    with _fresh_machine_code():
        return compile(_there(c.cpu), _there(c.optimized)).llvm_ir()


def _asm(c: Compilation) -> str:
    from tilelang.runtime.cpu import compile

    with _fresh_machine_code():
        return compile(_there(c.cpu), _there(c.optimized)).asm()


@contextlib.contextmanager
def _fresh_machine_code() -> Iterator[None]:
    """No on-disk cache: numba has no text of code that it did not compile itself just now."""
    from tilelang.runtime.cache import VARIABLE

    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = ""
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _there(value):  # type: ignore[no-untyped-def]
    """The value of a stage that has run."""
    if value is None:
        raise InternalError("cli", "a stage was shown that had not been run")
    return value


EMITS: dict[str, Emit] = {
    "tokens": Emit("the words of the text", "tokens", _tokens),
    "tree": Emit("how the grammar reads it", "module", _tree),
    "ast": Emit("the syntax tree", "module", _ast),
    "types": Emit("the type of everything", "typed", _types),
    "tile-ir": Emit("tile IR, as built", "tile_ir", _ir("tile_ir")),
    "optimized": Emit("tile IR after the passes", "optimized", _ir("optimized")),
    "layouts": Emit("which thread holds which elements", "optimized", _layouts),
    "laid-out": Emit("tile IR with layouts and conversions", "laid_out", _ir("laid_out")),
    "thread-ir": Emit("what each thread does", "thread_ir", _ir("thread_ir")),
    "cuda": Emit("numba.cuda source", "cuda", lambda c: _there(c.cuda)),
    "ptx": Emit("the GPU's portable assembly", "cuda", _ptx),
    "sass": Emit("the GPU's machine code", "cuda", _sass),
    "cpu": Emit("numba source for the CPU", "cpu", lambda c: _there(c.cpu)),
    "llvm": Emit("what LLVM makes of it", "cpu", _llvm),
    "asm": Emit("the CPU's machine code", "cpu", _asm),
}
"""What `--emit` can show, in the order of the road."""

OF_THE_FILE = ("tokens", "tree", "ast")
"""What is made of a whole file, whichever kernel is meant."""


# ------------------------------------------------------------------------------------------ the command


@click.command("compile")
@click.argument("file", metavar="FILE[:KERNEL]")
@click.argument("words", nargs=-1, metavar="[DIM=N]...")
@click.option("--kernel", "kernel_name", metavar="NAME", help="The kernel, if the file has several.")
@click.option(
    "--emit", type=click.Choice([*EMITS, "all"]), default="optimized", show_default=True, help="What to show."
)
@click.option(
    "--target", "target_name", default=DEFAULT_TARGET, show_default=True, help="The GPU to compile for."
)
@click.option("--set", "settings", multiple=True, metavar="META=VALUE", help="Set a meta, such as BM=64.")
@click.option("-o", "--output", metavar="PATH", help="Write to a file instead of the standard output.")
def command(
    file: str, words: tuple[str, ...], kernel_name: str | None, emit: str, target_name: str,
    settings: tuple[str, ...], output: str | None,
) -> int:  # fmt: skip
    """Show what a kernel becomes, stage by stage.

    A meta such as BLOCK = next_pow2(N) depends on a dim: give the dim, as in N=1000, or set the meta.
    """
    path, named = locate(file)
    wanted = list(EMITS) if emit == "all" else [emit]
    compilation = _start(path, kernel_name or named, wanted, words, parse_settings(settings), target_name)
    if emit == "all":
        text, failed = _emit_all(compilation)
    else:
        text, failed = EMITS[emit].show(_run(compilation, emit)), False
    _write(text if text.endswith("\n") else text + "\n", output, path)
    return USER_ERROR if failed else OK


def _write(text: str, output: str | None, path: str) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
        raise Fault("E0732", f"`{printable(output)}` is the program itself", help="write to another file")
    write_text(output, text)


def _start(
    path: str, kernel: str | None, wanted: list[str], words: tuple[str, ...],
    settings: dict[str, Setting], target: str,
) -> Compilation:  # fmt: skip
    """The compilation to run: of the file alone, or of one kernel with everything bound."""
    from tilelang.runtime.facts import launch_facts

    if all(name in OF_THE_FILE for name in wanted):
        return Compilation(read_source(path))
    header = read_header(path, kernel)
    show_diagnostics(header.warnings, header.source)
    chosen, bound = _target(target), bind_without_arrays(header, words, settings)
    facts = launch_facts(bound.binding, {}) if bound.binding and chosen.vector_bytes else ()
    return replace(bound, target=chosen, facts=facts)


def _run(compilation: Compilation, name: str) -> Compilation:
    """Run the stages that `--emit name` needs and that have not been run yet."""
    until = EMITS[name].until
    return run(compilation, (*FRONT, *MIDDLE, *(CPU if until == "cpu" else GPU)), until=until)


def _emit_all(compilation: Compilation) -> tuple[str, bool]:
    """Everything that can be shown, and whether something could not be (which is reported)."""
    parts, failed = [], False
    for name, emit in EMITS.items():
        try:
            compilation = _run(compilation, name)
            parts.append(f"{'=' * 8} {name}: {emit.does}\n{emit.show(compilation)}")
        except CompileError as error:
            failed = True
            show_diagnostics(error.diagnostics, error.source)
    return "\n".join(parts), failed


def _target(name: str):  # type: ignore[no-untyped-def]
    from tilelang.tiling.targets import TARGETS

    if name in TARGETS:
        return TARGETS[name]
    near = nearest(name, TARGETS)
    help = f"did you mean `{near}`?" if near else ""
    notes = ("the targets are " + ", ".join(TARGETS),)
    raise Fault("E0734", f"there is no target `{name}`", notes=notes, help=help, status=USAGE)


# ---------------------------------------------------------------------------------------------- binding


def bind_without_arrays(
    header: Header, words: tuple[str, ...], settings: dict[str, Setting]
) -> Compilation:
    """Specialise a kernel for arrays of the given dims; a dim that is not given is `ASSUMED_EXTENT`."""
    from tilelang.semantics.specialize import bind, signature

    dims = {name: ASSUMED_EXTENT for name in header.dims} | _given_dims(header, words)
    sig = signature(header.names, header.kernel)
    if any(space.fixed is None for space in sig.spaces):
        _note_assumptions(header, words)
    sink = Sink()
    binding = bind(sig, _facts(header, dims, settings), settings, sink, dims)
    if binding is None or sink.failed:
        raise CompileError(sink.diagnostics, header.source)
    return Compilation(header.source, header.name, binding)


def _given_dims(header: Header, words: tuple[str, ...]) -> dict[str, int]:
    dims = {}
    for name, value in parse_words(words).items():
        if name not in header.dims:
            near = nearest(name, header.dims)
            help = f"did you mean `{near}`?" if near else ""
            if name in header.metas:
                help = f"`{name}` is a meta; it is set with --set {name}=..."
            notes = (f"signature: {header.signature()}",)
            raise Fault("E0727", f"`{header.name}` has no dim `{name}`", notes=notes, help=help, status=USAGE)
        if not isinstance(value, Number) or type(value.value) is not int or value.value < 0:
            title = f"the dim `{name}` is a whole number, 0 or more"
            raise Fault("E0733", title, help=f"write {name}=1000", status=USAGE)
        dims[name] = value.value
    return dims


def _note_assumptions(header: Header, words: tuple[str, ...]) -> None:
    """Say which dims were assumed; it makes a difference where a meta is computed from them."""
    given = {word.partition("=")[0] for word in words}
    assumed = [name for name in header.dims if name not in given]
    if assumed:
        shown = " ".join(f"{name}={ASSUMED_EXTENT}" for name in assumed)
        click.echo(f"note: compiled as for {shown}; give other extents to see other code", err=True)


def _facts(header: Header, dims: Mapping[str, int], settings: Mapping[str, Setting]):  # type: ignore[no-untyped-def]
    """What binding would be told about arrays that fit."""
    from tilelang.dtypes import F32
    from tilelang.semantics.specialize import ScalarFact, TensorFact

    facts: dict[str, ScalarFact | TensorFact] = {}
    for name, param in header.params.items():
        dtype = header.element_type(param, settings) or F32
        if param.dims is None:
            facts[name] = ScalarFact(False if dtype.is_bool else 1.0 if dtype.is_float else 1)
            continue
        shape = header.shape(param, dims, settings)
        if shape is not None:
            facts[name] = TensorFact(dtype, shape)
    return facts


