"""Every program of the corpus can be profiled, and the figures hold together."""

from __future__ import annotations

import pytest

from tests.corpus import Case, load_corpus
from tilelang.diagnostics import Sink
from tilelang.machine.gpus import GPUS
from tilelang.machine.profile import profile
from tilelang.passes import optimize
from tilelang.tiling.lower import lower
from tilelang.tiling.targets import TARGETS


@pytest.mark.parametrize("case", [case for case in load_corpus() if case.fails is None], ids=str)
def test_figures_hold_together(case: Case) -> None:
    arguments = case.arguments()
    bound = case.specialise(arguments)
    tile, sink = optimize(bound.tile), Sink()
    thread = lower(tile, TARGETS["sm_80"], sink)
    found = profile(thread, tile, GPUS["a100"], arguments, bound.dims, bound.grid, case.source)
    assert not found.sampled
    assert found.findings == ()
    case.check(arguments)
    traffic, total = found.traffic, found.total
    assert traffic.total == traffic.compulsory <= total.sectors * 32  # all fits L2, and nothing comes from nowhere
    assert 0 <= total.useful <= total.sectors * 32
    assert 0 <= total.conflicts <= total.wavefronts - total.shared  # 8-byte elements take two passes without conflict
    assert total.sectors == sum(line.sectors for line in found.lines)
    assert found.occupancy.blocks >= 1
    if found.programs:
        assert found.eager.read >= 0 and found.eager.written > 0
        assert found.roofline.seconds > 0
    else:
        assert found.eager.bytes == found.roofline.seconds == 0
