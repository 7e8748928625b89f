"""What an imported script leaves: a network in integers, what putting it there took, and how JSON says that."""

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
    """When a node can answer first."""

    node: str  # its name
    # ticks from a spike of the host to the first that can depend on it: least sum of delays; None where none does
    ticks: int | None


@dataclass(frozen=True)
class ChipReport(Documented):
    """What a run of a Brian2 network took on the chip."""

    _called = "a report"
    _forms = ("neuromap.backends.brian2.chip_report",)

    # network, chip: names
    network: str
    chip: str
    # cores, usable_cores: cores in use, and of the chip
    cores: int
    usable_cores: int
    compartments: int  # neurons and compartments of further currents in use
    synapses: int  # on the chip
    ticks: int  # ticks since the chip was loaded, one for every step
    # model_seconds, chip_seconds: what they are of the model, and on the chip
    model_seconds: float
    chip_seconds: float
    # spikes, synaptic_events: of neurons on the chip, and of their synapses, those of the host included
    spikes: int
    synaptic_events: int
    hops: int  # links that spikes crossed
    joules: float | None  # energy of the terms that the chip file has figures for; None where it has none
    energy_absent: tuple[str, ...]  # terms that it has none for
    latencies: tuple[NodeLatency, ...]
    quantisation: Quantisation  # with distances from the float original
    is_exact: bool  # whether the spikes are those of the integer reference

    def _facts(self) -> dict[str, object]:
        return {"network": self.network, "chip": self.chip, "cores": self.cores, "ticks": self.ticks}


_QUANTISATION = another("neuromap quantisation 1", "A document of its own: neuromap quantisation 1.")
# The report stands here because its document is described where Brian2 is not installed, too.
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
    """A network that a script ran, in the integers of a chip.

    Attributes
    ----------
    network : Network
        Of spiking nodes.
    figures : mapping of str to object
        What runs on the chip, and the report of the run with scales and errors, as JSON holds them.
    text : str
        The same as people read it.
    """

    network: Network
    figures: Mapping[str, Any]
    text: str
