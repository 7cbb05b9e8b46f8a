"""Files that are made to pass without the answer in them, or to bring the grader down. None does; each is told why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from course.exercises import find_chapter
from course.grading import Result, grade_exercise
from course.table import Chapter
from tests.course.test_learner import HEAD, RIGHT
from tilelang import dtypes


def chapter() -> Chapter:
    found = find_chapter("ch06")
    assert found is not None
    return found


def graded(folder: Path, text: str) -> Result:
    file = folder / "exercise.py"
    file.write_text(text, encoding="utf-8")
    return grade_exercise(chapter(), chapter().exercise("wider"), file)


def answer(*body: str) -> str:
    """A file whose `wider` has this body."""
    return "\n    ".join(("def wider(a, b):", *body)) + "\n"


SOLUTION = repr(str(chapter().solution))
COMPILER = repr(dtypes.__file__)
HOLDS = "PermissionError: .* holds the answer: write it yourself"
NO_PROCESS = "PermissionError: a graded function starts no process"
LOAD = (
    "spec = util.spec_from_file_location('other', {})",
    "other = sys.modules['other'] = util.module_from_spec(spec)",
    "spec.loader.exec_module(other)",
    "found = other.wider(other.DTYPES[a.name], other.DTYPES[b.name])",
    "return found and DTYPES[found.name]",
)
IMPORTS = "import builtins, io, os, pathlib, sys\nfrom tilelang.dtypes import DTYPES, DType\n\n\n"

TAKEN = {
    "the solution under another name": (
        answer("util = getattr(builtins, '__import__')('importlib.util').util", *LOAD).format(SOLUTION), HOLDS),
    "the compiler under another name": (
        answer("util = sys.modules['importlib.util']", *LOAD).format(COMPILER), HOLDS),
    "the compiler imported afresh": (
        answer("old = sys.modules.pop('tilelang.dtypes')", "import tilelang.dtypes as other",
               "sys.modules['tilelang.dtypes'] = old", "return other.wider(a, b)"),
        f"{HOLDS}|changed something in Python itself"),
    "importlib.util by name": (
        "from importlib.util import spec_from_file_location\n" + RIGHT, "imports importlib.util"),
    "the solution read and run while the file loads": (
        f"space = {{}}\nbuiltins.exec(pathlib.Path({SOLUTION}).read_text(), space)\n\n\n"
        + answer("return space['wider'](a, b)"), f"cannot be loaded: {HOLDS}"),
    "io.open": (answer(f"builtins.exec(io.open({SOLUTION}).read(), globals())", "return wider(a, b)"), HOLDS),
    "os.open": (answer(f"handle = os.open({SOLUTION}, 0)", "builtins.exec(os.read(handle, 1 << 20), globals())",
                       "return wider(a, b)"), HOLDS),
    "by a path that goes round": (
        answer(f"path = os.path.join(os.path.dirname({SOLUTION}), '..', 'solutions', os.path.basename({SOLUTION}))",
               "return builtins.open(path).read()"), HOLDS),
    "by way of the folder": (
        answer(f"os.open(os.path.dirname({SOLUTION}), 0)", "return None"), HOLDS),
    "the compiled solution": (
        answer("return builtins.open(sys.modules['tilelang.dtypes'].__cached__, 'rb')"), HOLDS),
    "another process reads it": (answer(f"return os.popen('cat ' + {SOLUTION}).read()"), NO_PROCESS),
    "a shell reads it": (answer(f"return os.system('cat ' + {SOLUTION})"), NO_PROCESS),
    "fork": (answer("os.fork()", "return a"), NO_PROCESS),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), TAKEN.values(), ids=TAKEN.keys())
def test_the_answer_is_not_taken_from_elsewhere(tmp_path: Path, text: str, says: str) -> None:
    refused(tmp_path, IMPORTS + text, says)


ANY = "class Any{}:\n    __eq__ = __ge__ = __le__ = lambda a, b: True\n    __ne__ = lambda a, b: False\n" \
      "    __hash__ = lambda a: 0\n    __bool__ = lambda a: True\n\n\n"  # fmt: skip
NO_DATA = r"returned a \w+, which is no plain value"

BOASTS = {
    "says that it passed": (
        answer("print('4 passed')", "os.write(2, b'4 passed in 0.01s')", "return None"), "expected"),
    "sys.exit(0)": (answer("sys.exit(0)"), "SystemExit: 0\n *in line 6"),
    "os._exit(0)": (answer("os._exit(0)"), "ended the whole process"),
    "kills itself": (answer("os.kill(os.getpid(), 9)"), "ended the whole process"),
    "sys.exit(0) while loading": ("sys.exit(0)\n" + RIGHT, "line 5 cannot be loaded: SystemExit: 0"),
    "os._exit(0) while loading": ("os._exit(0)\n" + RIGHT, "cannot be loaded: it ended the whole process"),
    "KeyboardInterrupt while loading": ("raise KeyboardInterrupt\n" + RIGHT, "cannot be loaded: KeyboardInterrupt"),
    "skips": ("import pytest\n\n\n" + answer("raise pytest.skip.Exception('not today')"), "Skipped: not today"),
    "skips while loading": ("import pytest\npytest.skip('x', allow_module_level=True)\n" + RIGHT, "loaded: Skipped: x"),
    "an expected failure": ("import pytest\n\n\n" + answer("pytest.xfail('so be it')"), "XFailed: so be it"),
    "equal to everything": (ANY.format("") + answer("return Any()"), NO_DATA),
    "a DType that is equal to everything": (
        ANY.format("(DType)") + answer("return Any(a.name, a.kind, a.bits, a.mantissa, a.exponent)"), NO_DATA),
    "called like the right type": (
        ANY.format("(DType)") + "Any.__name__ = Any.__qualname__ = 'DType'\nAny.__module__ = 'tilelang.dtypes'\n\n\n"
        + answer("return Any(a.name, a.kind, a.bits, a.mantissa, a.exponent)"), NO_DATA),
    "DType made equal to everything": (
        "DType.__eq__ = lambda a, b: True\n\n\n" + answer("return a"), "expected"),
    "changes the question": (
        answer("object.__setattr__(a, 'bits', b.bits)", "object.__setattr__(a, 'name', b.name)", "return a"),
        "changed one of its arguments|expected"),
    "patches the grader": (
        "for name in ('course.checking', 'course.learner', 'course.grading', 'pytest'):\n"
        "    module = sys.modules.setdefault(name, type(sys)(name))\n"
        "    module.check = module.mismatch = lambda *args, **keywords: ''\n\n\n" + answer("return a"), "expected"),
    "patches the wire": (
        "sys.modules['course.wire'].encode = lambda value: b'nonsense'\n\n\n" + answer("return a"), "cannot be read"),
    "patches builtins": (
        "builtins.isinstance = lambda *a: True\nbuiltins.type = lambda *a: DType\n\n\n" + answer("return a"),
        "ended the whole process|expected|no plain value|lost"),
    "writes into the pipe": (
        answer("for handle in range(3, 20):", "    try:", "        os.write(handle, bytes(64))", "    except OSError:",
               "        pass", "return a"), "cannot be read|expected"),
    "a value that contains itself": (answer("x = []", "x.append(x)", "return x"), "contains itself"),
    "a value as deep as a well": (
        answer("x = ()", "for _ in range(100_000):", "    x = (x,)", "return x"), "no plain value|nested too deep"),
    "a value of 100 MB": (answer("return b'x' * (100 << 20)"), r"a bytes of 104857\d+ bytes, which is no plain value"),
    "more memory than there is": (
        "import numpy\n\n\n" + answer("return [numpy.zeros(1 << 27) for _ in range(1000)]"), "MemoryError"),
    "recursion while loading": ("def again():\n    return again()\n\n\nagain()\n" + RIGHT, "loaded: RecursionError"),
    "recursion in another function": ("def again():\n    return again()\n\n\n" + answer("return again()"),
                                      "RecursionError"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), BOASTS.values(), ids=BOASTS.keys())
def test_nothing_but_right_answers_counts(tmp_path: Path, text: str, says: str) -> None:
    refused(tmp_path, IMPORTS + text, says)


def refused(folder: Path, text: str, says: str) -> None:
    result = graded(folder, text)
    said = "\n".join(message for _, message in result.messages)
    assert result.status == "failed" and re.search(says, said), said
    assert "Traceback" not in said and len(said) < 5000
    # And the next file is graded as if nothing had been.
    assert graded(folder, HEAD + RIGHT).status == "passed"


def test_the_file_that_is_graded_may_be_read(tmp_path: Path) -> None:
    """The line of a mistake is shown; other files may be read as well, as long as they are not the answer."""
    (tmp_path / "notes.txt").write_text("mine")
    text = "import pathlib\n\n\n" + answer("pathlib.Path(__file__).with_name('notes.txt').read_text()", "return 1 / 0")
    result = graded(tmp_path, text)
    assert "ZeroDivisionError" in result.messages[0][1] and "return 1 / 0" in result.messages[0][1]
