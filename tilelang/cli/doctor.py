"""`tilec doctor`: what this machine can do, and what to install for what it cannot.

It never fails: whatever it asks about may be missing or broken, and saying so is its purpose. It asks for the
GPU in a process of its own, because a broken driver can take the process that asks down with it.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from tilelang.cli.faults import OK
from tilelang.cli.terminal import plural
from tilelang.rendering import printable

REQUIRED = ("lark", "numpy", "numba", "numba-cuda", "rich", "click", "platformdirs", "ml_dtypes")
CUDA_WHEELS = ("nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm")
OPTIONAL = ("cupy-cuda13x", "torch", "jupyter")
TOOLS = {
    "ptxas": "PTX to machine code: register counts and spills, without a GPU",
    "nvdisasm": "machine code as text (SASS)",
}

GPU_PROBE = """
import json
from numba import cuda
found = []
if cuda.is_available():
    for device in cuda.list_devices():
        with cuda.gpus[device.id]:
            name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
            memory = cuda.current_context().get_memory_info().total
            found.append([name, list(device.compute_capability), memory])
print(json.dumps(found))
"""
PROBE_SECONDS = 60


@dataclass(frozen=True)
class Gpu:
    name: str
    capability: tuple[int, int]
    memory: int
    """In bytes."""


@click.command("doctor")
def command() -> int:
    """Say what this machine can do: packages, GPU, CUDA tools, cache, and the devices `tilec run` can use."""
    gpus, trouble = find_gpus()
    tools = {name: find_tool(name) for name in TOOLS}
    _section("This machine", _machine())
    _section("Packages", {n: v or "not installed" for n, v in versions().items()})
    _section("CUDA", _cuda(gpus, trouble, tools))
    _section("Cache", _cache())
    _section("Devices for `tilec run --device`", _devices(gpus))
    advice = missing(gpus, tools)
    _section("To have more", advice if advice else {"nothing": "everything was found"})
    return OK


def _section(title: str, rows: Mapping[str, str]) -> None:
    formatter = click.HelpFormatter(width=100)
    with formatter.section(title):
        formatter.write_dl([(name, printable(text)) for name, text in rows.items()], col_max=40)
    click.echo(formatter.getvalue())


def _machine() -> dict[str, str]:
    return {
        "Python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "CPU cores": f"{len(_usable_cores())} usable of {os.cpu_count()}",
    }


def _usable_cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def versions() -> dict[str, str | None]:
    """The installed version of every package that matters, None for those that are not there."""
    names = ("tile-course", *REQUIRED, *CUDA_WHEELS, *OPTIONAL)
    return {name: _version(name) for name in names}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


# -------------------------------------------------------------------------------------------------- CUDA


def find_gpus() -> tuple[list[Gpu], str]:
    """The CUDA GPUs that numba can use, and why there are none (empty if nothing went wrong)."""
    if importlib.util.find_spec("numba") is None:
        return [], "numba is not installed"
    try:
        probe = subprocess.run(
            [sys.executable, "-c", GPU_PROBE], capture_output=True, text=True, timeout=PROBE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [], f"asking for one did not work: {error}"
    try:
        found = json.loads(probe.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return [], (probe.stderr.strip().splitlines() or [f"numba.cuda ended with {probe.returncode}"])[-1]
    return [Gpu(name, (major, minor), memory) for name, (major, minor), memory in found], ""


def find_tool(name: str) -> Path | None:
    """A CUDA tool: the wheels' one, else what is on PATH (an older `ptxas` there may reject newer PTX)."""
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        for found in sorted(Path(folder).glob(f"*/bin/{name}*")):
            if found.stem == name:
                return found
    on_path = shutil.which(name)
    return Path(on_path) if on_path is not None else None


def _cuda(gpus: list[Gpu], trouble: str, tools: Mapping[str, Path | None]) -> dict[str, str]:
    rows = {}
    for number, gpu in enumerate(gpus):
        major, minor = gpu.capability
        rows[f"cuda:{number}"] = f"{gpu.name}, sm_{major}{minor}, {gpu.memory / 2**30:.0f} GiB"
    if not gpus:
        rows["GPU"] = "none found" + (f" ({trouble})" if trouble else "")
    rows |= {name: str(path) if path is not None else "not found" for name, path in tools.items()}
    return rows


# ------------------------------------------------------------------------------------------------- cache


def _cache() -> dict[str, str]:
    from tilelang.runtime.cache import VARIABLE, cache_root

    folder = cache_root()
    if folder is None:
        return {"state": f"turned off: {VARIABLE} is empty"}
    rows = {"folder": str(folder), "state": _state(folder)}
    if folder.is_dir():
        files = [p for p in folder.rglob("*") if p.is_file()]
        rows["size"] = f"{plural(len(files), 'file')}, {sum(_size(p) for p in files) / 2**20:.1f} MiB"
    return rows


def _state(folder: Path) -> str:
    if folder.is_dir():
        return "writable" if os.access(folder, os.W_OK | os.X_OK) else "not writable: nothing will be kept"
    if folder.exists():
        return "a file is in its place: remove it, or set TILEC_CACHE_DIR to another folder"
    parent = next((p for p in folder.parents if p.exists()), folder)
    return "empty" if os.access(parent, os.W_OK | os.X_OK) else f"cannot be made: {parent} is not writable"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # another process has just removed it


# ----------------------------------------------------------------------------------------------- devices


NEEDS = {"cpu": "numba", "simulator": "numba-cuda"}
"""The package that a device cannot do without, beyond those that the compiler itself needs."""


def _devices(gpus: list[Gpu]) -> dict[str, str]:
    try:
        from tilelang.runtime.devices import DEVICES
    except ImportError as error:
        return {"none": f"the runtime cannot be loaded: {error}"}
    rows = {"auto": f"takes {'cuda:0' if gpus else 'cpu'} here"}
    for device in DEVICES:
        needed = NEEDS.get(device.name)
        reason = f"{needed} is missing" if needed and _version(needed) is None else device.available()
        rows[device.name] = f"no: {reason}" if reason else f"yes: {device.does}"
    for number, gpu in enumerate(gpus):
        rows[f"cuda:{number}"] = f"yes: {gpu.name}"
    if not gpus:
        rows["cuda:0"] = "no: no GPU"
    return rows


def missing(gpus: list[Gpu], tools: Mapping[str, Path | None]) -> dict[str, str]:
    """What is not there, and what to do about it."""
    advice = {}
    absent = [name for name in REQUIRED if _version(name) is None]
    if absent:
        advice[", ".join(absent)] = f"pip install {' '.join(absent)}"
    lacking = [name for name, path in tools.items() if path is None]
    if lacking:
        advice[", ".join(lacking)] = "in a clone of the course: pip install -e '.[cuda]'"
    if not gpus:
        advice["a GPU"] = "an NVIDIA GPU with its driver; until then `cpu` runs everything, on all cores"
    return advice
