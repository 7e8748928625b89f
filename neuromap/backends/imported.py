"""Result of an imported script: an integer network, and a report of its run with a JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuromap.arrays.value import Value
from neuromap.network.network import Network
from neuromap.quantise import forms as quantise_forms
from neuromap.quantise.quantisation import Quantisation
from neuromap.render.document import another, const, document, members, record_of
from neuromap.render.value import Card, Documented


@dataclass(frozen=True)
class NodeLatency(Card):
    """First response of a node, in ticks."""

    node: str  # name
    # least sum of delays from a spike of the host to the first that can depend on it; None if none can
    ticks: int | None


@dataclass(frozen=True)
class ChipReport(Documented):
    """Figures of a run of a Brian2 network on the chip."""

    _called = "a report"
    _forms = ("neuromap.backends.brian2.chip_report",)

    # network, chip: names
    network: str
    chip: str
    # cores, usable_cores: cores in use, and usable cores of the chip
    cores: int
    usable_cores: int
    # in use: neurons, copies and relays included, and on synapse lists the compartments of further currents
    compartments: int
    synapses: int  # on the chip
    ticks: int  # ticks since the chip was loaded, one per step
    # model_seconds, chip_seconds: duration in model time, and on the chip
    model_seconds: float
    chip_seconds: float
    # spikes, synaptic_events: of the script's neurons, and of all synapses on the chip, including those fed by the host
    spikes: int
    synaptic_events: int
    hops: int  # links that spikes crossed
    joules: float | None  # energy of the terms for which the chip file has figures; None if it has none
    energy_absent: tuple[str, ...]  # terms without figures
    latencies: tuple[NodeLatency, ...]
    quantisation: Quantisation  # with distances from the float original
    is_exact: bool  # whether the spikes equal those of the integer reference

    def _facts(self) -> dict[str, object]:
        return {"network": self.network, "chip": self.chip, "cores": self.cores, "ticks": self.ticks}


_QUANTISATION = another("neuromap quantisation 1", "A document of its own: neuromap quantisation 1.")
# The report is here because its document is described even without Brian2 installed.
BRIAN2_REPORT = document(
    "brian2-report",
    {"format": const("neuromap brian2 report 1")}
    | members(
        ChipReport,
        (),
        {"NodeLatency": record_of(NodeLatency)},
        quantisation=_QUANTISATION.by(quantise_forms.to_dict),
    ),
)


@dataclass(frozen=True, eq=False)
class Imported(Value):
    """The network that a script ran, in integers of a chip.

    Attributes
    ----------
    network : Network
        Network of spiking nodes.
    figures : mapping of str to object
        What runs on the chip, and the report of the run with scales and errors, in JSON types.
    text : str
        The same as text for people.
    """

    network: Network
    figures: Mapping[str, Any]
    text: str
