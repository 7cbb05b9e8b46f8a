"""Reading machine code (SASS) as nvdisasm prints it: instructions, basic blocks, loops, and counts of what matters.

    .L_x_3:
            /*0120*/              @!P0 LDGSTS.E.BYPASS.128 [R7+0x800], [R4.64] ;
            /*0130*/                   HMMA.16816.F32 R8, R4, R12, R8 ;
            /*0140*/               @P1 BRA `(.L_x_3) ;                             <- a loop of three instructions

A loop is found as compilers define it: an edge of the control-flow graph back to a block that dominates it (a natural
loop), not merely a jump to a smaller address, for ptxas moves rare blocks out of the way and jumps back from there.
What cannot be reached from the kernel's entry (the called slow path of a division, the padding at the end) is left
out.

Source: Aho, Lam, Sethi and Ullman, "Compilers: Principles, Techniques, and Tools", section 9.6, on dominators and
natural loops; NVIDIA, "CUDA Binary Utilities", on the instruction sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

LINE = re.compile(r"/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:(?P<guard>@!?U?P\w+)\s+)?(?P<name>[A-Z][A-Za-z0-9_.]*)"
                  r"(?P<operands>[^;]*);")
LABEL = re.compile(r"^(?P<label>[.$\w]+):\s*$")
TARGET = re.compile(r"`\((?P<label>[.$\w]+)\)")
REGISTERS = re.compile(r"EIATTR_REGCOUNT.*?index@\(.*?\.word\s+(0x[0-9a-f]+)", re.DOTALL)

JUMPS = ("BRA", "JMP")
ENDS = ("EXIT", "RET", "KILL", "BRX", "JMX")
FILLING = ("NOP",)


@dataclass(frozen=True)
class Instruction:
    """One instruction. `guard`: the predicate that it happens under, such as `@!P0`; empty if always. `target`: the
    label that it jumps to."""

    address: int
    name: str
    guard: str = ""
    operands: str = ""
    target: str = ""

    @property
    def kind(self) -> str:
        """The name without what modifies it: LDG of LDG.E.128."""
        return self.name.partition(".")[0]

    @property
    def falls_through(self) -> bool:
        """Can the next instruction follow? A guard, or a condition among the operands (`BRA !P3, ...`), may fail."""
        if self.kind in ENDS:
            return bool(self.guard)
        conditional = bool(self.guard) or re.match(r"\s*(!?U?P\d|DIV|CONV)", self.operands) is not None
        return self.kind not in JUMPS or conditional


@dataclass(frozen=True)
class Code:
    """A kernel's machine code, in the order of addresses. `labels`: where each label stands, as the number of an
    instruction. `registers`: 32-bit ones of a thread."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    registers: int


def read(text: str) -> Code:
    """The code of the one kernel in what `nvdisasm` printed; `-c` leaves out the number of registers, then it is 0."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        label, found = LABEL.match(line), LINE.search(line)
        if label:
            labels[label["label"]] = len(instructions)
        elif found and found["name"] not in FILLING:
            target = TARGET.search(found["operands"])
            instructions.append(Instruction(int(found["address"], 16), found["name"], found["guard"] or "",
                                            found["operands"].strip(), target["label"] if target else ""))
    registers = max((int(number, 16) for number in REGISTERS.findall(text)), default=0)
    return Code(tuple(instructions), labels, registers)


# ------------------------------------------------------------------------------------ control flow


def successors(code: Code) -> list[tuple[int, ...]]:
    """For each instruction the numbers of those that may follow it."""
    found = []
    for number, instruction in enumerate(code.instructions):
        after = [number + 1] if instruction.falls_through and number + 1 < len(code.instructions) else []
        # ptxas also leaves a loop by a "call" of a place in the kernel that never returns.
        inside = instruction.kind in JUMPS or (instruction.kind == "CALL" and instruction.target.startswith(".L"))
        if inside and instruction.target in code.labels:
            after.append(code.labels[instruction.target])
        found.append(tuple(a for a in after if a < len(code.instructions)))
    return found


def reachable(code: Code) -> list[int]:
    """The numbers of the instructions that the entry leads to, in order."""
    return sorted(_spread([0] if code.instructions else [], successors(code)))


def _spread(start: Iterable[int], edges: Sequence[Iterable[int]], stop: int | None = None) -> set[int]:
    """All that edges lead to from `start`, but nothing beyond `stop`."""
    todo, seen = list(start), set() if stop is None else {stop}
    while todo:
        number = todo.pop()
        if number not in seen:
            seen.add(number)
            todo += edges[number]
    return seen


def loops(code: Code) -> list[frozenset[int]]:
    """The natural loops, as sets of instructions' numbers; two that start at one place count as one."""
    after = successors(code)
    alive = _spread([0] if code.instructions else [], after)
    before: list[list[int]] = [[] for _ in after]
    for number in alive:
        for follower in after[number]:
            before[follower].append(number)
    bodies: dict[int, set[int]] = {}
    for number in alive:
        for head in after[number]:
            if head <= number and _dominates(head, number, after):
                bodies.setdefault(head, set()).update(_spread([number], before, stop=head))
    return [frozenset(body) for body in bodies.values()]


def _dominates(head: int, number: int, after: Sequence[Iterable[int]]) -> bool:
    """Does every way from the entry to `number` go through `head`?"""
    return head in (0, number) or number not in _spread([0], after, stop=head)


def main_loop(code: Code) -> list[Instruction]:
    """The instructions of the loop where the work is: the smallest one with the most tensor-core instructions, or in
    code without any the smallest with the most floating-point ones. Empty if no loop computes.

    What a loop inside it repeats is counted once: these are static counts.
    """
    def work(loop: frozenset[int]) -> tuple[int, int]:
        inside = [code.instructions[n] for n in loop]
        return tensor_core_flops(inside), count(inside, *FLOATING)

    best = max(loops(code), key=lambda loop: (work(loop), -len(loop)), default=frozenset())
    if not best or work(best) == (0, 0):
        return []
    return [code.instructions[n] for n in sorted(best)]


def whole(code: Code) -> list[Instruction]:
    """All instructions of the kernel that can happen."""
    return [code.instructions[n] for n in reachable(code)]


# ------------------------------------------------------------------------------------ counting


def count(instructions: Iterable[Instruction], *kinds: str) -> int:
    """How many instructions are of one of these kinds (LDG counts LDG.E.128 and LDG.E, not LDGSTS)."""
    return sum(instruction.kind in kinds for instruction in instructions)


FLOATING = ("FFMA", "FADD", "FMUL", "MUFU", "DFMA", "DADD", "DMUL")
GLOBAL = ("LDG", "STG", "LDGSTS")
TENSOR_CORE = ("HMMA", "HGMMA", "IMMA", "IGMMA", "QMMA", "QGMMA", "DMMA", "BMMA")


def wide(instructions: Iterable[Instruction]) -> tuple[int, int]:
    """(accesses of global memory, those among them that move 128 bits at once)."""
    found = [i.name.split(".") for i in instructions if i.kind in GLOBAL]
    return len(found), sum("128" in parts for parts in found)


SHAPES = {"1688": (16, 8, 8), "16816": (16, 8, 16), "16832": (16, 8, 32)}


def tensor_core_flops(instructions: Iterable[Instruction]) -> int:
    """Multiplications and additions of the tensor cores, by one thread's warp (HMMA) or warp group (HGMMA)."""
    return 2 * sum(prod(_shape(i)) for i in instructions if i.kind in TENSOR_CORE)


def _shape(instruction: Instruction) -> tuple[int, ...]:
    """The m, n and k of a tensor-core instruction: HMMA.16816.F32, IMMA.16832.S8.S8, HGMMA.64x128x16.F32."""
    shape = instruction.name.split(".")[1]
    if shape in SHAPES:
        return SHAPES[shape]
    if shape.count("x") != 2:
        raise ValueError(f"what does {instruction.name} multiply?")
    return tuple(int(extent) for extent in shape.split("x"))
