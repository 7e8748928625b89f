"""What a command's time goes to, by stage, from a profiled run of it."""

from __future__ import annotations

import pstats
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.waiting.measure import run

__all__ = ["stages_of"]

_STAGES = {
    "importing": ("<frozen importlib._bootstrap>", "_find_and_load"),
    "legalising": ("mapping/legalise/legalise.py", "legalise"),
    "tiling": ("mapping/tile/tile_all.py", "tile_all"),
    "filling cores": ("mapping/partition/partition.py", "share_cores"),
    "packing tiles": ("mapping/partition/partition.py", "pack"),
    "placement": ("mapping/place/place.py", "place"),
    "bounds": ("mapping/bounds/lower_bounds.py", "core_bound"),
    "verification": ("verification/law.py", "hold_against_reference"),
    "energy": ("simulation/cost/steady_figures.py", "steady_figures"),
}
"""The function of every stage; a stage that imports something counts that too."""
_LEAST = 0.02
"""Share of the time from which a stage is told."""


def stages_of(words: Sequence[str], environment: Mapping[str, str], folder: Path) -> dict[str, float]:
    """Profile a command and give the share of its time for each stage, the longest first.

    Parameters
    ----------
    words : sequence of str
        What follows ``neuromap``.
    environment : mapping of str to str
        Of the process.
    folder : Path
        Where it runs.

    Returns
    -------
    dict of str to float
        Shares from 0 to 1; those of less than a fiftieth are left out.
    """
    with tempfile.TemporaryDirectory() as name:
        kept = Path(name) / "profile"
        command = [sys.executable, "-m", "cProfile", "-o", str(kept), "-m", "neuromap", *words]
        run(command, environment, folder)  # profiled, a command ends with 0, whatever its own exit code
        profile = pstats.Stats(str(kept))
    calls: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = profile.stats  # type: ignore[attr-defined]
    whole: float = profile.total_tt  # type: ignore[attr-defined]
    shares = {
        stage: sum(
            ct for (file, _, name), (_, _, _, ct, _) in calls.items() if file.endswith(path) and name == function
        )
        / whole
        for stage, (path, function) in _STAGES.items()
    }
    return {stage: round(share, 3) for stage, share in sorted(shares.items(), key=lambda s: -s[1]) if share >= _LEAST}
