"""A long run of random programs: `python -m tests.fuzzing --programs 20000`.

It may be stopped at any time; the same command with the same `--log` goes on from there. The log holds a line of
JSON for every failing program, with its seed, what went wrong, and a smaller program that goes wrong the same way.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

from tests.fuzzing.running import DEVICES

PIECE = 200
"""Programs a process."""
PATIENCE = 300.0
"""Seconds after which a program counts as hanging."""


class LongRun:
    """What has been run so far, kept in a file."""

    def __init__(self, log: Path, seed: int) -> None:
        self.log, self.seed = log, seed
        self.next, self.failed = 0, 0
        self.ran: Counter[str] = Counter()
        if log.exists():
            for line in log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.failed += "failed" in entry
                if "next" in entry:
                    self.next, self.ran = entry["next"], Counter(entry["ran"])

    def note(self, entry: dict[str, object]) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def fail(self, entry: dict[str, object]) -> None:
        self.failed += 1
        self.note({"seed": self.seed + int(str(entry["failed"])), **entry})
        print(f"seed {self.seed + int(str(entry['failed']))}: {entry['text']}\n{entry.get('program', '')}", flush=True)

    def piece(self, count: int, devices: str) -> None:
        """Run the next `count` programs in a process; a program that kills it, or hangs, is one that failed."""
        command = [sys.executable, "-m", "tests.fuzzing.worker", str(self.next), str(count), str(self.seed), devices]
        environment = {**os.environ, "TILEC_CACHE_DIR": ""}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        lines: Queue[str] = Queue()
        Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        current = self.next
        while True:
            try:
                line = lines.get(timeout=PATIENCE)
            except Empty:
                process.kill()
                self.fail({"failed": current, "text": f"hangs: nothing in {PATIENCE:.0f} s"})
                break
            if not line:
                if process.wait():
                    self.fail({"failed": current, "text": f"the process died with {process.returncode}"})
                break
            entry = json.loads(line)
            if "begin" in entry:
                current = entry["begin"]
            elif "failed" in entry:
                self.fail(entry)
            else:
                self.ran.update(entry["ran"])
        self.next = current + 1
        self.note({"next": self.next, "ran": self.ran})


def _read(stream: IO[str], lines: Queue[str]) -> None:
    """Line by line as they come; an empty one at the end."""
    for line in stream:
        lines.put(line)
    lines.put("")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__.split("\n")[0])
    parser.add_argument("--programs", type=int, default=20_000, help="how many in all")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed; the others count up from it")
    parser.add_argument("--devices", default="reference,model,cpu", help=f"of {', '.join(DEVICES)}")
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "tile-fuzzing.jsonl")
    options = parser.parse_args()
    unknown = set(options.devices.split(",")) - set(DEVICES)
    if unknown:
        parser.error(f"there is no device {', '.join(sorted(unknown))}; there are {', '.join(DEVICES)}")
    run, start = LongRun(options.log, options.seed), time.monotonic()
    first = run.next
    while run.next < options.programs:
        run.piece(min(PIECE, options.programs - run.next), options.devices)
        print(f"{run.next} programs, {run.failed} failed, {time.monotonic() - start:.0f} s", flush=True)
    where = ", ".join(f"{count} on {device}" for device, count in sorted(run.ran.items()))
    print(f"{run.next} programs ({where}), {run.failed} failed; {run.next - first} of them just now")
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
