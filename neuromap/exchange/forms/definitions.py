"""What the figures of an import mean: name, unit, and a definition, for its page."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.page import Definition

__all__ = ["DEFINITIONS"]


_BY_VALUE = "% of the float value, the greatest of all neurons"

DEFINITIONS: Mapping[str, Definition] = ReadOnlyMapping(
    {
        "node": Definition("Node", "", "A layer of the network: what of the source sums and decides."),
        "shape": Definition("Shape", "rows × columns × features", "Of the node’s neurons; “-” where it is not known."),
        "neurons": Definition("Neurons", "neurons", "Rows times columns times features."),
        "work": Definition(
            "Multiply-accumulates",
            "per frame",
            "What the source computes for the node in one frame, as its operators count. “-”: not known.",
        ),
        "reads": Definition("Reads", "", "Nodes with an edge to this one."),
        "scale": Definition("Scale", "units of the chip’s voltage per unit of v", "By what potentials are multiplied."),
        "threshold": Definition("Threshold", "units of the chip’s voltage", "The greatest of all neurons of the node."),
        "lowest-voltage": Definition("Lowest v", "unit of v", "The lower rail of the chip’s voltage."),
        "current-room": Definition(
            "Room of the current",
            "times",
            "Range of the current by what it reaches if all sources of one sign fire as often as they can. Below 1 it "
            "may wrap.",
        ),
        "tau-error": Definition(
            "Time constant",
            _BY_VALUE,
            "Error of the membrane’s time constant, which the chip has as a decay in integers.",
        ),
        "synapse-tau-error": Definition(
            "Time constants of currents", _BY_VALUE, "The same of synaptic currents, the greatest of all."
        ),
        "threshold-error": Definition("Threshold, error", _BY_VALUE, "Error of threshold less reset."),
        "bias-error": Definition("Bias", _BY_VALUE, "Error of what rest and drive add in a tick."),
        "truncation": Definition(
            "Truncation",
            "% of the threshold",
            "What rounding toward zero in every tick can add up to. No bound: in voltages without leak that currents "
            "feed.",
        ),
        "synapses": Definition(
            "Synapses", "synapses", "After those that share neurons, delay and current were added up."
        ),
        "weight-error": Definition("Weights", "%", "Sum of all errors of an edge’s weights by the sum of its weights."),
        "greatest-weight-error": Definition(
            "Greatest error of a weight", "% of that weight", "100 % where a small weight became 0."
        ),
        "lost": Definition("Weights lost", "synapses", "Whose weight became 0."),
        "delay-error": Definition("Delays", "seconds of the model", "Greatest error: delays are whole ticks."),
        "distance": Definition(
            "Distance of spike trains",
            "spikes, mean over neurons",
            "Van Rossum’s distance from the float original on the same input: a spike without a partner is 1, spikes "
            "that come nearer than the time constant count less.",
        ),
        "of-silence": Definition(
            "Of silence", "spikes, mean over neurons", "The same distance of no spike at all: what 100 % would be."
        ),
        "kept": Definition("Kept", "", "Exactly as in the source."),
        "approximated": Definition(
            "Approximated", "", "Not exactly as in the source; by how much, where a number can tell."
        ),
        "left-out": Definition("Left out", "", "Not taken over, with a way out."),
    }
)
"""Figures by the end of their anchor, ``def-…``."""
