"""neuromap: map rolled-out networks onto simulated neuromorphic chips; predict, measure and prove latency.

Everything public is reached from here and imported on first use, so that ``import neuromap`` and
``neuromap --help`` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Network": "neuromap.network.network",
    "load_network": "neuromap.network.network_file",
    "RolloutPattern": "neuromap.rollout.pattern",
    "Rollout": "neuromap.rollout.schedule",
    "ChipSpec": "neuromap.hardware.chip",
    "load_chip": "neuromap.hardware.chip_file",
    "list_chips": "neuromap.hardware.chip_file",
    "Program": "neuromap.hardware.program",
    "load_program": "neuromap.hardware.program_file",
    "check_program": "neuromap.hardware.check",
    "map_rollout": "neuromap.mapping.map_rollout",
    "Recording": "neuromap.simulation.recording",
    "simulate": "neuromap.simulation.simulate",
    "simulate_batch": "neuromap.simulation.batch",
    "simulate_to_file": "neuromap.simulation.simulate",
    "load_trace": "neuromap.simulation.trace_file",
    "reference": "neuromap.simulation.reference",
    "verify": "neuromap.report.verify",
    "latency_report": "neuromap.report.latency",
    "measure_activity": "neuromap.simulation.activity",
    "explore": "neuromap.explorer.explore",
}
_PACKAGES = ("errors", "network", "rollout", "hardware", "mapping", "simulation", "report", "explorer", "frontends")

__all__ = [
    "ChipSpec",
    "Network",
    "Program",
    "Recording",
    "Rollout",
    "RolloutPattern",
    "__version__",
    "check_program",
    "errors",
    "explore",
    "explorer",
    "frontends",
    "hardware",
    "latency_report",
    "list_chips",
    "load_chip",
    "load_network",
    "load_program",
    "load_trace",
    "map_rollout",
    "mapping",
    "measure_activity",
    "network",
    "reference",
    "report",
    "rollout",
    "simulate",
    "simulate_batch",
    "simulate_to_file",
    "simulation",
    "verify",
]

if TYPE_CHECKING:
    from neuromap import errors, explorer, frontends, hardware, mapping, network, report, rollout, simulation
    from neuromap.explorer.explore import explore
    from neuromap.hardware.check import check_program
    from neuromap.hardware.chip import ChipSpec
    from neuromap.hardware.chip_file import list_chips, load_chip
    from neuromap.hardware.program import Program
    from neuromap.hardware.program_file import load_program
    from neuromap.mapping.map_rollout import map_rollout
    from neuromap.network.network import Network
    from neuromap.network.network_file import load_network
    from neuromap.report.latency import latency_report
    from neuromap.report.verify import verify
    from neuromap.rollout.pattern import RolloutPattern
    from neuromap.rollout.schedule import Rollout
    from neuromap.simulation.activity import measure_activity
    from neuromap.simulation.batch import simulate_batch
    from neuromap.simulation.recording import Recording
    from neuromap.simulation.reference import reference
    from neuromap.simulation.simulate import simulate, simulate_to_file
    from neuromap.simulation.trace_file import load_trace


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"neuromap.{name}")
    raise AttributeError(f"module 'neuromap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
