"""`tilec run`, on the interpreter, which needs no compiling; that devices agree is tested elsewhere."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tilelang.cli.main import run

KERNELS = """\
kernel scale[T: {f32, f16, bf16, i32}, BLOCK = 64](x: T[N], s: f32, out y: T[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = ((x[i] as f32) * s) as T;
}

kernel add(x: f32[M, N], y: f32[M, N], out z: f32[M, N], out total: f64[M]) grid (M) {
    let cols = 0 +: 8;
    let row = program_id(0);
    let sum2 = x[row, cols] + y[row, cols];
    z[row, cols] = sum2;
    total[row] = sum(sum2 as f64, axis=0);
}

kernel negate(inout x: f32[N]) grid (1) {
    x[0 +: 8] = -x[0 +: 8];
}

kernel checked(flag: bool, n: i8, out y: i32[1]) grid (1) {
    assert(flag, "flag is not set");
    print("n is", n);
    y[0] = n as i32;
}

kernel doubled(x: f32[2 * N], out y: f32[N]) grid (1) {
    y[0 +: 8] = x[0 +: 8];
}
"""


@pytest.fixture(autouse=True)
def kernels(folder: Path) -> None:
    Path("k.tile").write_text(KERNELS)


def tilec(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    """Run a `tilec run` command line on the interpreter: exit code, output, messages."""
    words = shlex.split(line)
    status = run(["run", *words, *([] if "--device" in words else ["--device", "reference"])])
    return status, *capsys.readouterr()


def done(capsys: pytest.CaptureFixture[str], line: str) -> str:
    status, out, err = tilec(capsys, line)
    assert (status, err) == (0, ""), err
    return out


def refused(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str]:
    """(exit code, message) of a command line that ends with an error."""
    status, _, err = tilec(capsys, line)
    assert err.startswith(("error[", "tilec:")) and "Traceback" not in err
    return status, err


# -------------------------------------------------------------------------------------------- what runs


def test_it_says_what_ran_where_and_what_came_out(capsys: pytest.CaptureFixture[str]) -> None:
    lines = done(capsys, "k.tile:scale 'x=arange(130)' s=2").splitlines()
    assert lines[0] == "scale on reference (N=130, T=f32, BLOCK=64)"
    assert lines[1].startswith("  grid 3; prepared in ")
    assert lines[2:] == ["  y: f32[130]  min 0  max 258  mean 129", "      0 2 4 6 8 10 ..."]


def test_dims_alone_are_enough_and_outputs_may_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    first = done(capsys, "k.tile:add M=2 N=8")
    assert "  x, y: random, seed 0\n" in first and "z: f32[2, 8]" in first and "total: f64[2]" in first
    results = [line for line in first.splitlines() if "prepared" not in line]
    again = [line for line in done(capsys, "k.tile:add M=2 N=8").splitlines() if "prepared" not in line]
    other = [line for line in done(capsys, "k.tile:add M=2 N=8 --seed 1").splitlines() if "prepared" not in line]
    assert results == again != other
    assert "z: f32[2, 8]" in done(capsys, "k.tile:add 'x=(2,8)' y=2,8 'z=(2,8)' 'total=zeros(2)'")


def test_one_array_settles_the_dims_of_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    out = done(capsys, "k.tile:add 'x=zeros(3,8)'")
    assert "(M=3, N=8)" in out and "  y: random, seed 0\n" in out


def test_a_parameter_has_the_same_random_numbers_whatever_else_is_given(capsys) -> None:  # type: ignore[no-untyped-def]
    done(capsys, "k.tile:add M=2 N=8 --save z=a.npy")
    done(capsys, "k.tile:add 'y=randn(2,8)' M=2 N=8 --save z=b.npy")
    np.testing.assert_array_equal(np.load("a.npy"), np.load("b.npy"))


def test_the_element_type_of_a_meta_comes_from_the_array_or_from_set(capsys) -> None:  # type: ignore[no-untyped-def]
    np.save("h.npy", np.ones(4, "f2"))
    assert "y: f16[4]" in done(capsys, "k.tile:scale x=h.npy s=1")
    assert "y: f16[4]" in done(capsys, "k.tile:scale 'x=ones(4,f16)' s=1")
    assert "y: bf16[4]" in done(capsys, "k.tile:scale N=4 s=1 --set T=bf16")
    assert "y: i32[4]" in done(capsys, "k.tile:scale 'x=arange(4)' s=2 --set T=i32 --set BLOCK=2")


def test_arrays_of_every_layout(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.arange(24, dtype="f4").reshape(3, 8)
    np.save("fortran.npy", np.asfortranarray(x))
    np.save("big.npy", x.astype(">f4"))
    np.savez("both.npz", x=x, y=-x)
    done(capsys, "k.tile:add x=fortran.npy y=both.npz:y --save z=z.npy")
    assert not np.load("z.npy").any()
    done(capsys, "k.tile:add x=big.npy y=both.npz:x --save z=z.npy")
    np.testing.assert_array_equal(np.load("z.npy"), 2 * x)


def test_bf16_makes_the_round_trip_through_files(capsys: pytest.CaptureFixture[str]) -> None:
    done(capsys, "k.tile:scale 'x=arange(4,bf16)' s=2 --save y=y.npy")
    assert np.load("y.npy").dtype.itemsize == 2
    np.save("w.npy", np.array([0, 4, 8, 12], ml_dtypes.bfloat16))
    out = done(capsys, "k.tile:scale x=y.npy s=2 --set T=bf16 --expect y=w.npy")
    assert "y is as expected" in out


def test_inout_arrays_are_outputs_and_the_file_is_not_touched(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.arange(3, dtype="f4"))
    assert "x: f32[3]  min -2  max -0" in done(capsys, "k.tile:negate x=x.npy --save x=y.npy")
    np.testing.assert_array_equal(np.load("x.npy"), [0, 1, 2])
    np.testing.assert_array_equal(np.load("y.npy"), [0, -1, -2])


def test_scalars_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    out = done(capsys, "k.tile:checked flag=true n=-5")
    assert "n is" in out and "-5" in out and "y: i32[1]" in out


def test_a_program_from_standard_input(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    for line, text in ("- s=2 N=4", KERNELS.partition("\n\n")[0]), ("-- -:negate N=4", KERNELS):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert ": f32[4]" in done(capsys, f"--device reference {line}")


def test_names_that_mean_something_to_python(capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.tile").write_text(
        "kernel lambda(device: f32[N], self: f32, out args: f32[N], out output: f32[N]) grid (1) {\n"
        "    args[0 +: 8] = device[0 +: 8] * self;\n    output[0 +: 8] = device[0 +: 8];\n}\n"
        "kernel k(out x: f32[device]) grid (device) { x[program_id(0)] = 1.0; }\n"
    )
    out = done(capsys, "p.tile:lambda 'device=ones(4)' self=3 --save args=a.npy")
    assert "args: f32[4]  min 3  max 3" in out and "output: f32[4]  min 1" in out
    assert "x: f32[2]  min 1" in done(capsys, "p.tile:k 'x=zeros(2)'")
    assert refused(capsys, "p.tile:k device=2")[0] == 2


def test_empty_arrays_run_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert "y: f32[0]  (no elements)" in done(capsys, "k.tile:scale N=0 s=1")


# -------------------------------------------------------------------------------------- save and expect


def test_an_expectation_that_holds(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("ref.npy", np.full(4, 2.00001, "f4"))
    out = done(capsys, "k.tile:scale 'x=ones(4)' s=2 --expect y=ref.npy")
    assert "y is as expected (ref.npy; rtol 0.0001, atol 0.0001)" in out


def test_an_expectation_that_fails_still_saves_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("ref.npy", np.full(4, 2.00001, "f4"))
    status, err = refused(capsys, "k.tile:scale 'x=ones(4)' s=2 --expect y=ref.npy --rtol 0 --atol 0 --save y=y.npy")
    assert status == 1 and "error[E0731]" in err and "4 of 4" in err
    np.testing.assert_array_equal(np.load("y.npy"), np.full(4, 2, "f4"))


def test_every_expectation_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("z.npy", np.ones((2, 8), "f4"))
    np.save("t.npy", np.ones(3))
    words = "k.tile:add 'x=zeros(2,8)' 'y=zeros(2,8)' --expect z=z.npy --expect total=t.npy"
    status, err = refused(capsys, words)
    assert status == 1 and "error[E0731]: `z`" in err and "error[E0730]: `total`" in err


def test_nothing_that_is_read_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.ones(4, "f4"))
    np.save("ref.npy", np.ones(4, "f4"))
    Path("link.npy").symlink_to("x.npy")
    Path("hard.npy").hardlink_to("x.npy")
    before = {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()}
    for target in ("x.npy", "./x.npy", "link.npy", "hard.npy", "ref.npy", "k.tile"):
        words = f"k.tile:scale x=x.npy s=1 --expect y=ref.npy --save y={target}"
        assert refused(capsys, words)[1].startswith("error[E0732]")
    for pair in ("a.npy a.npy", "a.npy ./a.npy"):
        a, b = pair.split()
        assert "error[E0732]" in refused(capsys, f"k.tile:add M=1 N=8 --save z={a} --save total={b}")[1]
    assert {p.name: p.read_bytes() for p in Path().iterdir() if p.is_file()} == before


def test_an_older_result_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    Path("y.npy").write_text("old")
    done(capsys, "k.tile:scale 'x=ones(4)' s=1 --save y=y.npy")
    np.testing.assert_array_equal(np.load("y.npy"), np.ones(4))


# ---------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("line", "code", "status", "hint"),
    [
        ("k.tile x=x.npy", "E0701", 1, "k.tile:scale"),
        ("k.tile:scael s=1", "E0701", 1, "`scale`"),
        ("nosuch.tile", "E0710", 1, ""),
        ("k.tile:scale x=nosuch.npy s=1", "E0710", 1, ""),
        ("k.tile:scale s=1", "E0728", 2, "N=64"),
        ("k.tile:scale N=4", "E0728", 2, "s=1.0"),
        ("k.tile:checked", "E0728", 2, "flag=true n=1"),
        ("k.tile:add 'x=zeros(3,8)' N=8 M=3 --save w=w.npy", "E0729", 2, "its outputs: z, total"),
        ("k.tile:scale 'x=ones(4)' s=1 --save x=y.npy", "E0729", 2, "y"),
        ("k.tile:scale 'x=ones(4)' S=1", "E0727", 2, "`s`"),
        ("k.tile:scale 'x=ones(4)' BLOCK=8", "E0727", 2, "--set BLOCK=8"),
        ("k.tile:scale x=3 s=1", "E0733", 2, "x=full(3, 3)"),
        ("k.tile:scale 'x=ones(4)' 's=ones(1)'", "E0733", 2, "s=0.5"),
        ("k.tile:scale s=1 N=0.5", "E0733", 2, "N=1000"),
        ("k.tile:doubled", "E0728", 2, "N=64"),
        ("k.tile:scale 'x=ones(4)' s=1 --expect y=3", "E0720", 2, "--expect y=ref.npy"),
        ("k.tile:scale 'x=ones(4)' s=1 --rtol -1", "E0705", 2, "--rtol"),
        ("k.tile:scale 'x=ones(4)' s=1 --set T=f64", "E04", 1, ""),
        ("k.tile:scale 'x=ones(4)' s=1 --set BLOK=3", "E0", 1, "BLOCK"),
        ("k.tile:scale 'x=ones(4)' s=1 N=5", "E0", 1, ""),
        ("k.tile:scale 'x=ones(4,4)' s=1", "E0", 1, "[4, 4]"),
        ("k.tile:scale 'x=ones(4)' s=1 --device tpu", "E0520", 1, ""),
        ("k.tile:checked flag=false n=1", "E0590", 1, "flag is not set"),
        ("k.tile:checked flag=true n=1000", "E0", 1, "i8"),
    ],
)
def test_what_is_refused(line: str, code: str, status: int, hint: str, capsys) -> None:  # type: ignore[no-untyped-def]
    got, err = refused(capsys, line)
    assert got == status and err.startswith(f"error[{code}") and hint in err


def test_the_suggested_words_work(capsys: pytest.CaptureFixture[str]) -> None:
    for kernel in ("scale", "add", "negate", "checked", "doubled"):
        _, err = refused(capsys, f"k.tile:{kernel}")
        words = err.partition("add, for instance: ")[2].splitlines()[0]
        assert tilec(capsys, f"k.tile:{kernel} {words}")[0] == 0


def test_a_program_with_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.tile").write_text(KERNELS.replace("let row = program_id(0)", "let row = program_id(7)"))
    status, err = refused(capsys, "bad.tile:add M=2 N=8")
    assert status == 1 and "bad.tile:8:" in err


def test_warnings_are_shown_and_do_not_stop_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("w.tile").write_text(KERNELS.replace("let row =", "let unused = 3;\n    let row ="))
    status, out, err = tilec(capsys, "w.tile:add M=2 N=8")
    assert status == 0 and "z: f32[2, 8]" in out and err.startswith("warning[W01")
