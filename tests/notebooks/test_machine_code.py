"""Reading machine code: what is found in a disassembly, and what is said where there is none."""

from __future__ import annotations

import numpy as np
import pytest

import tilelang
from course import machine_code
from course.machine_code import (
    Instruction,
    compare_gpu,
    count_kinds,
    count_widths,
    cpu_assembly,
    gpu_code,
    hot_loop,
    instructions,
    loops,
    ptx_body,
    show_sass,
)
from tests.toolchain import needs_toolchain
from tilelang.driver import Compilation
from tilelang.runtime import cuda_compile

ADD = """kernel add[T: {f32, f16}](x: T[N], y: T[N], out z: T[N]) grid (cdiv(N, 1024)) {
    let i = program_id(0) * 1024 +: 1024;
    z[i] = x[i] + y[i];
}"""

SASS = """
        /*0000*/                   S2R R2, SR_TID.X ;
        /*0010*/              @!P1 LDG.E.128 R8, [R22.64] ;
        /*0020*/                   STL [R1+0x4], R3 ;
        /*0030*/                   HMMA.16816.F32 R28, R48.reuse, R64, RZ ;
.L_x_1:
        /*0040*/               @P0 EXIT ;
        /*0050*/                   EXIT ;
.L_x_0:
        /*0060*/                   BRA `(.L_x_0);
        /*0070*/                   NOP;
"""

X86 = """
        .text
_ZN5outer:
.LBB0_1:
        movq    %rax, %rbx
.LBB0_2:
        vaddps  (%rax), %ymm1, %ymm1
        addq    $32, %rax
        jne     .LBB0_2
.LBB0_3:
        vaddss  (%rax), %xmm1, %xmm1
        vmovss  %xmm1, (%rax)
        jl      .LBB0_3
        jmp     .LBB0_1
        jmp     .LBB0_9
.LBB0_9:
        retq
"""

ARM = """
LBB0_4:
        ldp     q0, q1, [x8], #32
        fadd    v0.4s, v0.4s, v1.4s
        subs    x9, x9, #8
        b.ne    LBB0_4
        fadd    s0, s0, s1
        cbnz    x3, LBB0_4
"""


@pytest.fixture(scope="module")
def add() -> tilelang.KernelHandle:
    return tilelang.compile(ADD)["add"]


def for_gpu(add: tilelang.KernelHandle, count: int) -> Compilation:
    x = np.zeros(count, np.float32)
    return add.compile(x, x, target="sm_80")


def test_instructions_are_told_apart() -> None:
    found = instructions(SASS)
    assert [i.opcode for i in found] == ["S2R", "LDG.E.128", "STL", "HMMA.16816.F32", "EXIT", "EXIT"]
    assert found[1] == Instruction("@!P1", "LDG.E.128", "R8, [R22.64]")
    assert [i.kind for i in found] == ["integers, addresses", "global memory", "spills", "tensor cores", "jumps",
                                       "jumps"]  # fmt: skip
    assert str(found[2]).split() == ["STL", "[R1+0x4],", "R3"]


def test_loops_are_the_innermost_ones() -> None:
    found = loops(X86)
    assert [loop[0] for loop in found] == [".LBB0_2:", ".LBB0_3:"]
    assert hot_loop(X86)[0] == ".LBB0_2:" and hot_loop(X86, "vmovss")[0] == ".LBB0_3:" and hot_loop(X86, "fsin") == []
    assert len(hot_loop(ARM)) == 5 and "b.ne" in hot_loop(ARM)[-1]


def test_widths_are_counted() -> None:
    assert count_widths(X86) == {"512 bits": 0, "256 bits": 1, "128 bits": 0, "one number": 2}
    assert count_widths(ARM) == {"512 bits": 0, "256 bits": 0, "128 bits": 1, "one number": 1}


def test_the_cpus_loop_works_on_vectors(add: tilelang.KernelHandle) -> None:
    x = np.zeros(4096, np.float32)
    assembly = cpu_assembly(add.compile(x, x, device="cpu"))
    assert sum(count for name, count in count_widths(assembly).items() if name != "one number") > 2
    assert len(hot_loop(assembly)) > 4


def test_a_compilation_for_another_device_is_refused(add: tilelang.KernelHandle) -> None:
    x = np.zeros(8, np.float32)
    with pytest.raises(ValueError, match="sm_80"):
        gpu_code(add.compile(x, x, device="cpu"))
    with pytest.raises(ValueError, match='device="cpu"'):
        cpu_assembly(for_gpu(add, 8))


@pytest.mark.cuda_toolchain
@needs_toolchain
def test_an_even_length_is_loaded_in_vectors(add: tilelang.KernelHandle, capsys: pytest.CaptureFixture) -> None:
    even, odd = for_gpu(add, 4096), for_gpu(add, 4099)
    assert gpu_code(even).count("LDG.E.128") == 4 and gpu_code(even).count("LDG") == 4
    assert gpu_code(odd).count("LDG.E.128") == 0 and gpu_code(odd).count("LDG.E") == gpu_code(odd).count("LDG") == 16
    assert gpu_code(even) is gpu_code(for_gpu(add, 4096))
    compare_gpu({"even": even, "odd": odd}, "LDG.E.128")
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "LDG.E.128" and (first.split()[-1], second.split()[-1]) == ("4", "0")
    show_sass(even, "global memory", most=5)
    shown = capsys.readouterr().out
    assert shown.count("LDG.E.128") == 4 and shown.endswith("... and 1 more\n")
    assert count_kinds(even)["global memory"] == 6
    assert any(line.startswith("ld.global.v4.f32") for line in ptx_body(even))
    assert "_Z" not in "".join(ptx_body(even))


def test_what_is_missing_is_said(
    add: tilelang.KernelHandle, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def nothing(*_: object) -> str:
        raise cuda_compile._missing("`ptxas` is not installed")

    monkeypatch.setattr(machine_code, "compile_ptx", nothing)
    monkeypatch.setattr(machine_code, "_made", {})
    even = for_gpu(add, 4096)
    show_sass(even)
    compare_gpu({"even": even})
    assert count_kinds(even) == {} and ptx_body(even) == []
    said = capsys.readouterr().out
    assert said.count("not shown: the CUDA toolkit is needed") == 4 and "pip install 'tile-course[cuda]'" in said
