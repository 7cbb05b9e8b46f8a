"""The cell magic `%%tile`: the cell is a `.tile` program, the rest of its first line is Python that uses it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tilelang.diagnostics import CompileError, Diagnostic, Sink
from tilelang.notebook.errors import coloured
from tilelang.runtime.program import Program
from tilelang.runtime.program import compile as compile_text
from tilelang.semantics.check import check_module

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

WRONG = "--wrong"
"""For a cell that is wrong on purpose: its messages are shown, and the notebook goes on."""

PROGRAM = "--program"
"""`--program NAME`: the whole program under this name too, for its IR and its source."""


class NotWrong(Exception):
    """A `%%tile --wrong` cell that has no mistake."""


def install(shell: InteractiveShell) -> None:
    """Make `%%tile` known to a shell."""

    def tile(line: str, cell: str) -> object:
        """%%tile [--wrong] [--program NAME] [PYTHON]: compile the cell, then run PYTHON with its kernels."""
        return run_cell(shell, line, cell)

    shell.register_magic_function(tile, magic_kind="cell", magic_name="tile")  # type: ignore[call-arg, arg-type]


def run_cell(shell: InteractiveShell, line: str, cell: str) -> object:
    """The value of the Python expression behind `%%tile`, None without one.

    Raises:
        CompileError: the program is wrong (not with `--wrong`: then its messages are printed).
        NotWrong: `--wrong` stands before a program without a mistake.
    """
    wrong, name, python = options(line)
    if not wrong:
        return _compile_and_run(shell, name, python, cell)
    try:
        _compile_and_run(shell, name, python, cell)
    except CompileError as error:
        print(coloured(error))
        return None
    raise NotWrong("the cell says `--wrong`, but there is no mistake in it")


def options(line: str) -> tuple[bool, str, str]:
    """(--wrong, the name after --program, the Python text) of the line behind `%%tile`.

    >>> options("--program p y = softmax(x)")
    (False, 'p', 'y = softmax(x)')
    """
    wrong, name, rest = False, "", line.strip()
    while True:
        word, _, after = rest.partition(" ")
        if word == WRONG:
            wrong, rest = True, after.strip()
        elif word == PROGRAM:
            name, _, rest = after.strip().partition(" ")
            rest = rest.strip()
        else:
            return wrong, name, rest


def _compile_and_run(shell: InteractiveShell, name: str, python: str, cell: str) -> object:
    program = compile_text(cell, "this cell")
    warnings = [*program.warnings, *_check_types(program)]
    for warning in warnings:
        print(coloured(CompileError([warning], program.source)), file=sys.stderr)
    kernels: dict[str, object] = {kernel: program[kernel] for kernel in program}
    shell.push({**kernels, **({name: program} if name else {})})
    return _run_python(shell, python) if python else None


def _check_types(program: Program) -> list[Diagnostic]:
    """The warnings of the type checker, as far as it comes without arrays. Raises CompileError."""
    sink = Sink()
    if program.front.names is not None:
        check_module(program.front.names, sink)
    if sink.failed:
        raise CompileError(sink.diagnostics, program.source)
    return sink.diagnostics


def _run_python(shell: InteractiveShell, python: str) -> object:
    """Evaluate an expression, or execute a statement, in the notebook's own names."""
    try:
        code = compile(python, "<%%tile>", "eval")
    except SyntaxError:
        exec(compile(python, "<%%tile>", "exec"), shell.user_ns)
        return None
    return eval(code, shell.user_ns)
