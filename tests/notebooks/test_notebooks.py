"""Every notebook is in step with its script, and runs from top to bottom."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest

from course import notebooks
from tests.toolchain import toolchain_missing

SOURCES = notebooks.sources([])
NEEDS_CUDA = ("11", "13")
"""Those that show NVIDIA's machine code. Without NVIDIA's compilers they run too, but show that these are missing."""
SCRIPT = """\
# %% [markdown]
# # A title, [a link](other.md) and [the web](https://example.org)

# %%
print("a")
print("b")
1 + 1
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of notebooks with one script."""
    (tmp_path / "src").mkdir()
    script = tmp_path / "src" / "42_test.py"
    script.write_text(SCRIPT)
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    monkeypatch.setattr(notebooks, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(notebooks, "SOURCES", tmp_path / "src")
    return script


def test_there_are_notebooks() -> None:
    assert [path.stem[:2] for path in SOURCES[:3]] == ["00", "01", "02"]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_in_step_and_no_link_is_dead(source: Path) -> None:
    assert notebooks.check(source) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_runs_from_top_to_bottom(source: Path) -> None:
    made = notebooks.executed(source)
    there = nbformat.read(notebooks.notebook_of(source), as_version=4)
    if source.name[:2] in NEEDS_CUDA and toolchain_missing():
        return
    kinds = [[output.output_type for output in cell.get("outputs", ())] for cell in made.cells]
    assert kinds == [[output.output_type for output in cell.get("outputs", ())] for cell in there.cells]


def test_the_same_script_gives_the_same_notebook() -> None:
    assert notebooks.fresh(SOURCES[0]) == notebooks.fresh(SOURCES[0])


def test_tile_cells_reach_the_notebook_whole() -> None:
    cells = [cell.source for cell in notebooks.fresh(SOURCES[0]).cells if cell.source.startswith("%%tile")]
    assert len(cells) > 2 and all(cell.rstrip().endswith("}") for cell in cells)


def test_build_then_check(place: Path, capsys: pytest.CaptureFixture) -> None:
    assert notebooks.main(["check", "42"]) == 1
    assert "is missing" in capsys.readouterr().err
    assert notebooks.main(["build"]) == 0
    made = nbformat.read(place.parent.parent / "42_test.ipynb", as_version=4)
    nbformat.validate(made)
    assert [output.output_type for output in made.cells[1].outputs] == ["stream", "execute_result"]
    assert made.cells[1].outputs[0].text == "a\nb\n"
    assert notebooks.check(place) == ["42_test.ipynb: the link to other.md is dead"]
    (place.parent.parent / "other.md").touch()
    assert notebooks.check(place) == []
    place.write_text(SCRIPT.replace("1 + 1", "1 + 2"))
    assert "is not what src/42_test.py says" in notebooks.check(place)[0]


def test_a_cell_that_fails_fails_the_build(place: Path, capsys: pytest.CaptureFixture) -> None:
    place.write_text("# %%\n1 / 0\n")
    assert notebooks.main(["execute"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert notebooks.main(["build"]) == 1 and not notebooks.notebook_of(place).exists()


def test_render_needs_the_notebook(place: Path, capsys: pytest.CaptureFixture) -> None:
    assert notebooks.main(["render"]) == 1
    assert "is missing" in capsys.readouterr().err


def test_render_makes_a_page(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebooks, "RENDERED", tmp_path / "pages")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    nbformat.write(notebooks.fresh(place), notebooks.notebook_of(place))
    assert notebooks.main(["render"]) == 0
    assert "A title" in (tmp_path / "pages" / "42_test.html").read_text()


def test_images_reach_to_the_end_of_a_page() -> None:
    html = "<html><head></head><body>text</body></html>"
    assert "<script>" in notebooks.with_its_height(html)
    dom = f'<body {notebooks.HEIGHT}="{2 * notebooks.PIECE + 1}">'
    pieces = notebooks.from_each_piece(html, dom)
    assert [int(re.findall(r"margin-top: (-?\d+)px", piece)[0]) for piece in pieces] == [
        0, -notebooks.PIECE, -2 * notebooks.PIECE]
    with pytest.raises(ValueError, match="how high"):
        notebooks.from_each_piece(html, "<body>")


@pytest.mark.parametrize("words", [[], ["paint"], ["build", "77"]])
def test_usage(words: list[str], capsys: pytest.CaptureFixture) -> None:
    assert notebooks.main(words) == 2
    assert capsys.readouterr().err
