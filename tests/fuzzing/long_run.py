"""A run of very many attacks: in pieces, each in a process of its own; it goes on where it was stopped.

A process of its own, because numba keeps all that it ever compiled, and because a fault that ends the process must
not end the run. The worker, `python -m MODULE FIRST COUNT SEED OPTIONS`, prints one line of JSON for each thing that
happens: `begin` and the number of an attack, `failed` with what went wrong, `end` with what is to be counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO


def say(**what: object) -> None:
    """A worker's line."""
    print(json.dumps(what), flush=True)


class LongRun:
    """What has been run so far, kept in a file of JSON lines; each failure is one with its `seed`."""

    def __init__(self, module: str, log: Path, seed: int, *, piece: int, patience: float) -> None:
        """Attacks run `piece` to a process; one that says nothing for `patience` seconds hangs."""
        self.module, self.log, self.seed, self.size, self.patience = module, log, seed, piece, patience
        self.next, self.failed = 0, 0
        self.counts: Counter[str] = Counter()
        if log.exists():
            for line in log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.failed += "failed" in entry
                if "next" in entry:
                    self.next, self.counts = entry["next"], Counter(entry["counts"])

    def run(self, total: int, options: str = "") -> int:
        """Go on up to `total` attacks and print a summary; the number of failures."""
        start, first = time.monotonic(), self.next
        while self.next < total:
            self._piece(min(self.size, total - self.next), options)
            print(f"{self.next} done, {self.failed} failed, {time.monotonic() - start:.0f} s", flush=True)
        counted = ", ".join(f"{name} {count}" for name, count in sorted(self.counts.items()))
        print(f"{self.next} in all ({counted}), {self.failed} failed; {self.next - first} of them just now")
        return self.failed

    def _note(self, entry: dict[str, object]) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _fail(self, number: int, entry: dict[str, object]) -> None:
        self.failed += 1
        self._note({"seed": self.seed + number, "failed": number, **entry})
        print(f"seed {self.seed + number}: {entry['text']}\n{entry.get('input', '')}", flush=True)

    def _piece(self, count: int, options: str) -> None:
        """The next `count` attacks in a process; one that kills it, or hangs, has failed and is skipped."""
        command = [sys.executable, "-m", self.module, *map(str, (self.next, count, self.seed)), options]
        environment = {**os.environ, "TILEC_CACHE_DIR": ""}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        lines: Queue[str] = Queue()
        Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        while line := self._line(lines, process):
            entry = json.loads(line)
            if "begin" in entry:
                self.next = entry["begin"]
            elif "failed" in entry:
                self._fail(entry.pop("failed"), entry)
            else:
                self.counts.update(entry["end"])
        if process.wait():
            self._fail(self.next, {"text": f"the process died with {process.returncode}"})
        self.next += 1
        self._note({"next": self.next, "counts": self.counts})

    def _line(self, lines: Queue[str], process: subprocess.Popen[str]) -> str:
        """The next line, empty at the end. A worker that says nothing any more is ended."""
        try:
            return lines.get(timeout=self.patience)
        except Empty:
            process.kill()
            return ""


def _read(stream: IO[str], lines: Queue[str]) -> None:
    """Line by line as they come; an empty one at the end."""
    for line in stream:
        lines.put(line)
    lines.put("")
