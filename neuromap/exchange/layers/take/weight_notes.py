"""What became of a graph that is taken over with weights and thresholds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neuromap.exchange.imported import Note
from neuromap.exchange.layers.frame_code.take_weights import TakenWeights
from neuromap.exchange.layers.frame_code.values import SpikeSums
from neuromap.exchange.layers.frame_code.votes import classes_of
from neuromap.files.messages import counted

__all__ = ["weight_notes"]


def weight_notes(taken: TakenWeights) -> Mapping[str, tuple[Note, ...]]:
    """Say what was kept, approximated and refused."""
    network = taken.network
    computed = [node for name, node in network.nodes.items() if name not in network.inputs]
    kept = [
        Note(
            "weights and thresholds",
            f"{counted(len(computed), 'node')} in frame code; a neuron spikes iff its sum is at least its threshold, "
            "the least sum at which the source gives its greater value",
        ),
        Note(", ".join(network.inputs), "reads frames of 0 and 1, as the source does"),
    ]
    for name, (low, high) in taken.values.items():
        if (low, high) != (0.0, 1.0):
            kept.append(
                Note(name, f"silence stands for {low:g} and a spike for {high:g}; weights of its readers hold that")
            )
    refused = []
    for end, found in taken.readout.items():
        kept_here, refused_here = _readout(end, found, taken)
        kept += kept_here
        refused += refused_here
    approximated = [
        Note(name, "float weights are integers times a unit but for rounding", error=error, unit="of a unit")
        for name, error in taken.rounded.items()
    ]
    approximated += [
        Note(
            name,
            f"{counted(number, 'neuron')} of {network.nodes[name].size} lie so near a tie that the order of rounding "
            "in the source decides",
            error=float(number),
            unit="neurons",
        )
        for name, number in taken.unsure.items()
    ]
    return {"kept": tuple(kept), "approximated": tuple(approximated), "refused": tuple(refused)}


def _readout(end: str, found: SpikeSums | None, taken: TakenWeights) -> tuple[list[Note], list[Note]]:
    """Say what the host does with output spikes."""
    outputs = ", ".join(taken.network.outputs)
    if found is not None and len(found.weights) == 1:
        (name,) = found.weights
        size = taken.network.nodes[name].size
        classes = classes_of(found, size)
        if classes is not None and found.size == size:
            return [], []  # the spikes themselves
        if classes is not None and (np.diff(classes) >= 0).all():
            text = (
                f"counts the spikes of {name}, {size // found.size} of {size} for each of {found.size} classes, "
                "in order of classes; this is the decision rule of neuromap accuracy"
            )
            return [Note(f"readout {end}", text)], []
    text = f"is not taken over: it makes numbers of the spikes of {outputs}, where the network ends"
    return [], [
        Note(f"readout {end}", text, "compute it on the host, or end in groups of neurons that vote for classes")
    ]
