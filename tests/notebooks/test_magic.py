"""`%%tile` cells: what they define, what they run, and what they say when they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from tilelang.diagnostics import CompileError
from tilelang.notebook.completion import complete
from tilelang.notebook.magic import NotWrong, options
from tilelang.runtime.program import KernelHandle, Program

DOUBLE = "kernel double(x: f32[N], out y: f32[N]) grid (N) {\n    let i = program_id(0);\n    y[i] = 2.0 * x[i];\n}\n"
WRONG = DOUBLE.replace("x[i]", "z[i]")


@pytest.mark.parametrize(("line", "found"), [
    ("", (False, "", "")),
    ("y = softmax(x)", (False, "", "y = softmax(x)")),
    ("--wrong", (True, "", "")),
    ("  --wrong  --program p  f(x) ", (True, "p", "f(x)")),
    ("--program p", (False, "p", "")),
    ("print('--wrong')", (False, "", "print('--wrong')")),
])
def test_the_line_behind_the_magic(line: str, found: tuple[bool, str, str]) -> None:
    assert options(line) == found


def test_kernels_become_names(shell: InteractiveShell) -> None:
    assert shell.run_cell(f"%%tile --program p\n{DOUBLE}").success
    assert isinstance(shell.user_ns["double"], KernelHandle)
    assert isinstance(shell.user_ns["p"], Program)


def test_an_expression_is_the_value_of_the_cell(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = np.float32([1, 2, 3])
    result = shell.run_cell(f"%%tile double(x)\n{DOUBLE}")
    assert list(result.result) == [2, 4, 6]


def test_a_statement_is_executed(shell: InteractiveShell) -> None:
    shell.user_ns["x"] = np.float32([1, 2, 3])
    result = shell.run_cell(f"%%tile y = double(x)\n{DOUBLE}")
    assert result.success and result.result is None
    assert list(shell.user_ns["y"]) == [2, 4, 6]


def test_a_mistake_fails_the_cell_and_is_shown_in_place(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    result = shell.run_cell(f"%%tile\n{WRONG}")
    shown = capsys.readouterr().out
    assert isinstance(result.error_in_exec, CompileError)
    assert "E0201" in shown and "this cell:3:" in shown and "Traceback" not in shown
    assert "double" not in shell.user_ns


def test_mistakes_of_later_cells_are_shown_so_too(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    shell.run_cell(f"%%tile\n{DOUBLE}")
    capsys.readouterr()
    result = shell.run_cell("double(3.5)")
    shown = capsys.readouterr().out
    assert isinstance(result.error_in_exec, CompileError)
    assert "the signature is" in shown and "Traceback" not in shown


def test_other_exceptions_are_left_alone(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    shell.run_cell("1 / 0")
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_types_are_checked_before_anything_is_called(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    result = shell.run_cell(f"%%tile\n{DOUBLE.replace('2.0', 'N')}")
    assert isinstance(result.error_in_exec, CompileError)
    assert "E0302" in capsys.readouterr().out and "double" not in shell.user_ns


def test_warnings_are_shown_and_the_cell_goes_on(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    assert shell.run_cell(f"%%tile\n{DOUBLE.replace('y[i] =', 'let old = x[i]; y[i] =')}").success
    assert "W0101" in capsys.readouterr().err


def test_wrong_on_purpose_goes_on(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    assert shell.run_cell(f"%%tile --wrong\n{WRONG}").success
    assert "E0201" in capsys.readouterr().out


def test_wrong_on_purpose_must_be_wrong(shell: InteractiveShell) -> None:
    result = shell.run_cell(f"%%tile --wrong\n{DOUBLE}")
    assert isinstance(result.error_in_exec, NotWrong)


def test_wrong_may_be_the_use(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> None:
    assert shell.run_cell(f"%%tile --wrong double(3.5)\n{DOUBLE}").success
    assert "error" in capsys.readouterr().out


# ------------------------------------------------------------------------------------ completion


def names(cell: str, token: str) -> list[str]:
    return [name for name, _ in complete(cell, token)]


def test_completion_knows_the_language_and_the_cell() -> None:
    cell = "%%tile\nkernel k(weights: f32[N]) { let width = 3; # whatever\n"
    assert {"while", "where"} <= set(names(cell, "wh"))
    assert "whatever" not in names(cell, "wh")
    assert names(cell, "wei") == ["weights"]
    assert names(cell, "program_") == ["program_id"]
    assert {"f16", "f32", "f64", "floor"} <= set(names(cell, "f"))


def test_completion_keeps_what_stands_before_the_word() -> None:
    assert names("%%tile\nlet total = x[su", "x[su") == ["x[sum"]


@pytest.mark.parametrize("cell", ["", "import numpy\nsu", "%%tile su", "%%timeit\nsu"])
def test_no_completion_elsewhere(cell: str) -> None:
    assert complete(cell, "su") == []


def test_no_completion_of_nothing() -> None:
    assert complete("%%tile\nlet x = ", "") == []


def test_the_shell_offers_it(shell: InteractiveShell) -> None:
    cell = "%%tile\nlet a = program_"
    with provisionalcompleter():
        found = [c.text for c in shell.Completer.completions(cell, len(cell))]
    assert "program_id" in found
