"""A long run of hostile texts: `python -m tests.fuzzing.hostile --inputs 200000`.

Each text is checked, formatted and, if nothing is wrong with it, compiled for a GPU and for the CPU. Whatever it is,
there is no exception but a CompileError, no pause of more than some seconds, and every message has a code of the
catalogue and a place inside the text.
"""

from __future__ import annotations

import argparse
import io
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from pathlib import Path
from types import FrameType

from tests.fuzzing.long_run import LongRun, say
from tests.fuzzing.mutations import hostile
from tests.fuzzing.speed import prepare
from tilelang.catalogue import codes
from tilelang.cli.compile import bind_without_arrays
from tilelang.cli.kernels import Header
from tilelang.diagnostics import CompileError, Diagnostic, Sink, Source
from tilelang.driver import CPU, GPU, MIDDLE, run
from tilelang.rendering import render_plain
from tilelang.semantics.check import check_module
from tilelang.semantics.names import Names, resolve
from tilelang.syntax import ast
from tilelang.syntax.format import format_source
from tilelang.syntax.lexing import read_source
from tilelang.syntax.limits import deep_trees
from tilelang.syntax.parsing import parse
from tilelang.tiling.targets import TARGETS

KNOWN = frozenset(codes())
SECONDS = 20
"""The longest that one text may take, on a slow machine."""


class Hangs(BaseException):
    """A text takes too long. No Exception, so that nothing catches it by mistake."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise Hangs when the process has computed for so long."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise Hangs(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def attack(data: bytes) -> str:
    """Everything that `check`, `fmt` and `compile` do; gives how far the text came. Raises whatever goes wrong."""
    sink = Sink()
    source = read_source(data, "hostile.tile", sink)
    module = parse(source, sink)
    inspect(sink.diagnostics, source)
    if sink.failed:
        return "refused by the parser"
    layout = format_source(source, Sink())
    again = Source(layout)
    with deep_trees():
        assert parse(again, Sink()) == module, "formatting has changed the meaning"
    assert format_source(again, Sink()) == layout, "formatting twice is not formatting once"
    names = resolve(module, sink)
    if not sink.failed:
        check_module(names, sink)
    inspect(sink.diagnostics, source)
    if sink.failed:
        return "refused by the checker"
    made = [compile_kernel(source, names, kernel) for kernel in module.kernels]
    return "compiled" if all(made) else "refused by the compiler"


def compile_kernel(source: Source, names: Names, kernel: ast.KernelDef) -> bool:
    """A kernel of a correct text through all stages, as for assumed extents; False if it is refused."""
    header = Header(source, names, kernel)
    try:
        with redirect_stderr(io.StringIO()):
            bound = bind_without_arrays(header, (), {})
        start = replace(bound, module=names.module, names=names, kernel=header.name, target=TARGETS["sm_80"])
        compiled = run(start, MIDDLE)
        run(compiled, GPU)
        run(compiled, CPU)
    except CompileError as error:
        inspect(error.diagnostics, error.source or source)
        return False
    return True


def inspect(diagnostics: list[Diagnostic], source: Source) -> None:
    """Each message can be shown, has a page, and points into the text."""
    for found in diagnostics:
        assert found.code in KNOWN, f"{found.code} has no page"
        assert found.span is not None, f"{found.code} has no place: {found.title}"
        for span in (found.span, *(other.span for other in found.others)):
            assert 0 <= span.start <= span.end <= len(source.text), f"{found.code} points outside the text"
        assert render_plain(found, source)


def smallest(data: bytes, wanted: str, seconds: float = 20.0) -> bytes:
    """A smaller text that goes wrong in the same way: pieces are cut out while it does."""
    end, size = time.monotonic() + seconds, len(data) // 2
    while size and time.monotonic() < end:
        start = 0
        while start < len(data) and time.monotonic() < end:
            shorter = data[:start] + data[start + size :]
            if outcome(shorter)[0] == wanted:
                data = shorter
            else:
                start += size
        size //= 2
    return data


def outcome(data: bytes) -> tuple[str, str]:
    """What kind of fault, or how far the text came; and, for a fault, all about it."""
    try:
        with limited(SECONDS):
            return attack(data), ""
    except (Exception, Hangs) as failure:
        frames = traceback.extract_tb(failure.__traceback__)
        last = next((f for f in reversed(frames) if "tilelang" in f.filename), frames[-1])
        place = "" if isinstance(failure, (AssertionError, Hangs)) else f" in {Path(last.filename).name}:{last.name}"
        kind = f"{type(failure).__name__}{place}: {str(failure).split(':')[0][:50]}"
        return kind, "".join(traceback.format_exception(failure))[-3000:]


def piece(first: int, count: int, seed: int) -> None:
    """The worker's part, see `tests.fuzzing.long_run`."""
    prepare()
    for number in range(first, first + count):
        say(begin=number)
        data = hostile(seed + number)
        kind, text = outcome(data)
        if text:
            say(failed=number, kind=kind, text=text, input=ascii(smallest(data, kind)))
        else:
            say(end=[kind])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing.hostile", description=__doc__.split("\n")[0])
    parser.add_argument("--inputs", type=int, default=200_000, help="how many texts in all")
    parser.add_argument("--seed", type=int, default=0, help="the first text's seed; the others count up from it")
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "tile-hostile.jsonl")
    options = parser.parse_args()
    run = LongRun("tests.fuzzing.hostile", options.log, options.seed, piece=2_000, patience=120)
    return 1 if run.run(options.inputs) else 0


if __name__ == "__main__":
    words = sys.argv[1:4]
    if len(words) == 3 and all(word.isdigit() for word in words):
        piece(*map(int, words))
    else:
        sys.exit(main())
