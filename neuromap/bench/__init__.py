"""The bench command: an engine measured on a network that simulators are measured on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"BenchReport": "bench_report", "characterisation_program": "characterisation"}

if TYPE_CHECKING:
    from neuromap.bench.bench_report import BenchReport as BenchReport
    from neuromap.bench.characterisation import characterisation_program as characterisation_program

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
