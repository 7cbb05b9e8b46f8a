"""`tilec profile FILE M=4096 N=1024 --gpu a100`: where the time would go, without a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tilelang.cli.arguments import parse_settings, parse_words
from tilelang.cli.faults import OK, USAGE, Fault
from tilelang.cli.kernels import Header, locate, read_header
from tilelang.diagnostics import CompileError, Diagnostic, InternalError
from tilelang.driver import GPU, Compilation, run
from tilelang.near import nearest

if TYPE_CHECKING:
    from tilelang.machine.gpus import Gpu
    from tilelang.machine.profile import Profile
    from tilelang.runtime.program import Launch

DEFAULT_GPU = "a100"


@click.command("profile")
@click.argument("file", metavar="FILE[:KERNEL]")
@click.argument("words", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--gpu", "gpu_name", default=DEFAULT_GPU, show_default=True, metavar="GPU",
              help="t4, a100, rtx3090, rtx4090, h100 or h200.")
@click.option("--set", "settings", multiple=True, metavar="META=VALUE", help="Set a meta, such as BLOCK=64.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For random arrays.")
@click.option("--ptxas", is_flag=True, help="Take registers from NVIDIA's assembler (needs the extra `cuda`).")
@click.option("--eager", "show_eager", is_flag=True, help="List the kernels of the eager version.")
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
def command(file: str, words: tuple[str, ...], gpu_name: str, settings: tuple[str, ...], seed: int, ptxas: bool,
            show_eager: bool, as_json: bool) -> int:
    """Say where a kernel's time would go on a GPU. No GPU is needed.

    \b
    The kernel is run on a model of the GPU, which counts for each line: sectors of global memory and how well they
    are used, accesses to shared memory and bank conflicts, instructions. From the counts follow the time at least,
    and what limits it. Beside it stands the eager version, one kernel for each operation.

    NAME=VALUE is as for `tilec run`; arrays that are left out are filled at random.
    """
    gpu = find_gpu(gpu_name)
    values, metas = parse_words(words), parse_settings(settings)
    header = read_header(*locate(file))

    from tilelang.cli.inputs import make_inputs
    from tilelang.cli.launching import prepare
    from tilelang.cli.profile_text import as_dict, show

    inputs = make_inputs(header, values, metas, seed)
    launch = prepare(header, inputs, "model")
    profile = _profile(header, launch, gpu, ptxas)
    settled = {**{name: launch.dims[name] for name in header.dims}, **launch.metas}
    if as_json:
        import json

        click.echo(json.dumps(as_dict(profile, settled), indent=2))
    else:
        show(profile, settled, header.source, show_eager)
    return OK


def find_gpu(name: str) -> Gpu:
    """The data sheet of this name. Raises Fault (E0735)."""
    from tilelang.machine.gpus import GPUS

    if name in GPUS:
        return GPUS[name]
    near = nearest(name, GPUS)
    help = f"did you mean `{near}`?" if near else ""
    notes = ("the GPUs are " + ", ".join(GPUS),)
    raise Fault("E0735", f"there is no data sheet of a GPU `{name}`", notes=notes, help=help, status=USAGE)


def _profile(header: Header, launch: Launch, gpu: Gpu, ptxas: bool) -> Profile:
    from tilelang.ir.batch import TileAssertionError
    from tilelang.machine.profile import profile

    compiled = _lowered(launch.compilation, gpu)
    if compiled.thread_ir is None or compiled.optimized is None:
        raise InternalError("cli", "a kernel was profiled that had not been compiled")
    registers = _registers(compiled) if ptxas else None
    try:
        return profile(compiled.thread_ir, compiled.optimized, gpu, launch.arguments, launch.dims,  # type: ignore[arg-type]
                       launch.grid, header.source, registers=registers)
    except TileAssertionError as failed:
        where = ", ".join(map(str, failed.program))
        raise CompileError([Diagnostic("E0590", f"assert failed: {failed.text}", failed.span,
                                       f"false in program ({where})")], header.source) from None


def _lowered(compilation: Compilation, gpu: Gpu) -> Compilation:
    """The thread IR for this GPU, in place of that for the model's default one."""
    from tilelang.tiling.targets import TARGETS

    again = replace(compilation, target=TARGETS[gpu.target], thread_ir=None, cuda=None)
    return run(again, GPU, until="thread_ir")


def _registers(compiled: Compilation) -> int:
    """What ptxas says one thread takes. Raises CompileError (E0630) without the extra `cuda`."""
    from tilelang.runtime.cuda_compile import compile_ptx, ptxas_report

    compiled = run(compiled, GPU)
    if compiled.cuda is None or compiled.thread_ir is None or compiled.target is None:
        raise InternalError("cli", "the GPU stages ended without source")
    ptx = compile_ptx(compiled.cuda, compiled.thread_ir, compiled.target)
    return ptxas_report(ptx, compiled.target).registers
