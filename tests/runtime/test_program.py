"""Programs and kernels from Python: what is returned, what is compiled, what a wrong call is told."""

from __future__ import annotations

import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilelang
from tests.runtime.lenders import Interfaced, Lender, OnGpu
from tilelang.dtypes import F16, F32
from tilelang.semantics.binding import ScalarFact, TensorFact

TEXT = """
kernel scale[T: {f32, f16, bf16, i32}, BLOCK: {64, 128}](x: T[N], s: T, out y: T[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = x[i] * s;
}
kernel both(x: f32[N], out y: f32[N], k: i32, inout z: f32[N], flag: bool) grid (1) {
    let i = 0 +: 64;
    y[i] = x[i] + (k as f32);
    z[i] = z[i] + select(flag, 1.0, 0.0);
}
kernel nothing(x: f32[N]) grid (1) { assert(x[0] >= 0.0, "negative"); }
kernel twice[BLOCK = next_pow2(N)](x: f32[N], out y: f32[N * 2]) grid (2) {
    let i = 0 +: BLOCK;
    y[program_id(0) * N + i] = x[i] where i < N;
}
kernel made(n: i32, out y: i32[N]) grid (N) { y[program_id(0)] = n + (program_id(0) as i32); }
kernel shout(x: f32[N]) grid (N) { print("value", x[program_id(0)]); }
"""
X = np.arange(70, dtype=np.float32)


@pytest.fixture(scope="module")
def program() -> tilelang.Program:
    return tilelang.compile(TEXT, "test.tile")


def codes(error: pytest.ExceptionInfo) -> list[str]:
    return [d.code for d in error.value.diagnostics]


def refuse(kernel: tilelang.KernelHandle, code: str, *args: object, **keywords: object) -> str:
    """The rendered message of a call that must be refused with this code, and with the signature and a help."""
    with pytest.raises(tilelang.CompileError) as error:
        kernel(*args, **{"device": "reference", **keywords})
    assert codes(error) == [code]
    text = str(error.value)
    assert "signature is kernel " + kernel.name in text
    return text


# ------------------------------------------------------------------------------ programs


def test_a_program_is_a_collection_of_kernels(program: tilelang.Program) -> None:
    assert list(program) == ["scale", "both", "nothing", "twice", "made", "shout"] == list(program.kernels)
    assert len(program) == 6 and "scale" in program and "x" not in program
    assert program["scale"] is program["scale"]
    assert repr(program) == "<tile program test.tile: scale, both, nothing, twice, made, shout>"
    assert repr(program["nothing"]) == "<tile kernel nothing(x: f32[N]) grid (1)>"
    assert program.source.text == TEXT


def test_an_unknown_kernel_has_near_misses(program: tilelang.Program) -> None:
    with pytest.raises(tilelang.CompileError, match="did you mean `scale`") as error:
        program["scael"]
    assert codes(error) == ["E0701"]
    with pytest.raises(tilelang.CompileError):
        program[3]  # type: ignore[index]


def test_load_reads_files_and_says_what_is_wrong_in_them(tmp_path: Path) -> None:
    path = tmp_path / "k.tile"
    path.write_bytes(TEXT.encode())
    assert "scale" in tilelang.load(path) and "scale" in tilelang.load(str(path))
    path.write_bytes(b"kernel k(x: f32[N]) grid (1) { let a = \xff; }")
    with pytest.raises(tilelang.CompileError, match="UTF-8"):
        tilelang.load(path)
    with pytest.raises(FileNotFoundError):
        tilelang.load(tmp_path / "other.tile")
    with pytest.raises(tilelang.CompileError, match="E0201"):
        tilelang.compile("kernel k(x: f32[N]) grid (1) { let a = y; }")


def test_what_is_wrong_in_a_kernel_shows_when_it_is_compiled() -> None:
    program = tilelang.compile("kernel k(x: f32[N], out y: i32[N]) grid (1) { y[0] = x[0]; }")
    with pytest.raises(tilelang.CompileError, match="as i32"):
        program["k"](X, device="reference")


# ------------------------------------------------------------------------------ results


def test_outputs_left_out_are_made_and_returned(program: tilelang.Program) -> None:
    y = program["scale"](X, 2.0, device="reference")
    np.testing.assert_array_equal(y, X * 2)
    assert program["nothing"](X, device="reference") is None
    y, z = program["both"](X, 3, np.zeros(70, np.float32), True, device="reference")
    np.testing.assert_array_equal(y[:64], X[:64] + 3)
    assert (y[64:] == 0).all(), "what a kernel does not write is zero in an array made for it"
    assert z[:64].tolist() == [1.0] * 64


def test_arrays_passed_are_the_ones_returned(program: tilelang.Program) -> None:
    y, z = np.zeros(70, np.float32), np.zeros(70, np.float32)
    found = program["both"](X, y, 1, z, False, device="reference")
    assert found[0] is y and found[1] is z
    lent = Interfaced(np.zeros(70, np.float32))
    assert program["scale"](X, 2.0, y=lent, device="reference") is lent
    np.testing.assert_array_equal(lent.array, X * 2)


@pytest.mark.parametrize(
    "give",
    [
        lambda k, y, z: k(X, y, 1, z, True, device="reference"),
        lambda k, y, z: k(X, 1, z, True, y=y, device="reference"),
        lambda k, y, z: k(x=X, y=y, k=1, z=z, flag=True, device="reference"),
        lambda k, y, z: k(X, flag=np.True_, z=z, k=np.int64(1), y=y, device="reference"),
        lambda k, y, z: k(Lender(X, 2, 32), np.array(1), z, True, y=Lender(y, 2, 32), device="reference"),
    ],
)
def test_the_ways_to_pass_arguments(program: tilelang.Program, give) -> None:  # type: ignore[no-untyped-def]
    y, z = np.zeros(70, np.float32), np.zeros(70, np.float32)
    for _ in range(2):
        give(program["both"], y, z)
    np.testing.assert_array_equal(y[:64], X[:64] + 1)
    assert z[0] == 2


def test_none_leaves_an_output_out(program: tilelang.Program) -> None:
    np.testing.assert_array_equal(program["scale"](X, 2.0, None, device="reference"), X * 2)
    np.testing.assert_array_equal(program["scale"](X, 2.0, y=None, device="reference"), X * 2)


def test_metas_and_dims_by_name(program: tilelang.Program) -> None:
    launch = program["scale"].prepare(X, 2.0, BLOCK=np.int64(128), T=np.float32, device="reference")
    assert launch.metas == {"T": F32, "BLOCK": 128} and launch.grid == (1,)
    assert program["scale"].prepare(X, 2.0, T="f32", device="reference").metas["T"] == F32
    np.testing.assert_array_equal(program["made"](5, N=4, device="reference"), [5, 6, 7, 8])


def test_an_element_type_is_inferred_and_scalars_follow_it(program: tilelang.Program) -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16, np.int32):
        y = program["scale"](X.astype(dtype), 2, device="reference")
        assert y.dtype == dtype
    refuse(program["scale"], "E0415", X.astype(np.int32), 2.5)
    refuse(program["scale"], "E0415", X.astype(np.int32), True)
    refuse(program["scale"], "E0415", X.astype(np.int32), 2**31)


def test_one_specialisation_serves_all_shapes(program: tilelang.Program) -> None:
    """Compiled for one extent, right for others: extents are not built in, except through metas."""
    scale = tilelang.compile(TEXT)["scale"]
    launches = [scale.prepare(X[:n], 2.0, device="reference") for n in (70, 1, 0, 64, 65)]
    assert len({id(launch.compilation.optimized) for launch in launches}) == 1
    for launch, n in zip(launches, (70, 1, 0, 64, 65), strict=True):
        launch.run()
        np.testing.assert_array_equal(launch.result, X[:n] * 2)
    twice = program["twice"]
    for n in (3, 70):
        np.testing.assert_array_equal(twice(X[:n], device="reference"), np.concatenate([X[:n]] * 2))


def test_a_launch_can_be_asked_and_repeated(program: tilelang.Program) -> None:
    launch = program["twice"].prepare(X, device="reference")
    assert (launch.grid, launch.dims["N"], launch.metas, str(launch.device)) == ((2,), 70, {"BLOCK": 128}, "reference")
    assert list(launch.outputs) == ["y"] and repr(launch) == "<launch of twice on reference, grid (2,)>"
    assert launch.compilation.optimized is not None
    for _ in range(2):
        launch.outputs["y"][:] = 7  # type: ignore[index]
        launch.run()
        np.testing.assert_array_equal(launch.result, np.concatenate([X, X]))


def test_a_grid_of_nothing_runs_nothing(program: tilelang.Program) -> None:
    assert program["scale"](X[:0], 2.0, device="reference").shape == (0,)
    assert program["made"](1, N=0, device="reference").shape == (0,)


def test_prints_go_to_standard_output_or_where_they_are_sent(program: tilelang.Program, capsys) -> None:  # type: ignore[no-untyped-def]
    program["shout"](X[:2], device="reference")
    assert capsys.readouterr().out == "(0) value 0.0\n(1) value 1.0\n"
    seen: list[tuple] = []
    program["shout"].prepare(X[:3], device="reference").run(lambda *entry: seen.append(entry))
    assert [(text, float(value), at) for text, value, at in seen] == [("value", float(n), (n,)) for n in range(3)]


def test_a_failed_assert_shows_its_line(program: tilelang.Program) -> None:
    with pytest.raises(tilelang.CompileError) as error:
        program["nothing"](-X - 1, device="reference")
    assert codes(error) == ["E0590"]
    assert 'assert(x[0] >= 0.0, "negative")' in str(error.value) and "program (0)" in str(error.value)


def test_threads_may_share_a_kernel() -> None:
    scale, wrong = tilelang.compile(TEXT)["scale"], []

    def work(n: int) -> None:
        for _ in range(20):
            if not np.array_equal(scale(X[:n], float(n), device="reference"), X[:n] * n):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 60, 70, 65)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ------------------------------------------------------------------------------ wrong calls


def test_missing_too_many_twice_and_unknown(program: tilelang.Program) -> None:
    assert "`s`" in refuse(program["scale"], "E0416", X)
    assert "`scale(x, s)`, or `scale(x, s, y)`" in refuse(program["scale"], "E0502", X, 1.0, X, X)
    assert "leave out `s=`" in refuse(program["scale"], "E0503", X, 1.0, s=2.0)
    assert "did you mean `BLOCK`" in refuse(program["scale"], "E0416", X, 1.0, BLOK=64)
    refuse(program["made"], "E0414", 3)
    refuse(program["scale"], "E0413", X, 1.0, BLOCK=65)
    assert '`T="f16"`' in refuse(program["scale"], "E0504", X, 1.0, T=[F16])
    assert "`N=64`" in refuse(program["made"], "E0504", 3, N=2.5)
    refuse(program["made"], "E0504", 3, N=True)
    refuse(program["made"], "E0414", 3, N=-1)


def test_wrong_types_ranks_and_extents(program: tilelang.Program) -> None:
    refuse(program["twice"], "E0411", X.astype(np.float64))
    refuse(program["scale"], "E0411", X, 1.0, y=np.zeros(70, np.float16))
    refuse(program["twice"], "E0412", X.reshape(7, 10))
    refuse(program["twice"], "E0410", X, np.zeros(70, np.float32))
    refuse(program["scale"], "E0410", X, 1.0, np.zeros(71, np.float32))


def test_values_that_are_no_arrays_or_numbers(program: tilelang.Program) -> None:
    assert "np.asarray(x, dtype=" in refuse(program["scale"], "E0505", [1.0], 2.0)
    refuse(program["scale"], "E0505", 3.0, 2.0)
    refuse(program["scale"], "E0506", X.astype(complex), 2.0)
    assert "x.astype(np.float32)" in refuse(program["scale"], "E0507", X.astype(">f4"), 2.0)
    refuse(program["scale"], "E0508", np.zeros(281, np.uint8)[1:].view(np.float32), 2.0)
    refuse(program["scale"], "E0517", X, X)
    refuse(program["scale"], "E0517", X, "2")
    refuse(program["scale"], "E0517", X, None)
    assert "s.real" in refuse(program["scale"], "E0517", X, 2j)
    assert "s.item()" in refuse(program["scale"], "E0517", X, np.ones(1))
    with pytest.raises(tilelang.CompileError) as error:
        program["scale"]([1], "2", device="reference")
    assert codes(error) == ["E0505", "E0517"], "all wrong values are reported, not only the first"


def test_outputs_that_cannot_be_written(program: tilelang.Program) -> None:
    read_only = np.zeros(70, np.float32)
    read_only.flags.writeable = False
    assert "leave `y` out" in refuse(program["scale"], "E0509", X, 1.0, read_only)
    assert "z.copy()" in refuse(program["both"], "E0509", X, 1, read_only, True)
    refuse(program["scale"], "E0509", X, 1.0, Lender(X.copy(), 2, 32, readonly=True))
    program["scale"](read_only, 1.0, device="reference")
    refuse(program["scale"], "E0510", X, 1.0, np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (70,), (0,)))
    refuse(program["scale"], "E0511", X, 1.0, X)
    z = np.zeros(100, np.float32)
    refuse(program["both"], "E0511", X, 1, z[:70], True, y=z[30:])
    wide = np.zeros(140, np.float32)
    program["scale"](wide[::2], 1.0, wide[1::2], device="reference")


def test_inputs_may_overlap_and_repeat(program: tilelang.Program) -> None:
    add = tilelang.compile(
        "kernel add(x: f32[N], y: f32[N], out z: f32[N]) grid (1) { let i = 0 +: 64; z[i] = x[i] + y[i]; }"
    )
    np.testing.assert_array_equal(add["add"](X[:60], X[:60], device="reference"), X[:60] * 2)
    np.testing.assert_array_equal(add["add"](X[:60], X[5:65], device="reference"), X[:60] + X[5:65])
    np.testing.assert_array_equal(add["add"](np.broadcast_to(X[3], (9,)), X[8::-1], device="reference"), X[8::-1] + 3)


def test_an_output_too_large_for_memory(program: tilelang.Program) -> None:
    assert "smaller" in refuse(program["made"], "E0512", 3, N=2**60)


def test_a_call_like_an_earlier_one_is_checked_all_the_same(program: tilelang.Program) -> None:
    """The short way must not let through what depends on values and addresses."""
    scale = tilelang.compile(TEXT)["scale"]
    whole = np.zeros(200, np.float32)
    scale(X, 1.0, whole[:70], device="reference")
    scale(whole[100:170], 2.0, whole[:70], device="reference")
    refuse(scale, "E0511", whole[50:120], 2.0, whole[:70])
    refuse(scale, "E0415", X, 1e39)
    refuse(scale, "E0415", X, True)
    scale(X, 1, whole[:70], device="reference")
    refuse(scale, "E0415", X, 10**400)
    frozen = np.zeros(70, np.float32)
    frozen.flags.writeable = False
    refuse(scale, "E0509", X, 1.0, frozen)
    refuse(scale, "E0413", X, 1.0, BLOCK=True)
    scale(X, 1.0, BLOCK=64, device="reference")
    refuse(scale, "E0413", X, 1.0, BLOCK=64.5)
    first, second = scale(X, 1.0, device="reference"), scale(X, 2.0, device="reference")
    np.testing.assert_array_equal(first * 2, second), "each call has an output of its own"


def test_names_of_python_do_no_harm() -> None:
    text = "kernel self(self: f32[args], kwargs: f32, out device: f32[args]) grid (1) { device[0] = self[0] + kwargs; }"
    kernel = tilelang.compile(text)["self"]
    assert kernel(X, 1.0, device="reference")[0] == 1.0
    assert kernel(self=X, kwargs=1.0, args=70, device="reference")[0] == 1.0


# ------------------------------------------------------------------------------ compiling to look


def test_compile_gives_the_stages_without_running(program: tilelang.Program) -> None:
    made = program["scale"].compile(TensorFact(F16, (100,)), ScalarFact(2.0), target="sm_80")
    assert made.thread_ir is not None and made.cuda is not None and "def " in made.cuda
    assert program["scale"].compile(X, 2.0, device="cpu").cpu is not None
    with pytest.raises(tilelang.CompileError, match="sm_80"):
        program["scale"].compile(X, 2.0, target="sm_81")


def test_gpu_arrays_need_their_gpu(program: tilelang.Program) -> None:
    assert "cuda:0" in refuse(program["twice"], "E0522", OnGpu((70,)))
    assert "cuda:0" in refuse(program["twice"], "E0522", X, OnGpu((140,)))


@pytest.mark.parametrize(("meta", "code"), [("warps = 3", "E0404"), ("warps: {3}", "E0404"), ("stages = true", "E0404"),
                                            ("B: {1, 2} = 3", "E0403"), ("B = 2 % 0.5", "E0407")])
def test_a_wrong_declaration_of_a_meta_is_reported(meta: str, code: str) -> None:
    """Also without a choice that could stand for the default, so that nothing is bound."""
    program = tilelang.compile(f"kernel k[{meta}](x: f32[N], out y: f32[N]) grid (1) {{ y[0] = x[0]; }}")
    with pytest.raises(tilelang.CompileError) as caught:
        program["k"].compile(np.zeros(3, np.float32), np.zeros(3, np.float32), target="sm_80")
    assert [d.code for d in caught.value.diagnostics if d.code[0] == "E"] == [code]
