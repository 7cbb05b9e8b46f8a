"""Layouts as text and as SVG."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tilelang import compile as compile_program
from tilelang.dtypes import F16, F32
from tilelang.semantics.binding import TensorFact
from tilelang.tiling.layout import LinearLayout
from tilelang.tiling.pictures import picture, show_layouts, svg_picture
from tilelang.tiling.targets import TARGETS


def test_a_thread_and_a_register_for_each_element():
    assert picture(LinearLayout((2, 8), 4, vector=2)) == """\
0.0 0.1 1.0 1.1 2.0 2.1 3.0 3.1
0.2 0.3 1.2 1.3 2.2 2.3 3.2 3.3"""
    assert picture(LinearLayout((3, 2, 2), 4)) == "0.0 1.0\n2.0 3.0\n0.1 1.1\n2.1 3.1\n0.2 1.2\n2.2 3.2"
    assert picture(LinearLayout((), 4)) == "0.0"


def test_large_tiles_end_in_dots():
    lines = picture(LinearLayout((64, 64), 128), rows=2, columns=3).splitlines()
    assert lines == ["   0.0    1.0    2.0 ...", "  64.0   65.0   66.0 ...", "..."]


@pytest.mark.parametrize("layout", [
    LinearLayout((4, 8), 8, vector=2), LinearLayout((5,), 4), LinearLayout((64, 64), 32)])
def test_svg_has_a_square_for_each_element(layout):
    root = ElementTree.fromstring(svg_picture(layout))
    texts = [node.text for node in root if node.tag.endswith("text")]
    assert len(texts) == min(layout.size, 16 * 32) and texts[:2] == picture(layout, 1, 2).split()[:2]
    colours = {node.attrib["fill"] for node in root if node.tag.endswith("rect")}
    assert len(colours) == len({text.split(".")[0] for text in texts})


ADD = """kernel add(x: f32[N], y: f16[N], out z: f32[N]) grid (cdiv(N, 1024)) {
    let i = program_id(0) * 1024 +: 1024;
    z[i] = x[i] + (y[i + 1] as f32);
}"""


def test_what_is_decided_for_a_kernel():
    compiled = compile_program(ADD)["add"].compile(*(TensorFact(d, (4096,)) for d in (F32, F16, F32)), target="sm_80")
    kernel = compiled.optimized
    assert kernel is not None
    text = show_layouts(replace(kernel, attrs={**kernel.attrs, **dict(compiled.facts)}), TARGETS["sm_80"])
    assert text.startswith("128 threads on sm_80\n\n[1024]: 8 registers in each thread, 4 neighbours in a row\n")
    assert "  load x: 16 bytes at once (4 x f32)\n  load y: 2 bytes at once (1 x f16)\n  store z: 16 bytes" in text
    assert "0.0   0.1   0.2   0.3   1.0" in text
    assert "4 bytes at once (1 x f32)" in show_layouts(kernel, TARGETS["sm_80"])
