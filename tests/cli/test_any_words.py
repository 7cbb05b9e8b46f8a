"""Whatever is written on the command line, `tilec` answers in words: never a traceback, never a compiler bug."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tilelang.cli.main import COMMANDS, run

WORDS = [
    *COMMANDS, "k.tile", "k.tile:scale", "k.tile:nosuch", "nosuch.tile", ".", "-", "--", "", "-x", "--help",
    "x=x.npy", "x=x.npz:a", "x=bad.npy",
    "x=ones(4)", "x=ones(N)", "x=4,4", "x=1", "x", "s=2", "s=inf", "s=true", "y=(4,)",
    "y=zeros(5)", "N=4", "N=0", "N=-1", "M=3", "--set", "BLOCK=8", "BLOCK=0", "T=f16", "T=f64", "warps=3",
    "--device", "reference", "nosuch", "--save", "y=out.npy", "y=x.npy", "--expect", "--rtol", "--atol", "--seed", "1",
    "-1", "--emit", "tokens", "tile-ir", "all", "--target", "sm_80", "--kernel", "scale", "--check", "--diff", "E0101",
    "-o", "out.txt", "k.tile", "é", "\x00", "\ud800", "x=\ud800.npy", "a" * 300,
]  # fmt: skip
PROGRAM = """\
kernel scale[T: {f32, f16}, BLOCK = 4, warps = 4](x: T[N], s: f32, out y: T[N]) grid (cdiv(N, BLOCK)) {
    let i = program_id(0) * BLOCK +: BLOCK;
    y[i] = ((x[i] as f32) * s) as T;
}
"""


@pytest.mark.parametrize("seed", range(4))
def test_any_words_end_in_words(seed: int, monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("tilelang.cli.doctor.find_gpus", lambda: ([], ""))
    rng = random.Random(seed)
    likely = ["run", "k.tile", "x=ones(4)", "s=2", "--device", "reference"]
    for _ in range(60):
        Path("k.tile").write_text(PROGRAM)
        Path("bad.npy").write_bytes(b"\x93NUMPY garbage")
        np.save("x.npy", np.ones(4, "f4"))
        np.savez("x.npz", a=np.ones(4, "f4"))
        words = list(likely) if rng.random() < 0.7 else [rng.choice(list(COMMANDS))]
        for _ in range(rng.randint(1, 4)):
            place = rng.randint(0, len(words))
            words[place : place + rng.randint(0, 1)] = [rng.choice(WORDS)]
        if "-" in words or "all" in words:
            continue  # the standard input, and everything there is to compile: tested by themselves
        status = run(words)
        err = capsys.readouterr().err
        assert status in (0, 1, 2), (words, err)
        assert "Traceback" not in err and "\x00" not in err, words
        assert status == 0 or err, words
