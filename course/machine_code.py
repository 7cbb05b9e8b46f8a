"""What other compilers make of the generated code, in a form to read: NVIDIA's machine code (SASS) and the CPU's.

    show_sass(softmax.compile(x, target="sm_80"))
    compare_gpu({"N = 4096": one, "N = 4099": other})
    print("\\n".join(hot_loop(cpu_assembly(softmax.compile(x, device="cpu")))))

Nothing here needs a GPU. What the extra `cuda` is needed for says so where that is not installed, and goes on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tilelang.diagnostics import CompileError
from tilelang.driver import Compilation
from tilelang.runtime.cuda_compile import TOOLS_MISSING, Resources, compile_ptx, ptxas_report, sass

LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?P<guard>@!?U?P\d+ )?(?P<opcode>[A-Z][A-Z0-9_.]*)\s*(?P<operands>[^;]*);")

KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("global memory", ("LDG", "STG", "RED", "ATOM")),
    ("shared memory", ("LDS", "STS", "LDSM", "LDGSTS", "DEPBAR")),
    ("spills", ("LDL", "STL")),
    ("tensor cores", ("HMMA", "IMMA", "DMMA", "HGMMA")),
    ("exchange, barriers", ("SHFL", "BAR")),
    ("special functions", ("MUFU",)),
    ("float arithmetic", ("FADD", "FMUL", "FFMA", "FMNMX", "FSEL", "FSETP", "FCHK", "DADD", "DMUL", "DFMA", "HADD2",
                          "HMUL2", "HFMA2", "F2F", "F2FP", "F2I", "I2F")),
    ("jumps", ("BRA", "EXIT", "CALL", "RET", "BSSY", "BSYNC", "BREAK")),
)  # fmt: skip
"""What instructions are for, by the first part of their names. The rest is integers: addresses and conditions."""
INTEGERS = "integers, addresses"
MANGLED = re.compile(r"_Z\w+_(?=param_\d+)")
"""The kernel's name with the types of its arguments in it, in front of a parameter's number."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of SASS: `guard` ("@!P0") says when it does nothing."""

    guard: str
    opcode: str
    operands: str

    @property
    def kind(self) -> str:
        name = self.opcode.partition(".")[0]
        return next((kind for kind, names in KINDS if name in names), INTEGERS)

    def __str__(self) -> str:
        return f"{self.guard:<5} {self.opcode:<18} {self.operands}".rstrip()


@dataclass(frozen=True)
class GpuCode:
    """A kernel as a GPU would run it; `resources` is what the assembler says that it takes."""

    ptx: str
    instructions: tuple[Instruction, ...]
    resources: Resources

    def count(self, opcode: str) -> int:
        """How many instructions have a name that begins so (`LDG`, `LDG.E.128`)."""
        return sum(i.opcode == opcode or i.opcode.startswith(f"{opcode}.") for i in self.instructions)


_made: dict[tuple[str, str], GpuCode] = {}
"""By target and source: NVIDIA's compilers take seconds."""


def gpu_code(compilation: Compilation) -> GpuCode:
    """Machine code of a compilation for a GPU. Raises CompileError, E0630: the extra `cuda` is not installed."""
    if compilation.cuda is None or compilation.thread_ir is None or compilation.target is None:
        raise ValueError('this was not compiled for a GPU: kernel.compile(..., target="sm_80")')
    key = compilation.target.name, compilation.cuda
    if key not in _made:
        ptx = compile_ptx(compilation.cuda, compilation.thread_ir, compilation.target)
        made = instructions(sass(ptx, compilation.target))
        _made[key] = GpuCode(ptx, made, ptxas_report(ptx, compilation.target))
    return _made[key]


def instructions(text: str) -> tuple[Instruction, ...]:
    """The instructions of a disassembly, without what fills it up behind the end: NOPs, and a jump to itself."""
    found = [m for m in map(LINE.match, text.split("\n")) if m]
    made = [Instruction((m["guard"] or "").strip(), m["opcode"], m["operands"].strip()) for m in found]
    while made and made[-1].opcode == "NOP":
        made.pop()
    if len(made) > 1 and made[-1].opcode == "BRA" and made[-2].opcode in ("EXIT", "BRA", "RET.REL.NODEC"):
        made.pop()
    return tuple(made)


# ------------------------------------------------------------------------------------ shown


def show_sass(compilation: Compilation, *kinds: str, most: int = 80) -> None:
    """Print the machine code; with `kinds`, only instructions of these."""
    code = _or_say_what_is_missing(compilation)
    if code is None:
        return
    chosen = [i for i in code.instructions if not kinds or i.kind in kinds]
    for instruction in chosen[:most]:
        print(f"{instruction.kind:<20} {instruction}")
    if len(chosen) > most:
        print(f"... and {len(chosen) - most} more")


def compare_gpu(compilations: Mapping[str, Compilation], *opcodes: str) -> None:
    """Print a table: for each compilation its registers, spills, shared memory, and how often these opcodes occur."""
    width = max(map(len, compilations))
    print(f"{'':<{width}}  registers  spilled  shared  instructions  " + "  ".join(opcodes))
    for name, compilation in compilations.items():
        code = _or_say_what_is_missing(compilation)
        if code is None:
            return
        r = code.resources
        counts = "  ".join(f"{code.count(opcode):>{len(opcode)}}" for opcode in opcodes)
        print(f"{name:<{width}}  {r.registers:>9}  {r.spills:>5} B  {r.shared:>4} B  {len(code.instructions):>12}  "
              f"{counts}")


def count_kinds(compilation: Compilation) -> dict[str, int]:
    """How many instructions of each kind; empty where the CUDA compiler is not installed, which is said."""
    code = _or_say_what_is_missing(compilation)
    found: dict[str, int] = {}
    for instruction in code.instructions if code else ():
        found[instruction.kind] = found.get(instruction.kind, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def ptx_body(compilation: Compilation) -> list[str]:
    """The lines of the kernel's PTX, without declarations; empty where the CUDA compiler is not installed."""
    code = _or_say_what_is_missing(compilation)
    if code is None:
        return []
    body = code.ptx.partition("\n{\n")[2].partition("\n}")[0].split("\n")
    lines = (MANGLED.sub("", line.strip()) for line in body)
    return [line for line in lines if line and not line.startswith((".reg", ".local", ".shared", "//", ".loc"))]


def _or_say_what_is_missing(compilation: Compilation) -> GpuCode | None:
    try:
        return gpu_code(compilation)
    except CompileError as error:
        if all(d.code != TOOLS_MISSING for d in error.diagnostics):
            raise
        print(f"not shown: {error.diagnostics[0].title}; {error.diagnostics[0].help}")
        return None


# ------------------------------------------------------------------------------------ the CPU

JUMP = re.compile(r"^\s+(?:j[a-z]+|b(?:\.[a-z]+)?|cbn?z|tbn?z)\s.*?(?P<label>\.?L[\w$]+)\s*$")
LABEL = re.compile(r"^(?P<label>\.?L[\w$]+):")
WIDTHS = (("512 bits", re.compile(r"%zmm\d")), ("256 bits", re.compile(r"%ymm\d")),
          ("128 bits", re.compile(r"\bv\d+\.(?:16b|8h|4s|2d)\b|^\s+v?(?!mov)\w+p[sd]\s.*%xmm\d")),
          ("one number", re.compile(r"^\s+v?\w+s[sd]\s.*%xmm\d|^\s+f\w+\s+[sd]\d+,")))  # fmt: skip


def cpu_assembly(compilation: Compilation) -> str:
    """The machine code for this computer's processor, as assembly; compiled anew."""
    from tilelang.runtime.cpu import compile

    if compilation.cpu is None or compilation.optimized is None:
        raise ValueError('this was not compiled for the CPU: kernel.compile(..., device="cpu")')
    return compile(compilation.cpu, compilation.optimized).asm()


def loops(assembly: str) -> list[list[str]]:
    """The innermost loops: from a label to the jump back to it, with no other such jump in between."""
    lines = [line for line in assembly.split("\n") if LABEL.match(line) or _says_something(line)]
    at: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if label := LABEL.match(line):
            at[label["label"]] = number
        elif (jump := JUMP.match(line)) and jump["label"] in at:
            found.append((at[jump["label"]], number))
    inner = [a for a in found if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in found)]
    return [[line.expandtabs(8) for line in lines[first:last + 1]] for first, last in inner]


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith((".", "#", "//"))


def hot_loop(assembly: str, word: str = "") -> list[str]:
    """The innermost loop with the most work on vectors in it; with `word`, of those in which it occurs."""
    chosen = [loop for loop in loops(assembly) if any(word in line for line in loop)]
    return max(chosen, key=lambda loop: sum(map(_numbers, loop)), default=[])


def _numbers(line: str) -> int:
    """How many floats of a vector an instruction works on; 0 if it is none for vectors."""
    return next((bits for bits, (_, pattern) in zip((16, 8, 4), WIDTHS, strict=False) if pattern.search(line)), 0)


def count_widths(assembly: str) -> dict[str, int]:
    """How many instructions work on vectors of each width, and how many on one number."""
    lines = assembly.split("\n")
    return {name: sum(bool(pattern.search(line)) for line in lines) for name, pattern in WIDTHS}
