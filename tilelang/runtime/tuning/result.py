"""What tuning found out, as data; `tilelang.runtime.tuning.table` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tilelang.dtypes import DType
from tilelang.runtime.tuning.race import winner
from tilelang.runtime.tuning.space import Config
from tilelang.runtime.tuning.store import Tunable
from tilelang.semantics.constants import Value

MEASURED, ESTIMATED = "measurement", "model"


@dataclass(frozen=True)
class Trial:
    """One configuration. `seconds` of one launch: the median of `runs`, None if it was not measured.

    `failed` says why it cannot be used; `twin` is the number of the configuration whose code is the same; `left` that
    it was clearly slower and did not stay to the end of the race.
    """

    number: int
    metas: Config
    seconds: float | None = None
    runs: int = 0
    failed: str = ""
    twin: int | None = None
    left: bool = False

    @property
    def valid(self) -> bool:
        return self.seconds is not None and not self.failed and self.twin is None


@dataclass(frozen=True)
class TuningResult:
    """All trials in the order of the space, the default configuration first; `best` is what to launch with.

    Attributes:
        by: "measurement", or "model" for estimates.
        device: what it was measured on, or estimated for.
        settled: dims and the metas that were not tuned.
        idle: metas that change nothing on this device.
        flops, bytes: what one launch computes in matrix products, and the size of all its arrays (`inout` twice).
        note: what else a reader should know.
        kept: the file that later launches read, None if there is none.
        has_default: the default configuration is among those tried, in the first place.
    """

    kernel: str
    device: str
    by: str
    trials: tuple[Trial, ...]
    settled: Mapping[str, Value] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    flops: float = 0.0
    bytes: float = 0.0
    when: str = ""
    note: str = ""
    kept: Path | None = None
    has_default: bool = True

    @property
    def ranked(self) -> tuple[Trial, ...]:
        """The valid trials, fastest first; but the best one stands first even if another seems as fast."""
        valid = sorted((t for t in self.trials if t.valid), key=lambda t: (t.seconds, t.number))
        chosen = self.winner
        return tuple(sorted(valid, key=lambda t: t is not chosen))

    @property
    def winner(self) -> Trial | None:
        """The best trial; None if none is valid."""
        seconds = {t.number: t.seconds for t in self.trials if t.valid and t.seconds is not None}
        return self.trials[winner(seconds)] if seconds else None

    @property
    def best(self) -> dict[str, Tunable]:
        """The metas of the best configuration: `program["matmul"](a, b, **result.best)`."""
        return dict(self.winner.metas) if self.winner is not None else {}

    @property
    def default(self) -> Trial:
        """What the others are compared with: the default configuration if it is among them, else the first."""
        return self.trials[0]

    @property
    def gain(self) -> float | None:
        """How many times faster than the default the best one is; None if either time is not known."""
        if self.winner is None or self.default.seconds is None or not self.winner.seconds:
            return None
        return self.default.seconds / self.winner.seconds

    def rate(self, trial: Trial) -> tuple[float, str] | None:
        """What a trial does in a second: operations of matrix products (FLOP/s), or else bytes (B/s)."""
        if not trial.seconds:
            return None
        if self.flops:
            return self.flops / trial.seconds, "FLOP/s"
        return (self.bytes / trial.seconds, "B/s") if self.bytes else None

    def as_dict(self) -> dict[str, object]:
        """All of it as plain data, for JSON. Seconds, bytes, operations."""
        return {
            "kernel": self.kernel, "device": self.device, "by": self.by, "when": self.when, "note": self.note,
            "settled": _plain(self.settled), "idle": list(self.idle), "best": _plain(self.best), "gain": self.gain,
            "flops": self.flops, "bytes": self.bytes, "kept": str(self.kept) if self.kept is not None else None,
            "trials": [{"metas": _plain(t.metas), "seconds": t.seconds, "runs": t.runs, "failed": t.failed or None,
                        "same_code_as": None if t.twin is None else _plain(self.trials[t.twin].metas),
                        "left_early": t.left} for t in self.trials],
        }

    def __str__(self) -> str:
        from tilelang.runtime.tuning.table import as_text

        return as_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from tilelang.runtime.tuning.table import as_html

        return as_html(self)


def _plain(metas: Mapping[str, Value]) -> dict[str, object]:
    return {name: value.name if isinstance(value, DType) else value for name, value in metas.items()}
