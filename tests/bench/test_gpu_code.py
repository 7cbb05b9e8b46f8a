"""The report of GPU code: its figures, and that Triton's kernels are asked for rightly. Triton itself is optional."""

from __future__ import annotations

import base64
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilelang
from tests.runtime.test_sass import PRODUCT, STRAIGHT
from tests.toolchain import needs_toolchain, toolchain_missing
from tilelang.bench import gpu_code
from tilelang.bench.gpu_cases import GPU_CASES, GpuCase
from tilelang.bench.gpu_code import Figures, figures
from tilelang.runtime import cuda_compile
from tilelang.semantics.binding import ScalarFact
from tilelang.tiling.targets import TARGETS

needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None or toolchain_missing(),
                                  reason="needs pip install 'tile-course[cuda,triton]'")
HMMAS = 2 * (16 * 8 * 16 + 16 * 8 * 8)
"""Flops of the two tensor-core instructions in PRODUCT's loop."""


def case(name: str) -> GpuCase:
    return next(c for c in GPU_CASES if c.name.startswith(name))


def test_figures_without_a_loop_are_of_the_whole_kernel():
    assert figures(STRAIGHT, 4, 0) == Figures(0, 0, 3, 2, 0, 0, 0, 0, 7)


def test_figures_of_a_loop_are_of_one_step():
    """The loop makes two steps of this many flops, so a step is half of it: warps do each their own product."""
    found = figures(PRODUCT, warps=4, flops=HMMAS * 4 // 2)
    assert found == Figures(250, 0, 2, 1, tensor=1, copies=0.5, matrices=1, barriers=0.5, instructions=5)


def test_a_warp_group_does_one_instruction_together():
    line = "        /*0010*/                   HGMMA.64x128x16.F32 R88, gdesc[UR8].tnspB, R88 ;\n"
    text = f".L_x_0:\n{line}{line}        /*0020*/              @!P0 BRA `(.L_x_0) ;\n"
    assert figures(text, warps=4, flops=2 * 2 * 64 * 128 * 16).tensor == 2
    assert figures(text, warps=8, flops=2 * 2 * 64 * 128 * 16).tensor == 1


def test_a_loop_without_the_products_that_were_expected_shows():
    assert figures(STRAIGHT, warps=4, flops=1000).instructions == 0


@pytest.mark.parametrize("chosen", GPU_CASES, ids=lambda c: c.name)
def test_cases_match_the_kernels_and_say_the_same_to_both(chosen):
    assert chosen.path.is_file()
    request = chosen.triton_request(90)
    assert set(request["divisible"]) == {n for n, t in request["types"].items() if t not in ("constexpr", "fp32")}
    assert list(request["types"])[:len(chosen.tensors)] == list(chosen.tensors)
    assert all(extent % 16 == 0 for tensor in chosen.tensors.values() if tensor for extent in tensor[1][-2:])
    assert any(isinstance(a, ScalarFact) for a in chosen.arguments) == (None in chosen.tensors.values())
    json.dumps(request)


def test_a_python_without_triton_is_a_reason(tmp_path: Path):
    """With -S no package that was installed can be found."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    python.chmod(0o755)
    asked = [(case("softmax"), TARGETS["sm_80"])]
    assert gpu_code.triton_figures(asked, str(python)) == ["ModuleNotFoundError: No module named 'triton'"]


def test_a_process_that_fails_or_is_not_there_is_a_reason(tmp_path: Path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'no luck today' >&2\nexit 3\n")
    python.chmod(0o755)
    asked = [(case("softmax"), TARGETS["sm_80"])] * 2
    assert gpu_code.triton_figures(asked, str(python)) == ["no luck today"] * 2
    (found,) = gpu_code.triton_figures(asked[:1], str(tmp_path / "nothing"))
    assert "nothing" in str(found)


def test_answers_stand_beside_the_right_rows(monkeypatch: pytest.MonkeyPatch):
    answers = [{"cubin": base64.b64encode(b"one").decode(), "error": None}, {"cubin": None, "error": "no sm_75"}]
    done = subprocess.CompletedProcess([], 0, "a warning\n" + "\n".join(map(json.dumps, answers)), "")
    monkeypatch.setattr(gpu_code.subprocess, "run", lambda *_, **__: done)
    monkeypatch.setattr(cuda_compile, "disassemble", lambda cubin: {b"one": STRAIGHT}[cubin])
    monkeypatch.setattr(gpu_code, "our_figures", lambda *_: Figures(1, 0, 3, 3, 0, 0, 0, 0, 14))
    first, second = gpu_code.report([case("softmax"), case("vector add")], ["sm_80"], "python")
    assert first.ratio == 2.0 and first.triton == figures(STRAIGHT, 4, 0) and first.missing == ""
    assert second.ratio is None and second.triton is None and second.missing == "no sm_75"


@pytest.mark.cuda_toolchain
@needs_toolchain
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_a_streaming_kernel(target):
    found = gpu_code.our_figures(case("vector add"), TARGETS[target])
    assert (found.wide, found.accesses, found.local, found.barriers) == (6, 6, 0, 0)
    assert 0 < found.registers <= 32 and 0 < found.instructions < 100


@pytest.mark.cuda_toolchain
@needs_toolchain
@pytest.mark.parametrize(("warps", "triton"), [(4, 210), (8, 133)])
def test_the_aims_for_a_product(warps, triton):
    """No spills, all accesses wide, and at most 1.3 times the instructions that Triton 3.9 needs for a step."""
    (product,) = [c for c in GPU_CASES if c.kernel == "matmul" and c.warps == warps]
    found = gpu_code.our_figures(product, TARGETS["sm_80"])
    assert found.local == 0 and found.wide == found.accesses > 0 and found.barriers == 1
    assert (found.tensor, found.copies) == (256 / warps, 32 / warps)
    assert 0 < found.instructions <= 1.3 * triton


APPROXIMATE = [c for c in GPU_CASES if c.approximate]
TRITONS = {"vector_add": (38, 41), "softmax": (160, 163), "layer_norm": (145, 156), "attention": (570, 532)}
"""Instructions of a step that Triton 3.9 needs on sm_80 and sm_90."""


@pytest.mark.cuda_toolchain
@needs_toolchain
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("chosen", [case("vector add"), *APPROXIMATE], ids=lambda c: c.name)
def test_with_the_same_arithmetic_there_are_at_most_1_3_times_as_many_instructions(chosen, target):
    found = gpu_code.our_figures(chosen, TARGETS[target])
    triton = TRITONS[chosen.kernel][target == "sm_90"]
    assert 0 < found.instructions <= 1.3 * triton and found.local == 0


@pytest.mark.cuda_toolchain
@needs_toolchain
@pytest.mark.parametrize(("name", "target", "most"), [
    ("softmax", "sm_80", 285), ("layer norm", "sm_80", 205), ("layer norm", "sm_90", 230), ("attention", "sm_80", 800)])
def test_exact_arithmetic_takes_no_more_than_it_did(name, target, most):
    """About what they take, so that a step back shows."""
    assert 0 < gpu_code.our_figures(case(name), TARGETS[target]).instructions <= most


@pytest.mark.parametrize("device", ["reference", "model"])
@pytest.mark.parametrize("chosen", APPROXIMATE, ids=lambda c: c.name)
def test_approximate_kernels_are_those_of_the_library(chosen, device):
    """As far as devices that do not approximate can tell: smaller tensors of the same kinds, by both."""
    rng = np.random.default_rng(3)
    given = [rng.standard_normal((2, 24, 16) if len(tensor[1]) == 3 else (5, 40)[-len(tensor[1]):], np.float32)
             if tensor else 0.5 for name, tensor in chosen.tensors.items() if name not in ("y", "o", "mean", "rstd")]
    metas = {"BM": 16, "BN": 16} if chosen.kernel == "attention" else {}
    library = next(c for c in GPU_CASES if c.kernel == chosen.kernel and not c.approximate)
    got, wanted = (tilelang.load(c.path)[c.kernel](*given, device=device, **metas) for c in (chosen, library))
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (got, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


@pytest.mark.cuda_toolchain
@needs_triton
def test_triton_compiles_its_kernels():
    found = gpu_code.triton_figures([(c, TARGETS["sm_80"]) for c in GPU_CASES], sys.executable)
    assert [f if isinstance(f, str) else "" for f in found] == [""] * len(GPU_CASES)
    product = found[[c.name for c in GPU_CASES].index("matmul, f16, 128 x 128 x 32")]
    assert isinstance(product, Figures) and (product.tensor, product.copies, product.local) == (64, 8, 0)
