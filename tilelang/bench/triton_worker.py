"""Triton, in a process of its own: reads requests and answers them, one JSON object a line.

    {"kernel": "softmax", "capability": 80, "warps": 4, "stages": 1,
     "types": {"x": "*fp32", "N": "i32", "BLOCK": "constexpr"}, "constants": {"BLOCK": 1024},
     "divisible": ["x", "N"]}
    ->  {"cubin": "f0VMRg...", "version": "3.9.0", "error": null}       base64 of what Triton's own ptxas made

Run as a file by a Python that has Triton. Nothing is launched, and no GPU is needed. `divisible` lists the parameters
that are multiples of 16, which is what a launch's facts tell the compiler of this project.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

DIVISOR = 16


def compiled(request: dict[str, Any]) -> bytes:
    """The machine code of one kernel."""
    import triton
    import triton_kernels  # by its path
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    function, types = getattr(triton_kernels, request["kernel"]), request["types"]
    place = {name: (number,) for number, name in enumerate(types)}
    source = ASTSource(function, types, constexprs={place[n]: v for n, v in request["constants"].items()},
                       attrs={place[n]: [["tt.divisibility", DIVISOR]] for n in request["divisible"]})
    options = {"num_warps": request["warps"], "num_stages": request["stages"]}
    return triton.compile(source, target=GPUTarget("cuda", request["capability"], 32), options=options).asm["cubin"]


def answer(request: dict[str, Any]) -> dict[str, str | None]:
    try:
        import triton

        return {"cubin": base64.b64encode(compiled(request)).decode(), "version": triton.__version__, "error": None}
    except Exception as error:  # whatever it is: the report says it in the row, and goes on
        return {"cubin": None, "version": None, "error": f"{type(error).__name__}: {error}"}


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("TRITON_CACHE_DIR", cache)
        os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # its long-standing default; unset, it warns
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
