"""A finished comparison as a value, and its file: from it table and plot are made without running anything."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from neuromap.files.whole_file import write_whole

__all__ = ["Comparison", "Measurement", "Omission", "load_comparison", "save_comparison"]


@dataclass(frozen=True)
class Measurement:
    """One simulator at one size, in all rounds.

    Attributes
    ----------
    peer, version : str
        Which.
    cores, ticks : int
        Size; ticks measured in every round.
    cpu_ms, wall_ms : tuple of float
        Milliseconds per tick, one value per round.
    build_s, peak_mb : float
        Seconds from arrays to the first tick (compilation included), and resident memory in 10^6 bytes: the most
        of any round.
    bytes_per_tick : float or None
        Moved through memory in a tick, where the simulator knows.
    hot_bytes : int or None
        All that its ticks touch.
    """

    peer: str
    version: str
    cores: int
    ticks: int
    cpu_ms: tuple[float, ...]
    wall_ms: tuple[float, ...]
    build_s: float
    peak_mb: float
    bytes_per_tick: float | None = None
    hot_bytes: int | None = None

    @property
    def ms(self) -> float:
        """CPU milliseconds per tick, the median of all rounds."""
        return median(self.cpu_ms)


@dataclass(frozen=True)
class Omission:
    """A simulator and size that is not in the table, and why; ``cores`` is 0 for all sizes."""

    peer: str
    cores: int
    reason: str


@dataclass(frozen=True)
class Comparison:
    """All that a comparison found.

    Attributes
    ----------
    date : str
        Day on which it ended.
    commit : str
        Of neuromap; with "+" where files had been changed.
    machine : dict
        Fields of :class:`neuromap.bench.bench_report.Machine`.
    warm, rounds : int
        Ticks before the clock starts; how often each simulator had its turn.
    cores : tuple of int
        Sizes.
    bandwidth : tuple of float
        Bytes per second that one thread streams, one value per round and size.
    measurements : tuple of Measurement
    omissions : tuple of Omission
    """

    date: str
    commit: str
    machine: dict[str, Any]
    warm: int
    rounds: int
    cores: tuple[int, ...]
    bandwidth: tuple[float, ...]
    measurements: tuple[Measurement, ...]
    omissions: tuple[Omission, ...]

    def of(self, peer: str, cores: int) -> Measurement | None:
        """Give what was measured of a simulator at a size, if it was."""
        found = (m for m in self.measurements if (m.peer, m.cores) == (peer, cores))
        return next(found, None)

    def ratio(self, measurement: Measurement) -> float | None:
        """Its time over neuromap's, medians, at the same size."""
        ours = self.of("neuromap", measurement.cores)
        return None if ours is None else measurement.ms / ours.ms

    def limit_ms(self, cores: int) -> float | None:
        """Milliseconds in which memory alone can move what neuromap moves in a tick; ``None`` if the cache holds it."""
        ours, cache = self.of("neuromap", cores), self.machine.get("cache_bytes") or 0
        if ours is None or not ours.bytes_per_tick or not self.bandwidth or (ours.hot_bytes or 0) <= cache:
            return None
        return ours.bytes_per_tick / median(self.bandwidth) * 1e3


def save_comparison(comparison: Comparison, path: Path) -> None:
    """Write it as JSON, whole or not at all."""
    write_whole(path, json.dumps(asdict(comparison), indent=1) + "\n")


def load_comparison(path: Path) -> Comparison:
    """Read what :func:`save_comparison` has written."""
    fields = json.loads(path.read_text())
    measured = tuple(
        Measurement(**{**m, "cpu_ms": tuple(m["cpu_ms"]), "wall_ms": tuple(m["wall_ms"])})
        for m in fields.pop("measurements")
    )
    omitted = tuple(Omission(**o) for o in fields.pop("omissions"))
    lists = {name: tuple(fields.pop(name)) for name in ("cores", "bandwidth")}
    return Comparison(**fields, **lists, measurements=measured, omissions=omitted)
