"""`tilec tune FILE M=512 K=512 N=512`: find the fastest metas, and keep them for later runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from tilelang.cli.arguments import Scalar, parse_number, parse_settings, parse_words
from tilelang.cli.faults import INTERRUPTED, OK, USAGE, Fault
from tilelang.cli.kernels import Header, locate, read_header
from tilelang.cli.terminal import is_terminal, plural
from tilelang.rendering import printable

if TYPE_CHECKING:
    from rich.console import Console

    from tilelang.runtime.tuning.job import Options
    from tilelang.runtime.tuning.result import TuningResult
    from tilelang.runtime.tuning.store import Answer, Question

Setting = Scalar | str | tuple[Scalar, ...]
Watch = Callable[[str, int, int], None]

WIDTH = 140
"""Columns where the output is not a terminal."""


@click.command("tune")
@click.argument("file", metavar="[FILE[:KERNEL]]", required=False)
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--set", "settings", multiple=True, metavar="META=VALUES",
              help="Values of a meta to try, such as BM=64 or BM=64,128; all its choices if not given.")
@click.option("--device", default="auto", show_default=True, metavar="DEVICE", help="auto, cpu or cuda:N.")
@click.option("--by", type=click.Choice(["auto", "measurement", "model"]), default="auto", show_default=True,
              help="Measure, or estimate with the machine model.")
@click.option("--gpu", metavar="GPU", help="Estimate for this one: t4, a100, rtx3090, rtx4090, h100 or h200.")
@click.option("--limit", type=click.IntRange(min=1), default=512, show_default=True,
              help="Configurations to try at most.")
@click.option("--seconds", type=click.FloatRange(min=0), default=60.0, show_default=True,
              help="How long to measure at most; compiling is not counted.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For random arrays.")
@click.option("--all", "everything", is_flag=True, help="List every configuration.")
@click.option("--no-keep", is_flag=True, help="Only look: later runs do not use the result.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--list", "listing", is_flag=True, help="List the results that are kept, of all kernels or of FILE.")
@click.option("--forget", is_flag=True, help="Delete the results that are kept, of all kernels or of FILE.")
def command(file: str | None, words: tuple[str, ...], settings: tuple[str, ...], device: str, by: str,
            gpu: str | None, limit: int, seconds: float, seed: int, everything: bool, no_keep: bool, as_json: bool,
            listing: bool, forget: bool) -> int:
    """Find the fastest values of a kernel's metas, and keep them for later runs.

    \b
    Tried are all combinations of the metas that have several numbers to choose from (BM: {64, 128}). Each is
    compiled, its result is compared with the first one's, and the launches are timed in turns. `tilec run` and
    calls from Python then use the fastest one for arrays of the same types and dims on the same device, if they
    set none of these metas themselves. NAME=VALUE is as for `tilec run`.

    \b
    Examples:
      tilec tune course/kernels/transpose.tile M=2000 N=3000
      tilec tune course/kernels/matmul.tile M=512 K=512 N=512 --set BM=64,128 --set BN=64 --set GROUP=8
      tilec tune course/kernels/softmax.tile M=4096 N=1000 --set BLOCK=1024,2048
      tilec tune course/kernels/matmul.tile M=512 K=512 N=512 --set T=f16 --set GROUP=8 --gpu a100
      tilec tune --list
    """
    from tilelang.runtime.tuning.job import Options

    if listing or forget:
        return _list(file, forget, as_json)
    if file is None:
        raise Fault("E0704", "`tilec tune`: missing argument `FILE[:KERNEL]`",
                    help="for instance: tilec tune course/kernels/transpose.tile M=2000 N=3000", status=USAGE)
    if gpu is not None:
        from tilelang.cli.profile import find_gpu

        find_gpu(gpu)
    header = read_header(*locate(file))
    options = Options(device, by, gpu, limit, seconds, not no_keep)
    return _tune(header, words, parse_values(settings), options, seed, everything, as_json)


def parse_values(words: Sequence[str]) -> dict[str, Setting]:
    """`--set BM=64,128 --set T=f16`: one value, or several numbers."""
    found: dict[str, Setting] = {}
    for name, value in parse_settings(words).items():
        numbers = [parse_number(part.strip()) for part in value.split(",")] if isinstance(value, str) else []
        several = tuple(number for number in numbers if number is not None)
        found[name] = several if len(several) == len(numbers) > 1 else value
    return found


def _tune(header: Header, words: Sequence[str], metas: Mapping[str, Setting], options: Options, seed: int,
          everything: bool, as_json: bool) -> int:
    from dataclasses import replace

    from tilelang.cli.inputs import make_inputs
    from tilelang.cli.launching import load_kernel, positional
    from tilelang.runtime.tuning.tune import TuningInterrupted, tune

    single = {name: value for name, value in metas.items() if not isinstance(value, tuple)}
    several = {name: value for name, value in metas.items() if isinstance(value, tuple)}
    inputs = make_inputs(header, parse_words(words), single, seed)
    keywords = {**inputs.dims, **inputs.settings, **several}
    kernel = load_kernel(header)
    try:
        with _progress() as watch:
            result = tune(kernel, positional(header, inputs), keywords, replace(options, watch=watch))
    except TuningInterrupted as stop:
        if stop.result is not None:
            _show(stop.result, everything, as_json)
        click.echo("interrupted: nothing is kept", err=True)
        return INTERRUPTED
    _show(result, everything, as_json)
    if not as_json and result.kept is not None:
        _say_what_for(result)
    return OK


# ------------------------------------------------------------------------------------ what is shown


def _say_what_for(result: TuningResult) -> None:
    if result.by == "model":
        click.echo("kept: used on a GPU of this kind, until the kernel is measured there")
    else:
        click.echo("kept: from now on `tilec run` and calls from Python use it for such arrays")


@contextlib.contextmanager
def _progress() -> Iterator[Watch]:
    """Something to tell how far the work is: a bar on a terminal, elsewhere one line for each part of the work."""
    if not is_terminal(sys.stderr):
        begun: set[str] = set()

        def tell(doing: str, done: int, total: int) -> None:
            if doing not in begun:
                begun.add(doing)
                click.echo(f"{doing} {plural(total, 'configuration')}", err=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks = {}

        def advance(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(doing, total=total)
            bars.update(tasks[doing], completed=done, total=total)

        yield advance


def _console() -> Console:
    from rich.console import Console

    terminal = is_terminal(sys.stdout)
    return Console(file=sys.stdout, highlight=False, no_color=not terminal, markup=False, emoji=False,
                   width=None if terminal else WIDTH, force_terminal=terminal, soft_wrap=not terminal)


def _show(result: TuningResult, everything: bool, as_json: bool) -> None:
    if as_json:
        import json

        click.echo(json.dumps(result.as_dict(), indent=2))
        return
    from tilelang.runtime.tuning.table import as_text, parts

    if not is_terminal(sys.stdout):
        click.echo(as_text(result, everything))
        return
    console = _console()
    for part in parts(result, everything):
        console.print(part)


# ------------------------------------------------------------------------------------ what is kept


def _list(file: str | None, forget: bool, as_json: bool) -> int:
    from tilelang.runtime.tuning import store

    found = [entry for entry in store.entries() if file is None or _is_about(entry, file)]
    if forget:
        count = store.forget([folder for _, _, folder in found])
        click.echo(f"{plural(count, 'result')} forgotten")
    elif as_json:
        import json

        click.echo(json.dumps([_plain(question, answer) for question, answer, _ in found], indent=2))
    elif not found:
        click.echo("no tuning results are kept" + (f" of {printable(file)}" if file is not None else ""))
    else:
        _console().print(_table([(question, answer) for question, answer, _ in found]))
    return OK


def _is_about(entry: tuple[Question, Answer, object], file: str) -> bool:
    """Is a result one of `FILE[:KERNEL]`? Of the file's text as it is now, or as it was."""
    path, kernel = locate(file)
    question, answer, _ = entry
    return kernel in (None, question.kernel) and os.path.realpath(answer.file) == os.path.realpath(path)


def _plain(question: Question, answer: Answer) -> dict[str, object]:
    return {
        "kernel": question.kernel, "file": answer.file, "device": question.device, "dtypes": dict(question.dtypes),
        "dims": dict(question.dims), "switches": {name: str(value) for name, value in question.switches},
        "best": dict(answer.metas), "seconds": answer.seconds, "default_seconds": answer.default_seconds,
        "by": answer.by, "when": answer.when, "tried": answer.tried,
    }


def _table(found: Sequence[tuple[Question, Answer]]) -> object:
    from rich.table import Table
    from rich.text import Text

    from tilelang.runtime.tuning.table import duration, settings

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("kernel", "for", "on", "best", "time", "of default", "when"):
        table.add_column(heading, justify="right" if heading in ("time", "of default") else "left")
    for question, answer in found:
        types = ", ".join(dict.fromkeys(str(dtype) for _, dtype in question.dtypes))
        dims = ", ".join(f"{name}={value}" for name, value in question.dims)
        slower = answer.default_seconds
        row = (f"{printable(os.path.basename(answer.file))}:{question.kernel}", f"{dims} {types}", question.device,
               " ".join(settings(answer.metas)), duration(answer.seconds),
               f"{answer.seconds / slower:.2f}" if slower else "-", answer.when.replace("T", " ")[:16])
        table.add_row(*(Text(cell) for cell in row))
    return table
