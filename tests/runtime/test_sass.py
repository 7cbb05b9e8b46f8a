"""The reader of machine code: on snippets as nvdisasm prints them, with loops that are known."""

from __future__ import annotations

import pytest

from tilelang.runtime import sass
from tilelang.runtime.sass import Instruction

STRAIGHT = """
	.section	.text.copy,"ax",@progbits
copy:
.text.copy:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/                   ISETP.GE.AND P0, PT, R0, c[0x0][0x160], PT ;
        /*0020*/               @P0 EXIT ;
        /*0030*/                   LDG.E.128 R4, [R2.64] ;
        /*0040*/              @!P1 LDG.E R8, [R2.64+0x10] ;
        /*0050*/                   STG.E.128 [R6.64], R4 ;
        /*0060*/                   EXIT ;
.L_x_0:
        /*0070*/                   BRA `(.L_x_0);
        /*0080*/                   NOP;
"""

# A product in a loop whose rare block (.L_x_3) stands after the kernel's end and jumps back; a "call" leaves it.
PRODUCT = """
.text.product:
        /*0000*/                   CS2R R4, SRZ ;
.L_x_1:
        /*0010*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0020*/               @P0 BRA `(.L_x_3) ;
.L_x_2:
        /*0030*/                   LDSM.16.M88.4 R8, [R20] ;
        /*0040*/                   LDSM.16.MT88.4 R12, [R20+0x400] ;
        /*0050*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0060*/                   HMMA.1688.F32.TF32 R4, R8, R12, R4 ;
        /*0070*/              @!P1 CALL.REL.NOINC `(.L_x_4) ;
        /*0080*/                   BRA `(.L_x_1) ;
.L_x_4:
        /*0090*/                   STG.E [R2.64], R4 ;
        /*00a0*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath) ;
        /*00b0*/                   EXIT ;
.L_x_3:
        /*00c0*/                   LDGSTS.E.BYPASS.128 [R20], [R2.64], P2 ;
        /*00d0*/                   BRA `(.L_x_2) ;
$__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath:
        /*00e0*/                   FFMA R0, R0, R1, R2 ;
        /*00f0*/                   RET.REL.NODEC R12 `(product) ;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
	//----- nvinfo : EIATTR_REGCOUNT
	.align		4
        /*0000*/ 	.byte	0x04, 0x2f
        /*0004*/ 	.word	index@(product)
        /*0008*/ 	.word	0x000000fa
"""

NESTED = """
        /*0000*/                   MOV R0, RZ ;
.L_x_0:
        /*0010*/                   MOV R1, RZ ;
.L_x_1:
        /*0020*/                   FADD R2, R2, R1 ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
        /*0040*/                   FMUL R2, R2, R2 ;
        /*0050*/              @!P1 BRA !P2, `(.L_x_0) ;
        /*0060*/                   EXIT ;
"""


def test_instructions_and_their_parts():
    code = sass.read(STRAIGHT)
    assert code.instructions[4] == Instruction(0x40, "LDG.E", "@!P1", "R8, [R2.64+0x10]")
    assert code.instructions[3].kind == "LDG"
    assert [i.name for i in code.instructions][-1] == "BRA"  # NOPs only fill up
    assert code.labels[".L_x_0"] == 7


def test_a_loop_that_nothing_leads_to_is_none():
    code = sass.read(STRAIGHT)
    assert sass.loops(code) == [] and sass.main_loop(code) == []
    assert len(sass.whole(code)) == 7  # the endless loop after EXIT is padding


def test_accesses_of_global_memory():
    assert sass.wide(sass.whole(sass.read(STRAIGHT))) == (3, 2)
    assert sass.count(sass.whole(sass.read(STRAIGHT)), "LDG") == 2


def test_a_loop_has_the_blocks_that_were_moved_away_but_not_what_follows_it():
    code = sass.read(PRODUCT)
    (loop,) = sass.loops(code)
    assert sorted(code.instructions[n].address for n in loop) == [
        0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0xc0, 0xd0]
    inside = sass.main_loop(code)
    assert (sass.count(inside, "LDSM"), sass.count(inside, "LDGSTS"), sass.count(inside, "BAR")) == (2, 1, 1)
    assert sass.count(inside, "LDG", "STG", "EXIT") == 0


def test_what_is_called_is_not_of_the_kernel():
    assert sass.count(sass.whole(sass.read(PRODUCT)), "FFMA", "RET") == 0


def test_registers():
    assert sass.read(PRODUCT).registers == 250 and sass.read(STRAIGHT).registers == 0


@pytest.mark.parametrize(("name", "products"), [
    ("HMMA.16816.F32", 16 * 8 * 16), ("HMMA.1688.F32.TF32", 16 * 8 * 8), ("IMMA.16832.S8.S8.SAT", 16 * 8 * 32),
    ("HGMMA.64x128x16.F32", 64 * 128 * 16), ("HMMA.16816.F32.BF16", 16 * 8 * 16), ("FFMA", 0)])
def test_flops_of_tensor_cores(name, products):
    assert sass.tensor_core_flops([Instruction(0, name)]) == 2 * products


def test_an_instruction_for_tensor_cores_of_unknown_shape_is_not_passed_over():
    with pytest.raises(ValueError, match="QMMA"):
        sass.tensor_core_flops([Instruction(0, "QMMA.SF.16864.F32")])


def test_names_with_small_letters_are_read():
    line = "        /*1d30*/                   HGMMA.64x128x16.F32 R88, gdesc[UR8].tnspB, R88 ;"
    assert sass.read(line).instructions[0].name == "HGMMA.64x128x16.F32"


def test_the_main_loop_is_the_smallest_that_does_the_work():
    """Both loops have the addition; only the outer one has the product, so it does more."""
    code = sass.read(NESTED)
    assert sorted(map(len, sass.loops(code))) == [2, 5]
    assert len(sass.main_loop(code)) == 5
    added_twice = sass.read(NESTED.replace("FMUL", "IADD3"))
    assert len(sass.main_loop(added_twice)) == 2


def test_a_jump_into_a_loop_from_outside_makes_no_natural_loop():
    text = """
        /*0000*/               @P0 BRA `(.L_x_1) ;
.L_x_0:
        /*0010*/                   FADD R2, R2, R1 ;
.L_x_1:
        /*0020*/                   FMUL R2, R2, R1 ;
        /*0030*/               @P1 BRA `(.L_x_0) ;
        /*0040*/                   EXIT ;
"""
    assert sass.loops(sass.read(text)) == []


def test_nothing_to_read():
    code = sass.read("no code here\n")
    assert code.instructions == () and sass.whole(code) == [] and sass.loops(code) == []
