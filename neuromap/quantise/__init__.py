"""Float networks on integer neurons, with the price told (``docs/brian2.md``); graded ones as rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

_HOMES = {
    "FloatNetwork": "float_network",
    "FloatNeuron": "float_network",
    "FloatSynapses": "float_network",
    "Quantisation": "quantisation",
    "Quantised": "quantise_network",
    "RateNetwork": "rate",
    "float_reference": "float_steps",
    "quantise": "quantise_network",
    "to_rates": "rate",
    "train_distance": "spike_distance",
}

if TYPE_CHECKING:
    from neuromap.quantise.float_network import FloatNetwork as FloatNetwork
    from neuromap.quantise.float_network import FloatNeuron as FloatNeuron
    from neuromap.quantise.float_network import FloatSynapses as FloatSynapses
    from neuromap.quantise.float_steps import float_reference as float_reference
    from neuromap.quantise.quantisation import Quantisation as Quantisation
    from neuromap.quantise.quantise_network import Quantised as Quantised
    from neuromap.quantise.quantise_network import quantise as quantise
    from neuromap.quantise.rate import RateNetwork as RateNetwork
    from neuromap.quantise.rate import to_rates as to_rates
    from neuromap.quantise.spike_distance import train_distance as train_distance

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
