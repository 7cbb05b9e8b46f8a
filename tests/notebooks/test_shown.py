"""What a notebook shows of programs, IR, compilations, layouts and profiles."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import tilelang
from course.pictures import (
    Bar,
    Cell,
    Point,
    Span,
    Tree,
    draw_banks,
    draw_bars,
    draw_broadcast,
    draw_butterfly,
    draw_cells,
    draw_chain,
    draw_gpu,
    draw_grid,
    draw_holdings,
    draw_matrices,
    draw_memories,
    draw_names,
    draw_pass,
    draw_road,
    draw_roofline,
    draw_timeline,
    draw_tokens,
    draw_tree,
    draw_warp,
    linked,
    syntax_tree,
)
from course.pictures.passes import COME, GONE
from tilelang.diagnostics import InternalError, Sink, Source
from tilelang.driver import CPU, FRONT, GPU, MIDDLE, Compilation
from tilelang.ir.printer import print_kernel
from tilelang.machine.gpus import GPUS
from tilelang.machine.lanes import Lanes
from tilelang.machine.profile import profile
from tilelang.machine.traffic import wavefronts
from tilelang.notebook.drawings import megabytes, microseconds
from tilelang.notebook.formatters import highlighted
from tilelang.notebook.linked import Column, Row, code_column, side_by_side
from tilelang.notebook.svg import FILLS, INK, STROKES, Picture
from tilelang.runtime.tuning.result import Trial, TuningResult
from tilelang.semantics.names import resolve
from tilelang.syntax.lexing import lex
from tilelang.syntax.parsing import parse
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.mma import AccumulatorLayout
from tilelang.tiling.patch_layout import PatchLayout

SOFTMAX = Path(__file__).parents[2] / "course" / "kernels" / "softmax.tile"
SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture: Picture) -> ElementTree.Element:
    """The picture as XML, in which no id may stand: many pictures share a page."""
    root = ElementTree.fromstring(picture._repr_svg_())
    assert root.tag == SVG + "svg"
    assert not [e for e in root.iter() if "id" in e.attrib]
    return root


def words(picture: Picture) -> str:
    return "\n".join(e.text or "" for e in parsed(picture).iter(SVG + "text"))


def inside(picture: Picture) -> bool:
    """True if no rectangle reaches out of the picture."""
    rects = [[float(e.attrib[k]) for k in ("x", "y", "width", "height")] for e in parsed(picture).iter(SVG + "rect")]
    return all(x >= 0 and x + wide <= picture.width + 0.1 and y + high <= picture.height + 0.1
               for x, y, wide, high in rects)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)


@pytest.fixture(scope="module")
def softmax() -> tilelang.KernelHandle:
    return tilelang.load(SOFTMAX)["softmax"]


def test_a_program_is_its_text(shell: InteractiveShell) -> None:
    data, _ = shell.display_formatter.format(tilelang.load(SOFTMAX))
    text = re.sub(r"<[^>]*>", "", data["text/html"])
    assert "kernel softmax[T: {f32, f16, bf16}" in text and "# y[r, :] = exp" in text


def test_highlighting_keeps_every_character() -> None:
    for text in ("let a = 1 < 2; # <b> & \"x\"\n", "not a program ? < \n\n  &", ""):
        plain = re.sub(r"<[^>]*>", "", highlighted(Source(text)))
        assert plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&") == text


def test_ir_is_its_text(shell: InteractiveShell, softmax: tilelang.KernelHandle, x: np.ndarray) -> None:
    for kernel in (softmax.compile(x, target="sm_80").optimized, softmax.compile(x, target="sm_80").thread_ir):
        data, _ = shell.display_formatter.format(kernel)
        assert data["text/plain"] == print_kernel(kernel).rstrip("\n")


def test_a_compilation_shows_its_stages_linked(shell: InteractiveShell, softmax: tilelang.KernelHandle,
                                               x: np.ndarray) -> None:
    compiled = softmax.compile(x, target="sm_80")
    data, _ = shell.display_formatter.format(compiled)
    assert "GPU code" in data["image/svg+xml"]
    assert data["text/plain"].startswith("<picture: source")


@pytest.mark.parametrize(("stages", "lines"), [
    (("tile_ir", "optimized"), 5), (("optimized", "cuda"), 5), (("thread_ir",), 4),  # `cols` is no op of a thread
])
def test_linked_rows_share_a_colour(softmax: tilelang.KernelHandle, x: np.ndarray, stages: tuple[str, ...],
                                    lines: int) -> None:
    picture = linked(softmax.compile(x, target="sm_80"), *stages)
    assert inside(picture)
    fills = [e.attrib["fill"] for e in parsed(picture).iter(SVG + "rect")]
    shared = {fill for fill in fills if fill in FILLS and fills.count(fill) > 1}
    assert len(shared) == lines


def test_linked_needs_the_stage(softmax: tilelang.KernelHandle, x: np.ndarray) -> None:
    with pytest.raises(InternalError, match="cpu"):
        linked(softmax.compile(x, target="sm_80"), "cpu")


def test_code_is_cut_at_its_function_and_keyed_by_its_comments() -> None:
    code = "import x\n\ndef f():\n    a = 1\n    # 7: let b = 2;\n    b = 2\n\n    c = 3\n    # a remark\n"
    assert code_column("code", code).rows == (
        Row("def f():"), Row("    a = 1"), Row("    b = 2", 7), Row("    c = 3", 7), Row("    # a remark", 7))


def test_columns_that_are_empty_or_long() -> None:
    picture = side_by_side([Column("one", (Row("a" * 500, 1),)), Column("two", ()), Column("three", (Row("b", 1),))])
    assert "…" in words(picture) and picture.width < 1200


@pytest.mark.parametrize(("layout", "shown"), [
    (LinearLayout((12,), 4), 12), (LinearLayout((4, 8), 8), 32), (LinearLayout((3, 5), 4), 15),
    (LinearLayout((2, 4, 4), 8), 16), (LinearLayout((64, 64), 128), 32 * 32),
])
def test_a_layout_names_thread_and_register(shell: InteractiveShell, layout: LinearLayout, shown: int) -> None:
    data, _ = shell.display_formatter.format(layout)
    root = ElementTree.fromstring(data["image/svg+xml"])
    cells = [e.text for e in root.iter(SVG + "text") if re.fullmatch(r"\d+\.\d+", e.text or "")]
    assert len(cells) == shown
    assert cells[:2] == ["0.0", "1.0"]  # the neighbour is the next thread's


def test_a_profile_shows_both_traffics(shell: InteractiveShell, softmax: tilelang.KernelHandle, x: np.ndarray) -> None:
    launch, stages = softmax.prepare(x, device="model"), softmax.compile(x, target="sm_80")
    found = profile(stages.thread_ir, stages.optimized, GPUS["a100"], launch.arguments, launch.dims, launch.grid,
                    stages.source)
    data, _ = shell.display_formatter.format(found)
    assert megabytes(found.traffic.total) in data["image/svg+xml"]
    assert megabytes(found.eager.bytes) in data["image/svg+xml"]


def test_amounts() -> None:
    assert [megabytes(n) for n in (12, 33_554_432, 1.2e9)] == ["12 B", "33.6 MB", "1.2 GB"]
    assert [microseconds(s) for s in (2, 0.0012, 21.6e-6, 5e-9)] == ["2 s", "1.2 ms", "21.6 µs", "5 ns"]


# ------------------------------------------------------------------------------------ the course's own


def test_the_road_has_every_stage() -> None:
    picture = draw_road("tokens")
    assert len(words(picture).split("\n")) == 2 + len((*FRONT, *MIDDLE, *GPU, *CPU))
    assert inside(picture)


def test_a_tree_keeps_the_order_of_the_text() -> None:
    leaves = tuple(Tree(word, leaf=True) for word in "abc")
    tree = Tree("a rule with a long name", (Tree("inner", leaves[:2]), leaves[2]))
    picture = draw_tree(tree, "title")
    at = {e.text: float(e.attrib["x"]) for e in parsed(picture).iter(SVG + "text")}
    assert at["a"] < at["b"] < at["c"] and at["a"] < at["inner"] < at["b"]
    assert inside(picture)


def test_the_syntax_tree_of_a_line() -> None:
    module = tilelang.load(SOFTMAX).front.module
    tree = syntax_tree(module.kernels[0].body.body[0])
    assert tree == Tree("Let row", (Tree("Call program_id", (Tree("IntLit 0", leaf=True),)),))


@pytest.mark.parametrize(("step", "count"), [(1, 4), (2, 8), (8, 32), (0, 1)])
def test_a_warp_counts_sectors(step: int, count: int) -> None:
    picture = draw_warp([4 * step * thread for thread in range(32)], 4, "title")
    assert f"{count} sectors of 32 bytes move" in words(picture)
    assert inside(picture)


def test_pictures_of_a_gpu_stay_inside() -> None:
    memories = [("registers", 100.0, "100 B", 1e12, "1 TB/s"), ("HBM", 1e9, "1 GB", 1e11, "0.1 TB/s")]
    for picture in (draw_grid(100, 4, 4), draw_grid(3, 1, 8), draw_memories(memories),
                    draw_gpu("GPU", 80, [("r", "1", "2"), ("s", "1", "2"), ("l", "1", "2"), ("h", "1", "2")]),
                    draw_bars("title", [Bar("a", (1, 2), "3"), Bar("b", (0,), "0")], legend=("one", "two")),
                    draw_chain("title", [("a", "does", "b\nb"), ("c", "", "d", "", "e")]),
                    draw_bars("title", [Bar("a", (1,), "1"), Bar("b", (1e6,), "a million")], logarithmic=True)):
        assert inside(picture), picture


def test_a_pass_marks_what_went_and_what_came(softmax: tilelang.KernelHandle, x: np.ndarray) -> None:
    stages = softmax.compile(x, target="sm_80")
    picture = draw_pass(stages.tile_ir, stages.optimized)
    fills = [e.attrib["fill"] for e in parsed(picture).iter(SVG + "rect")]
    assert fills.count(GONE) == 5 and fills.count(COME) == 3  # see chapter 0: -inf folded, two checks dropped
    assert inside(picture)
    same = draw_pass(stages.optimized, stages.optimized)
    assert repr(same).startswith("<picture: 0 of 12 lines go, 0 come")


@pytest.mark.parametrize(("a", "b", "result"), [((4, 1), (5,), (4, 5)), ((3,), (3,), (3,)), ((2, 3), (2, 1), (2, 3))])
def test_broadcasting_is_drawn_to_one_shape(a: tuple[int, ...], b: tuple[int, ...], result: tuple[int, ...]) -> None:
    picture = draw_broadcast(a, b, result)
    cells = [e for e in parsed(picture).iter(SVG + "rect") if "opacity" in e.attrib]
    size = int(np.prod(result))
    assert len(cells) == 2 * size - int(np.prod(a)) - int(np.prod(b))  # the faint ones
    assert inside(picture)


def test_names_have_the_colour_of_their_definition() -> None:
    source = Source("kernel k(x: f32[N], out y: f32[N]) grid (N) {\n    let i = program_id(0);\n    y[i] = x[i];\n}\n")
    sink = Sink()
    picture = draw_names(source, resolve(parse(source, sink), sink))
    rects = list(parsed(picture).iter(SVG + "rect"))[1:]
    framed = [r.attrib["fill"] for r in rects if r.attrib["stroke"] != "none"]
    assert len(framed) == len(set(framed)) == 4  # x, N, y, i
    assert len(rects) == 4 + 2 + 1 + 1 + 2  # and their uses: N twice, x, y, i twice
    assert inside(picture)


@pytest.mark.parametrize("text", ["a", "let i = 0x1f +: B; # rows", 'print("x", 1.5);'])
def test_tokens_are_boxed_where_they_stand(text: str) -> None:
    source = Source(text)
    tokens = lex(source, Sink(), keep_comments=True)
    picture = draw_tokens(text, tokens)
    boxes = [e for e in parsed(picture).iter(SVG + "rect") if e.find(SVG + "title") is not None]
    assert len(boxes) == len(tokens) and inside(picture)
    numbers = [(float(e.attrib["x"]), e.text or "") for e in parsed(picture).iter(SVG + "text")
               if e.attrib["font-size"] == "9"]
    assert all(x + 5 * len(words) < right for (x, words), (right, _) in pairwise(numbers))  # none upon another


def test_a_picture_says_what_it_shows() -> None:
    assert repr(draw_road()) == "<picture: the stages of the compiler in order>"
    assert Compilation(Source("")).tokens is None


# ------------------------------------------------------------------------------------ chapters 9 and 10


@pytest.mark.parametrize("layout", [AccumulatorLayout((32, 16), (2, 1)), PatchLayout((4, 64), 2)])
def test_layouts_of_products_show_themselves(shell: InteractiveShell, layout: AccumulatorLayout | PatchLayout) -> None:
    data, _ = shell.display_formatter.format(layout)
    root = ElementTree.fromstring(data["image/svg+xml"])
    cells = [e.text for e in root.iter(SVG + "text") if re.fullmatch(r"\d+\.\d+", e.text or "")]
    drawn = [(row, column) for row in range(layout.shape[0]) for column in range(min(layout.shape[1], 32))]
    assert cells == [".".join(map(str, layout.place(at))) for at in drawn]


def test_a_map_names_every_element() -> None:
    picture = draw_cells((2, 3), lambda row, column: Cell(row, f"{row}{column}", faint=column == 2), "title", below="b")
    assert words(picture).split("\n") == ["title", "00", "01", "02", "10", "11", "12", "b"]
    assert sum("opacity" in e.attrib for e in parsed(picture).iter(SVG + "rect")) == 2
    assert inside(picture)


def test_holdings_show_one_thread_and_register_0() -> None:
    picture = draw_holdings(LinearLayout((4, 64), 64), 5)
    fills = [e.attrib["fill"] for e in parsed(picture).iter(SVG + "rect")]
    assert fills.count(INK) == 4                                # the four elements of thread 5
    assert fills.count(STROKES[0]) == 31 and fills.count(STROKES[1]) == 32  # register 0 of the two warps, but thread 5
    assert "thread 5 with its 4 elements" in words(picture)
    assert inside(picture)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_a_butterfly_ends_with_everything_everywhere(lanes: int) -> None:
    picture = draw_butterfly(lanes)
    lines = words(picture).split("\n")
    letters = "abcdefgh"[:lanes]
    last = "+".join(letters) if lanes <= 4 else f"{letters[0]}+…+{letters[-1]}"
    assert lines[-lanes:] == [last] * lanes
    assert f"in {lanes.bit_length() - 1} steps" in repr(picture) and inside(picture)


@pytest.mark.parametrize(("words_of_lanes", "passes"), [
    (list(range(32)), 1), ([0] * 32, 1), ([2 * lane for lane in range(32)], 2), ([32 * lane for lane in range(32)], 32),
    ([33 * lane for lane in range(32)], 1), ([lane // 2 for lane in range(32)], 1),
])
def test_banks_count_passes_as_the_model_does(words_of_lanes: list[int], passes: int) -> None:
    index = np.array(words_of_lanes).reshape(1, 1, 32)
    assert wavefronts(index, 4, Lanes((1, 1, 32)))[0] == passes
    picture = draw_banks(words_of_lanes, "title")
    assert f"{passes} pass" in words(picture) and repr(picture).endswith(f" {passes} passes>")
    assert inside(picture)


def test_a_timeline_is_on_one_scale() -> None:
    rows = [("copy", [Span(0, 40, "a"), Span(40, 80, "b")]), ("multiply", [Span(80, 90, "c")])]
    picture = draw_timeline("title", rows, "ns", end=100)
    bars = [e for e in parsed(picture).iter(SVG + "rect") if e.find(SVG + "title") is not None]
    assert [e.findtext(SVG + "title") for e in bars] == ["a: 0 to 40", "b: 40 to 80", "c: 80 to 90"]
    first, second = ({k: float(e.attrib[k]) for k in ("x", "width")} for e in bars[:2])
    assert second["x"] == pytest.approx(first["x"] + first["width"] + 1, abs=0.3)
    assert inside(picture)


def test_points_lie_below_the_roof() -> None:
    points = [Point("memory", 0.5, 5e11), Point("arithmetic", 1000.0, 1e13)]
    picture = draw_roofline("title", 1e12, [("f32", 2e13)], points)
    circles = [e for e in parsed(picture).iter(SVG + "rect") if e.attrib["rx"] == "8"]
    assert len(circles) == 4 and inside(picture)
    low, high = (float(e.attrib["y"]) for e in (circles[0], circles[2]))
    assert high < low                                           # faster is higher
    assert {"memory", "arithmetic", "f32"} <= set(words(picture).split("\n"))


def test_points_do_not_cover_one_another() -> None:
    picture = draw_roofline("title", 1e12, [("f32", 2e13)], [Point(name, 8.0, 1e12) for name in "abc"])
    circles = [e for e in parsed(picture).iter(SVG + "rect") if e.attrib["rx"] == "8"][::2]
    lefts = [float(e.attrib["x"]) for e in circles]
    assert all(right - left >= 16 for left, right in pairwise(lefts)) and inside(picture)


def test_a_tuning_result_is_text_in_a_notebook_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    trials = (Trial(0, {"BM": 32}, 2e-3, 7), Trial(1, {"BM": 64}, 1e-3, 7))
    shown = str(TuningResult("matmul", "somewhere", "measurement", trials))
    assert "BM=64, 2.00 times as fast" in shown and "\x1b" not in shown


def test_matrices_are_shaded_side_by_side() -> None:
    half = np.array([[0.0, 0.5], [np.nan, 2.0]])
    picture = draw_matrices(["one", "two"], [half, np.zeros((1, 3))], rows=["a", "b"], columns=["x", "y", "z"])
    assert inside(picture) and words(picture).split() == ["one", "x", "y", "a", "b", "two", "x", "y", "z", "a"]
    fills = [e.attrib["fill"] for e in parsed(picture).iter(SVG + "rect")][1:]
    assert fills[0] == fills[4] == "#fcfcfa" and fills[2] == "#ffffff" and fills[3] == "#2f6fb0"  # 2 is cut to 1
    assert fills[1] not in (fills[0], fills[3])
