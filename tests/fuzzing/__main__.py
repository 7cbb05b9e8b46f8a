"""A long run of random programs: `python -m tests.fuzzing --programs 20000`.

It may be stopped at any time; the same command with the same `--log` goes on from there. The log holds a line of
JSON for every failing program, with its seed, what went wrong, and a smaller program that goes wrong the same way.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzzing.long_run import LongRun
from tests.fuzzing.running import DEVICES, EVERY


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=20_000, help="how many in all")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed; the others count up from it")
    some = ", ".join(f"{name} (one program in {EVERY[name]})" for name in DEVICES)
    parser.add_argument("--devices", default="reference,model,cpu", help=f"of {some}")
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "tile-fuzzing.jsonl")
    options = parser.parse_args()
    unknown = set(options.devices.split(",")) - set(DEVICES)
    if unknown:
        parser.error(f"there is no device {', '.join(sorted(unknown))}; there are {', '.join(DEVICES)}")
    run = LongRun("tests.fuzzing.worker", options.log, options.seed, piece=200, patience=300)
    return 1 if run.run(options.programs, options.devices) else 0


if __name__ == "__main__":
    sys.exit(main())
