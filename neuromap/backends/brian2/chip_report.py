"""What a run of Brian2 took on the chip: cores, spikes, hops, energy, and how far it is from the float original."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuromap.backends.brian2.loaded_chip import LoadedChip
from neuromap.errors import NotSupportedError
from neuromap.forms.card import Card
from neuromap.forms.formed import Formed, form
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram
from neuromap.hardware.program.program import Program
from neuromap.network.network import Network
from neuromap.quantise.float_steps import float_reference
from neuromap.quantise.quantisation import Quantisation
from neuromap.quantise.spike_distance import train_distance
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.cost.measure_activity import measure_activity
from neuromap.simulation.reference_frames import reference

__all__ = ["ChipReport", "NodeLatency", "chip_report"]


@dataclass(frozen=True)
class NodeLatency(Card):
    """When a node can answer first."""

    node: str  # its name
    # ticks from a spike of the host to the first that can depend on it: least sum of delays; None where none does
    ticks: int | None


@dataclass(frozen=True)
class ChipReport(Formed):
    """What a run took on the chip."""

    _called = "a report"

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

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain values, those of its JSON document."""
        found: dict[str, Any] = form(self, "dict")
        return found

    def to_json(self) -> str:
        """Write the report as a JSON document."""
        return str(form(self, "json"))


def chip_report(chip: LoadedChip, time_constant: float) -> ChipReport:
    """Count what a chip did, in a run of its own on the same spikes of the host."""
    # time_constant: of the distance of spike trains, in seconds
    program, spec, frames = chip.program, chip.program.chip, chip.frames
    activity = measure_activity(program, frames, n_ticks=chip.n_steps)
    energy = energy_of(spec, activity.counts)
    spikes = {name: rows[1:] for name, rows in reference(chip.rollout, frames).items()}
    return ChipReport(
        network=program.name,
        chip=spec.name,
        cores=program.n_cores,
        usable_cores=spec.n_usable_cores,
        compartments=_compartments(chip),
        synapses=_synapses(program),
        ticks=chip.n_steps,
        model_seconds=chip.n_steps * chip.translated.network.dt,
        chip_seconds=chip.n_steps * spec.tick_seconds,
        spikes=chip.totals[0],
        synaptic_events=chip.totals[1],
        hops=activity.traffic.hops,
        joules=energy.joules,
        energy_absent=energy.absent,
        latencies=_latencies(chip.rollout.network),
        quantisation=_with_distances(chip, spikes, time_constant),
        is_exact=all(np.array_equal(chip.spikes(name), spikes[name]) for name in chip.translated.groups),
    )


def _synapses(program: ChipProgram) -> int:
    """Count synapses: of lists, or bits of crossbars."""
    if isinstance(program, ListProgram):
        return len(program.synapses.weight)
    assert isinstance(program, Program)
    return int(np.unpackbits(program.crossbar).sum())


def _compartments(chip: LoadedChip) -> int:
    return sum(node.neuron.threshold.size * node.neuron.n_currents for node in chip.quantised.nodes.values())


def _latencies(network: Network) -> tuple[NodeLatency, ...]:
    """Sum the least delays on the way from any input to each node."""
    ticks = dict.fromkeys(network.inputs, 0)
    for _ in network.nodes:
        for (source, target), edge in network.edges.items():
            if source in ticks and edge.matrix().nnz + sum(term.matrix.nnz for term in edge.terms[1:]):
                ticks[target] = min(ticks.get(target, np.iinfo(np.int64).max), ticks[source] + edge.delays[0])
    return tuple(NodeLatency(name, ticks.get(name)) for name in network.nodes if name not in network.inputs)


def _with_distances(chip: LoadedChip, spikes: dict[str, Any], time_constant: float) -> Quantisation:
    """Compare with the float original on the same spikes of the host; without Elephant say so."""
    found, network = chip.quantised.quantisation, chip.translated.network
    sent = {name: np.zeros((chip.n_steps, size), np.bool_) for name, size in network.inputs.items()}
    sent |= {name: rows[1:] for name, rows in chip.frames.items() if name in network.inputs}
    original = float_reference(network, sent, chip.n_steps)
    try:
        distances = tuple(
            train_distance(name, spikes[name], original[name], network.dt, time_constant=time_constant)
            for name in network.nodes
        )
    except NotSupportedError as error:
        return replace(found, notes=(*found.notes, str(error)))
    return replace(found, distances=distances)
