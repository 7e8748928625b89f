"""Which networks are mapped onto what, and the worker that maps one of them in a process of its own.

python -m benchmarks.mapping.cases CASE PACKING BOUND        0 or 1 each; one line of JSON
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import neuromap as nm
from benchmarks.mapping.figures import figures_of
from benchmarks.mapping.networks import (
    board_network,
    convolution_network,
    count_neurons,
    count_synapses,
    irregular_network,
)
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import Network

__all__ = ["CASES", "REFERENCE", "Case", "measure"]

_ON_CHIP = Path(__file__).resolve().parents[2] / "examples" / "on_chip"
REFERENCE = "convolution, sign-fixed"
"""Case whose CPU time, packed, is the unit of all others."""


@dataclass(frozen=True)
class Case:
    """One network, mapped with and without packing.

    Attributes
    ----------
    title : str
        Name in the table.
    network : callable
        Builds it.
    chip : str
        Chip or board.
    pattern : str
        Rollout pattern; execution is windowed.
    placer : str
        Strategy of the placement.
    large : bool
        Whether it is left out unless it is asked for.
    """

    title: str
    network: Callable[[], Network]
    chip: str = "truenorth"
    pattern: str = "streaming"
    placer: str = "auto"
    large: bool = False


def _dsr4() -> Network:
    return nm.load_network(_ON_CHIP / "dsr4.toml")


CASES: Mapping[str, Case] = {
    case.title: case
    for case in (
        Case(REFERENCE, convolution_network),
        Case("convolution, ternary", lambda: convolution_network("ternary")),
        Case("convolution, ternary with zeros", lambda: convolution_network("ternary with zeros")),
        Case("convolution ten-fold, sign-fixed", lambda: convolution_network(side=152), chip="truenorth_ns16e"),
        Case("irregular", irregular_network),
        Case("grouped DSR4, streaming", _dsr4),
        Case("grouped DSR4, sequential", _dsr4, pattern="sequential"),
        Case("16 chips", board_network, chip="truenorth_ns16e", placer="hilbert", large=True),
    )
}


def measure(title: str, *, packing: bool, bound: bool) -> dict[str, Any]:
    """Map one case.

    Parameters
    ----------
    title : str
        Key of :data:`CASES`.
    packing : bool
        Whether tiles may share cores.
    bound : bool
        Whether the lower bound on cores is computed too; its time is not counted.

    Returns
    -------
    dict
        Neurons, synapses, CPU seconds, peak memory in MB, and the figures, or ``refused``: the mapper's line.
    """
    case = CASES[title]
    chip, options = load_chip(case.chip), MappingOptions(placer=case.placer, packing=packing)
    network = case.network()
    found: dict[str, Any] = {
        "case": title,
        "packing": packing,
        "neurons_with_input": count_neurons(network),
        "network_synapses": count_synapses(network),  # builds the matrices, so that mapping alone is timed
    }
    small = nm.Rollout(convolution_network(side=8), "streaming")
    map_with_stages(small, "truenorth", options)  # compiles what is compiled, outside the clock
    rollout = nm.Rollout(network, case.pattern)
    start = time.process_time()
    try:
        mapping = map_with_stages(rollout, chip, options)
    except DoesNotFitError as refusal:
        return {**found, "cpu_seconds": time.process_time() - start, "refused": str(refusal)}
    found["cpu_seconds"] = time.process_time() - start
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3  # Linux counts in KiB
    found |= asdict(figures_of(mapping.program))
    if bound:
        found["bound"] = core_bound(mapping.network, chip).total
    return found


def main() -> int:
    """Measure what is asked for on the command line."""
    title, packing, bound = sys.argv[1:]
    print(json.dumps(measure(title, packing=packing == "1", bound=bound == "1")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
