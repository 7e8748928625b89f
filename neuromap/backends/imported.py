"""What an imported script leaves: a network in integers, what putting it there took, and how JSON says that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuromap.arrays.value import Value
from neuromap.network.network import Network
from neuromap.quantise import forms as quantise_forms
from neuromap.render.document import COUNT, FLAG, NUMBER, TEXT, another, const, document, each, record

_QUANTISATION = another("neuromap quantisation 1", "A document of its own: neuromap quantisation 1.")
# Stands here because it is described where Brian2 is not installed, too.
BRIAN2_REPORT = document(
    "brian2-report",
    format=const("neuromap brian2 report 1"),
    network=TEXT,
    chip=TEXT,
    cores=COUNT,
    usable_cores=COUNT,
    compartments=COUNT,
    synapses=COUNT,
    ticks=COUNT,
    model_seconds=NUMBER,
    chip_seconds=NUMBER,
    spikes=COUNT,
    synaptic_events=COUNT,
    hops=COUNT,
    joules=NUMBER.or_null,
    energy_absent=each(TEXT),
    latencies=each(record(node=TEXT, ticks=COUNT.or_null)),
    quantisation=_QUANTISATION.by(quantise_forms.to_dict),
    is_exact=FLAG,
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
