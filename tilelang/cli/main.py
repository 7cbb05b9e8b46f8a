"""The entry point of `tilec`: its commands, and what happens to every kind of failure.

Exit codes: 0 all is well; 1 the user's program or data is wrong; 2 the command line is wrong; 3 a bug in the
compiler; 130 interrupted; 141 the reader of the output went away.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

import click

from tilelang.cli.faults import COMPILER_BUG, INTERRUPTED, OK, PIPE_CLOSED, USAGE, USER_ERROR, Fault
from tilelang.cli.memory import address_space, wants_memory
from tilelang.cli.output import CannotPrint, abandon_lost_streams, open_streams
from tilelang.diagnostics import CompileError
from tilelang.near import nearest

COMMANDS = {
    "check": "report the mistakes in programs",
    "fmt": "lay programs out in the standard way",
    "explain": "explain an error code",
    "compile": "show what a kernel becomes, stage by stage",
    "run": "run a kernel on arrays",
    "tune": "find a kernel's fastest metas, and keep them for later runs",
    "profile": "say where a kernel's time would go on a GPU",
    "bench": "time kernels on the CPU against NumPy and PyTorch",
    "report": "count what the GPU machine code of kernels consists of, beside Triton's",
    "course": "list, grade and give hints for the exercises of the course",
    "doctor": "say what this machine can do",
}
"""The commands, in the order one meets them; `tilelang/cli/NAME.py` holds each, as the function `command`."""


class Commands(click.Group):
    """Loads a command's file only when it is used; the list of commands needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"tilelang.cli.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise _unknown_command(args[0])
        return super().resolve_command(ctx, args)


def _unknown_command(word: str) -> Fault:
    if word.endswith(".tile"):
        help = f"say what to do with it, for instance: tilec check {word}"
    else:
        near = nearest(word, COMMANDS)
        help = f"did you mean `tilec {near}`?" if near else ""
    notes = ("the commands are " + ", ".join(COMMANDS),)
    return Fault("E0702", f"there is no command `{word}`", notes=notes, help=help, status=USAGE)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
@click.version_option(package_name="tile-course", prog_name="tilec")
def tilec() -> None:
    """The compiler of the tile language: from .tile text to CUDA and fast CPU code."""


def main() -> None:
    """What the installed `tilec` calls."""
    open_streams()
    # A library's warning (the cache cannot be used, say) is one line, without a place in our source.
    warnings.formatwarning = lambda message, *_, **__: f"tilec: warning: {message}\n"
    sys.unraisablehook = _say_unraisable
    status = run(sys.argv[1:])
    abandon_lost_streams()
    sys.exit(status)


def _say_unraisable(failure: sys.UnraisableHookArgs) -> None:
    """What failed in a destructor. Without memory they fail too, and that is said once, elsewhere."""
    if failure.exc_value is None or not wants_memory(failure.exc_value):
        sys.__unraisablehook__(failure)


def run(argv: Sequence[str]) -> int:
    """Run one command line (the words after `tilec`); the exit code. Never raises."""
    try:
        status = _invoke(list(argv))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        return PIPE_CLOSED
    except CannotPrint as error:
        _say_unprintable(error)
        return USER_ERROR
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:  # there was not even the memory to say so, or to write a report
        if not wants_memory(error):
            raise
        os.write(2, b"error[E0707]: there is not enough memory for this\n")
        return USER_ERROR


def _say_unprintable(error: CannotPrint) -> None:
    """The standard output takes no more; if it is the standard error stream, there is nobody to tell."""
    from tilelang.cli.terminal import show_diagnostics

    reason = (error.strerror or str(error),)
    fault = Fault("E0713", "the standard output cannot be written", notes=reason)
    with contextlib.suppress(OSError):
        show_diagnostics(fault.diagnostics, None)


def _invoke(argv: list[str]) -> int:
    from tilelang.cli.terminal import show_count, show_diagnostics

    try:
        # Not click's own `main`, which exits, and reports failures, in its own way.
        with tilec.make_context("tilec", argv or ["--help"]) as context:
            result = tilec.invoke(context)
        return result if isinstance(result, int) else OK
    except click.exceptions.Exit as request:  # --help, --version
        return request.exit_code
    except click.UsageError as error:
        fault = usage_fault(error)
        show_diagnostics(fault.diagnostics, None)
        return fault.status
    except CompileError as error:
        show_diagnostics(error.diagnostics, error.source)
        if not isinstance(error, Fault):
            show_count(error.diagnostics)
        return error.status if isinstance(error, Fault) else USER_ERROR
    except (BrokenPipeError, CannotPrint):
        raise
    except Exception as error:
        if wants_memory(error):
            return _say_no_memory(error)
        # Also an InternalError. Whatever it is, a user sees words and a file, never a traceback.
        from tilelang.cli.crash import report_bug

        report_bug(error, argv)
        return COMPILER_BUG


def _say_no_memory(error: Exception) -> int:
    from tilelang.cli.terminal import show_diagnostics

    notes: tuple[str, ...] = (str(error),) if isinstance(error, MemoryError) and str(error) else ()
    limit, help = address_space(), "use smaller arrays"
    if limit is not None:
        notes += (f"this process may have {limit >> 20} MiB of address space",)
        help += ", or raise the limit (`ulimit -v`)"
    fault = Fault("E0707", "there is not enough memory for this", notes=notes, help=help)
    show_diagnostics(fault.diagnostics, None)
    return fault.status


def usage_fault(error: click.UsageError) -> Fault:
    """The coded message for what click found wrong with the command line."""
    where = error.ctx.command_path if error.ctx is not None else "tilec"
    notes = (f"`{where} --help` lists what it takes",)
    if isinstance(error, click.NoSuchOption):
        near = nearest(error.option_name, error.possibilities or [])
        known = {o for p in (error.ctx.command.params if error.ctx else []) for o in p.opts}
        near = near or nearest(error.option_name, known)
        help = f"did you mean `{near}`?" if near else ""
        title = f"`{where}` has no option `{error.option_name}`"
        return Fault("E0703", title, notes=notes, help=help, status=USAGE)
    message = error.format_message().rstrip(".")
    title = f"`{where}`: {message[:1].lower()}{message[1:]}"
    code = "E0704" if isinstance(error, click.MissingParameter) else "E0705"
    return Fault(code, title, notes=notes, status=USAGE)
