"""`tilec run FILE x=in.npy`: run a kernel on arrays."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tilelang.cli.arguments import File, Value, parse_destinations, parse_settings, parse_words
from tilelang.cli.faults import OK, USAGE, USER_ERROR, Fault
from tilelang.cli.files import STDIN, replacing
from tilelang.cli.kernels import Header, locate, read_header
from tilelang.cli.terminal import show_diagnostics
from tilelang.near import nearest
from tilelang.rendering import printable

if TYPE_CHECKING:
    import numpy as np

    from tilelang.cli.inputs import Inputs
    from tilelang.runtime.program import Launch


@dataclass(frozen=True)
class Options:
    """What follows the arguments on the command line. `save` and `expect`: paths by the name of an output."""

    device: str
    save: Mapping[str, str]
    expect: Mapping[str, str]
    rtol: float | None
    atol: float | None
    tuned: bool


@click.command("run")
@click.argument("file", metavar="FILE[:KERNEL]")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--set", "settings", multiple=True, metavar="META=VALUE", help="Set a meta, such as BLOCK=64.")
@click.option(
    "--device", default="auto", show_default=True, metavar="DEVICE",
    help="auto, cpu, reference, simulator or cuda:N; `tilec doctor` says which work here.",
)  # fmt: skip
@click.option("--save", multiple=True, metavar="NAME=PATH", help="Save an output as an .npy file.")
@click.option("--expect", multiple=True, metavar="NAME=FILE", help="Compare an output with an array.")
@click.option("--rtol", type=click.FloatRange(min=0), help="Relative tolerance of --expect.")
@click.option("--atol", type=click.FloatRange(min=0), help="Absolute tolerance of --expect.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For random arrays.")
@click.option("--no-tuned", is_flag=True, help="Take the default metas, also if `tilec tune` has found better ones.")
@click.option("--mine", is_flag=True, help="Compile with your own functions of the course, as far as they are done.")
@click.option("--mine-from", type=click.Path(), metavar="FOLDER", help="The same, with the files FOLDER/chNN_*.py.")
def command(
    file: str, words: tuple[str, ...], settings: tuple[str, ...], device: str, save: tuple[str, ...],
    expect: tuple[str, ...], rtol: float | None, atol: float | None, seed: int, no_tuned: bool, mine: bool,
    mine_from: str | None,
) -> int:  # fmt: skip
    """Run a kernel on arrays, and say what came out.

    \b
    NAME is a parameter or a dim of the kernel. VALUE is one of
      0.5  true               a number
      in.npy  in.npz:key      an array in a file
      randn(4,5)              rand zeros ones full(4,5,0.5) arange(9) randint(0,9,4,5)
      4,5                     a shape, filled at random
    Arrays whose dims are all known may be left out: inputs are filled at random, outputs allocated.
    """
    values = parse_words(words)
    metas = parse_settings(settings)
    options = Options(device, parse_destinations(save), parse_destinations(expect), rtol, atol, not no_tuned)
    with _compiler(mine, mine_from):
        header = read_header(*locate(file))
        _check_outputs(header, {**options.save, **options.expect})
        _check_files(file, values, options)

        from tilelang.cli.inputs import make_inputs

        inputs = make_inputs(header, values, metas, seed)
        return _run(header, inputs, options)


def _compiler(mine: bool, mine_from: str | None) -> AbstractContextManager[None]:
    """The compiler to run on: as it is, or with a learner's functions in it."""
    if not mine and mine_from is None:
        return nullcontext()
    from tilelang.cli.mine import learners_compiler

    return learners_compiler(mine_from)


def _run(header: Header, inputs: Inputs, options: Options) -> int:
    from tilelang.cli.launching import prepare

    references = _load_references(header, inputs, options.expect)
    started = time.perf_counter()
    launch = prepare(header, inputs, options.device, options.tuned)
    prepared = time.perf_counter()
    launch.run()
    seconds = time.perf_counter() - prepared
    _print_launch(header, inputs, launch, prepared - started, seconds)
    _print_outputs(launch)
    for name, path in options.save.items():
        _save(launch.outputs[name], path)
        click.echo(f"{name} is saved in {printable(path)}")
    return USER_ERROR if not _all_as_expected(launch, references, options) else OK


# --------------------------------------------------------------------------------------- before the run


def _check_outputs(header: Header, wanted: Mapping[str, str]) -> None:
    for name in wanted:
        if name in header.outputs:
            continue
        near = nearest(name, header.outputs)
        listed = ", ".join(header.outputs) or "none"
        raise Fault(
            "E0729", f"`{header.name}` has no output `{name}`",
            notes=(f"its outputs: {listed}",), help=f"did you mean `{near}`?" if near else "", status=USAGE,
        )  # fmt: skip


def _check_files(file: str, values: Mapping[str, Value], options: Options) -> None:
    """No result may take the place of something that this run reads, or of another result."""
    path, _ = locate(file)
    read = [v.path for v in values.values() if isinstance(v, File)]
    read += [_file(name, text).path for name, text in options.expect.items()]
    read += [path] if path != STDIN else []
    written: list[str] = []
    for name, target in options.save.items():
        if any(_same_file(target, other) for other in read):
            title = f"`{printable(target)}` is read by this run, so `{name}` is not saved over it"
            raise Fault("E0732", title, help="save under another name")
        if any(_same_file(target, other) for other in written):
            title = f"two outputs would be saved in `{printable(target)}`"
            raise Fault("E0732", title, help="name two files")
        written.append(target)


def _same_file(a: str, b: str) -> bool:
    """True if two paths are one file, also through links, and also if the file is not there yet."""
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return os.path.realpath(a) == os.path.realpath(b)


def _file(name: str, text: str) -> File:
    """The value of `--expect NAME=FILE`."""
    from tilelang.cli.arguments import parse_value

    value = parse_value(text, f"{name}={text}")
    if isinstance(value, File):
        return value
    help = f"write --expect {name}=ref.npy"
    raise Fault("E0720", f"`{text}` is not an .npy or .npz file", help=help, status=USAGE)


def _load_references(header: Header, inputs: Inputs, expect: Mapping[str, str]) -> dict[str, np.ndarray]:
    from tilelang.cli.arrays import load

    dtypes = {name: header.element_type(header.params[name], inputs.settings) for name in expect}
    return {name: load(_file(name, text), dtypes[name]) for name, text in expect.items()}


# ---------------------------------------------------------------------------------------- after the run


def _print_launch(header: Header, inputs: Inputs, launch: Launch, preparing: float, seconds: float) -> None:
    """What ran, where, and how long it took."""
    facts = {**{name: launch.dims[name] for name in header.dims}, **launch.metas}
    known = ", ".join(f"{name}={str(value).lower()}" for name, value in facts.items())
    grid = " x ".join(map(str, launch.grid))
    click.echo(f"{header.name} on {launch.device}" + (f" ({known})" if known else ""))
    click.echo(f"  grid {grid}; prepared in {_duration(preparing)}, ran in {_duration(seconds)}")
    if launch.tuned is not None:
        how = "estimated" if launch.tuned.by == "model" else "found"
        metas = ", ".join(launch.tuned.metas)
        click.echo(f"  {metas}: {how} by `tilec tune` on {launch.tuned.when[:10]}; --no-tuned takes the default")
    if inputs.made_up:
        click.echo(f"  {', '.join(inputs.made_up)}: random, seed {inputs.seed}")


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def _print_outputs(launch: Launch) -> None:
    import numpy as np

    from tilelang.cli.summary import describe

    for name, array in launch.outputs.items():
        for line in describe(name, np.asarray(array)):
            click.echo("  " + line)


def _save(array: object, path: str) -> None:
    import numpy as np

    with replacing(path) as file:
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def _all_as_expected(launch: Launch, references: Mapping[str, np.ndarray], options: Options) -> bool:
    """Compare every output that has a reference; all differences are shown, not only the first."""
    import numpy as np

    from tilelang.cli.compare import compare, tolerance_for

    good = True
    for name, reference in references.items():
        found = np.asarray(launch.outputs[name])
        tolerance = tolerance_for(found, options.rtol, options.atol)
        try:
            click.echo(compare(name, found, reference, options.expect[name], tolerance))
        except Fault as fault:
            show_diagnostics(fault.diagnostics, None)
            good = False
    return good
