"""The notebooks: each is written as a Python script, `notebooks/src/NN_slug.py` (jupytext's percent format).

    python -m course.notebooks build [NN ...]      make the .ipynb of each script, and run it: outputs are kept
    python -m course.notebooks check [NN ...]      fail if an .ipynb is not what its script says, or a link is dead
    python -m course.notebooks execute [NN ...]    run each from top to bottom, as a reader would; write nothing
    python -m course.notebooks render [NN ...]     make HTML, and images where Chromium is installed, in build/

The scripts are what is edited and reviewed. Needs the extra `notebooks`: `pip install -e '.[notebooks]'`.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
SOURCES = NOTEBOOKS / "src"
RENDERED = ROOT / "build" / "notebooks"
SECONDS = 300
"""For one cell."""
WIDTH, PIECE = 1280, 4000
"""Pixels of an image: a laptop's width, and a height that a browser draws well and that one can look at."""
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
USAGE = "usage: python -m course.notebooks build|check|execute|render [NN ...]"


def sources(words: list[str]) -> list[Path]:
    """The scripts whose names begin with one of the words; all without words. Raises LookupError."""
    found = sorted(SOURCES.glob("[0-9][0-9]_*.py"))
    if not words:
        return found
    chosen = [path for path in found if any(path.name.startswith(word) for word in words)]
    lost = [word for word in words if not any(path.name.startswith(word) for path in chosen)]
    if lost:
        raise LookupError(f"no notebook begins with {', '.join(lost)}: there are {', '.join(p.stem for p in found)}")
    return chosen


def notebook_of(source: Path) -> Path:
    """`notebooks/src/00_tour.py` -> `notebooks/00_tour.ipynb`."""
    return NOTEBOOKS / f"{source.stem}.ipynb"


def fresh(source: Path) -> NotebookNode:
    """The notebook that a script says, without outputs. The same script always gives the same notebook."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = NotebookNode(kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python"))
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        cell.metadata.pop("lines_to_next_cell", None)
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:10]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def executed(source: Path) -> NotebookNode:
    """The notebook with its outputs. Raises CellExecutionError if a cell fails that is not meant to."""
    notebook = fresh(source)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", record_timing=False,
                            resources={"metadata": {"path": str(NOTEBOOKS)}})
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    notebook.metadata = fresh(source).metadata  # the kernel added its Python version, which differs
    return notebook


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs, pieces of one stream put together: how it was cut is chance."""
    result: list[NotebookNode] = []
    for output in outputs:
        last = result[-1] if result else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            result.append(output)
    return result


# ------------------------------------------------------------------------------------ the commands


def build(source: Path) -> list[str]:
    """Write the notebook with its outputs."""
    try:
        nbformat.write(executed(source), notebook_of(source))
    except CellExecutionError as error:
        return [f"{source.name}: {error}"]
    print(f"wrote {notebook_of(source).relative_to(ROOT)}")
    return []


def execute(source: Path) -> list[str]:
    """Run a notebook; what failed."""
    try:
        executed(source)
    except CellExecutionError as error:
        return [f"{source.name}: {error}"]
    print(f"{source.stem}: every cell ran")
    return []


def check(source: Path) -> list[str]:
    """What is not as it should be in a notebook, without running it."""
    path = notebook_of(source)
    if not path.is_file():
        return [f"{path.name} is missing: run `python -m course.notebooks build {source.stem[:2]}`"]
    there, made = nbformat.read(path, as_version=4), fresh(source)
    wrong = []
    if [_content(cell) for cell in there.cells] != [_content(cell) for cell in made.cells]:
        wrong.append(f"{path.name} is not what src/{source.name} says: run `python -m course.notebooks build`")
    if any(cell.cell_type == "code" and cell.source and cell.execution_count is None for cell in there.cells):
        wrong.append(f"{path.name} has cells that were not run")
    return wrong + [f"{path.name}: the link to {link} is dead" for link in dead_links(made, path.parent)]


def _content(cell: NotebookNode) -> tuple[object, ...]:
    return cell.id, cell.cell_type, cell.source, tuple(cell.metadata.get("tags", ()))


LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def dead_links(notebook: NotebookNode, folder: Path) -> list[str]:
    """The links of the Markdown cells that lead to no file of the course; links into the web are not followed."""
    links = [link for cell in notebook.cells if cell.cell_type == "markdown" for link in LINK.findall(cell.source)]
    return [link for link in links if "://" not in link and not (folder / link).exists()]


def render(source: Path) -> list[str]:
    """Write the notebook as it stands, with its outputs, as HTML and as an image."""
    from nbconvert import HTMLExporter

    if not notebook_of(source).is_file():
        return [f"{notebook_of(source).name} is missing: run `python -m course.notebooks build {source.stem[:2]}`"]
    RENDERED.mkdir(parents=True, exist_ok=True)
    page = RENDERED / f"{source.stem}.html"
    body, _ = HTMLExporter(embed_images=True).from_filename(str(notebook_of(source)))
    page.write_text(body, encoding="utf-8")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print(f"wrote {page.relative_to(ROOT)}; no Chromium here, so no image")
        return []
    images = _images(browser, page, body)
    print(f"wrote {page.relative_to(ROOT)} and {len(images)} images of it, {images[0].name} and so on")
    return []


def _images(browser: str, page: Path, html: str) -> list[Path]:
    """The page from top to bottom, in pieces of PIECE pixels."""
    for old in page.parent.glob(f"{page.stem}_[0-9]*.png"):
        old.unlink()
    dom = _browse(browser, page, with_its_height(html), "--dump-dom")
    pieces = []
    for number, html_from in enumerate(from_each_piece(html, dom), 1):
        pieces.append(page.with_name(f"{page.stem}_{number}.png"))
        _browse(browser, page, html_from, f"--screenshot={pieces[-1]}")
    return pieces


def _browse(browser: str, page: Path, html: str, *task: str) -> str:
    """Let the browser do a task with a variant of a page; what it prints."""
    variant = page.with_suffix(".variant.html")
    variant.write_text(html, encoding="utf-8")
    done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                           "--hide-scrollbars", "--virtual-time-budget=4000", f"--window-size={WIDTH},{PIECE}", *task,
                           variant.as_uri()], check=True, capture_output=True, timeout=120)
    variant.unlink()
    return done.stdout.decode("utf-8")


HEIGHT = "data-pixels"
"""Where a page notes its height."""


def with_its_height(html: str) -> str:
    """The page with a script that notes how high it became."""
    note = f"document.body.setAttribute('{HEIGHT}', document.documentElement.scrollHeight)"
    return html.replace("</body>", f"<script>addEventListener('load', () => {note})</script></body>")


def from_each_piece(html: str, dom: str) -> list[str]:
    """The page moved up by nothing, by PIECE, by twice that, and so on, to its end; `dom` has its height noted."""
    found = re.search(rf'{HEIGHT}="(\d+)"', dom)
    if found is None:
        raise ValueError("the browser did not say how high the page is")
    styles = (f"<style>body {{ margin-top: {-top}px !important }}</style>"
              for top in range(0, int(found.group(1)), PIECE))
    return [html.replace("</head>", f"{style}</head>") for style in styles]


COMMANDS: dict[str, Callable[[Path], list[str]]] = {"build": build, "check": check, "execute": execute,
                                                    "render": render}


def main(words: list[str]) -> int:
    if not words or words[0] not in COMMANDS:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        chosen = sources(words[1:])
    except LookupError as error:
        print(error, file=sys.stderr)
        return 2
    wrong = [problem for source in chosen for problem in COMMANDS[words[0]](source)]
    for problem in wrong:
        print(problem, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
