"""Responses measured on a program: the dependency wave (docs/report.md).

The wave walks what is loaded onto the chip (host table, crossbars, weights, targets, delays) and its labels
and clocks (node labels, sample ticks, frame period). It knows nothing of networks, patterns and schedules, so
what it finds is a measurement that the schedule's prediction can be held against.

*First response.* Frame i of one input is delivered; a neuron is reached at tick t if it has a synapse of
nonzero weight on an axon that is due at t, and sends on. The earliest tick at which a neuron of the output is
reached, less the tick at which the input was sampled; the least over the inputs.

*Full response.* Everything that the input's last frame before the onset still reaches is *dirty*. Older frames
reach the same neurons earlier, by whole periods. Synapses within one node are masked, because a self-edge
never forgets. The output is clean one frame period after its last dirty tick; less the onset, the tick at which
the input's next frame was sampled; the greatest over the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from neuromap.arrays.ragged import run_heads
from neuromap.files.given import needs
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram

__all__ = ["MeasuredResponse", "measure"]

_ROWS = 4096
"""Crossbar rows that are unpacked at once (8 MiB of ticks at 256 neurons)."""

_NEVER = -(2**62)
"""Tick of what the wave never reaches; below every tick that a program can have."""

Ticks: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class MeasuredResponse(Card):
    """Responses of one output, measured on the program.

    Attributes
    ----------
    first_response_ticks : int or None
        Ticks from an input's sampling to the first output that depends on it; ``None`` where no input reaches
        the output.
    full_response_ticks : int or None
        Ticks from the onset to the first output that depends on nothing before it; ``None`` where no input
        reaches the output, or where the program has cycles other than those within one node.
    """

    first_response_ticks: int | None
    full_response_ticks: int | None


@dataclass(frozen=True, eq=False)
class _Wiring:
    """Flat view of a program: neuron ``core * N + n``, axon ``core * A + a``."""

    program: ChipProgram
    label: NDArray[np.int64]
    """Node of every neuron, -1 without; shape (C * N,)."""
    relay: NDArray[np.bool_]
    target: NDArray[np.int64]
    """Axon that every neuron feeds, -1 for none; shape (C * N,)."""
    delay: Ticks
    feeder: NDArray[np.int64]
    """Node label of the neurons that feed an axon, -1 where there is none or they disagree; shape (C * A,)."""

    @classmethod
    def of(cls, program: ChipProgram) -> _Wiring:
        n_axons = program.axon_types.shape[1]
        core = program.target_core.astype(np.int64).ravel()
        target = np.where(core >= 0, core * n_axons + program.target_axon.ravel(), -1)
        label = program.neuron_node.astype(np.int64).ravel()
        feeder = np.full(program.axon_types.size, -1, dtype=np.int64)
        sends = np.flatnonzero(target >= 0)
        feeder[target[sends]] = label[sends]
        mixed = target[sends][feeder[target[sends]] != label[sends]]
        feeder[mixed] = -1
        return cls(
            program=program,
            label=label,
            relay=program.is_relay.ravel(),
            target=target,
            delay=program.delay.astype(np.int64).ravel(),
            feeder=feeder,
        )

    def synapses(self, axons: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Synapses with nonzero weight of the given axons, in portions: axons (k,), neurons (k, N)."""
        program = self.program
        n_axons, n_neurons = program.axon_types.shape[1], program.neuron_node.shape[1]
        for start in range(0, len(axons), _ROWS):
            part = axons[start : start + _ROWS]
            core, axon = np.divmod(part, n_axons)
            bits = np.unpackbits(program.crossbar[core, axon], axis=-1, count=n_neurons, bitorder="little")
            weights = program.neurons.weights[core, :, program.axon_types[core, axon]]
            yield part, bits.astype(np.bool_) & (weights != 0)

    def masked(self, axons: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each synapse of an axon lies within one node, shape (k, N)."""
        shape = self.program.neuron_node.shape
        core = axons // self.program.axon_types.shape[1]
        feeder = np.where(self.feeder[axons] >= 0, self.feeder[axons], -2)  # -1 also labels neurons without a node
        same: NDArray[np.bool_] = self.label.reshape(shape)[core] == feeder[:, None]
        same &= ~self.relay.reshape(shape)[core]
        return same


def measure(program: ChipProgram) -> dict[str, MeasuredResponse]:
    """Measure first and full response of every output on the program itself.

    Parameters
    ----------
    program : ChipProgram
        Mapped or written by hand; it needs node labels and sample ticks.

    Returns
    -------
    dict of str to MeasuredResponse
        By output node, in ticks.

    Raises
    ------
    InputError
        If it is no program.
    """
    needs("measure", program, ChipProgram)
    wiring = _Wiring.of(program)
    outputs = [k for k, port in enumerate(program.nodes) if port.kind == "output"]
    inputs = [k for k, port in enumerate(program.nodes) if port.kind == "input"]
    n_neurons = program.neuron_node.shape[1]
    read_out = {
        o: (program.outputs.core.astype(np.int64) * n_neurons + program.outputs.neuron)[program.outputs.node == o]
        for o in outputs
    }
    self_edges_only = _self_edges_only(wiring)
    first: dict[int, list[int]] = {o: [] for o in outputs}
    full: dict[int, list[int]] = {o: [] for o in outputs}
    ends = self_edges_only
    for node in inputs:
        earliest = _earliest(wiring, node)
        latest = _latest(wiring, node) if ends else None
        ends = ends and latest is not None
        for o in outputs:
            reached = earliest[read_out[o]]
            first[o] += reached[reached > _NEVER].tolist()
            if latest is not None:
                # last dirty tick + period - onset, the dirty frame being one period before the onset
                last = latest[read_out[o]]
                full[o] += last[last > _NEVER].tolist()
    return {
        program.nodes[o].name: MeasuredResponse(
            min(first[o], default=None), max(full[o], default=None) if ends else None
        )
        for o in outputs
    }


def _self_edges_only(wiring: _Wiring) -> bool:
    """Whether all cycles between the program's nodes, as its labels and synapses show them, are self-edges."""
    n_nodes = len(wiring.program.nodes)
    n_cores, n_neurons = wiring.program.neuron_node.shape
    label = wiring.label.reshape(n_cores, n_neurons)
    linked = np.zeros((n_nodes, n_nodes), dtype=np.bool_)
    for axons, live in wiring.synapses(np.flatnonzero(wiring.feeder >= 0)):
        row, neuron = np.nonzero(live)
        target = label[axons[row] // wiring.program.axon_types.shape[1], neuron]
        source = wiring.feeder[axons[row]]
        linked[source[target >= 0], target[target >= 0]] = True
    return int(connected_components(coo_array(linked), connection="strong")[0]) == n_nodes


def _starts(wiring: _Wiring, node: int) -> tuple[NDArray[np.int64], Ticks]:
    """Axons that the host feeds for one input, and ticks from the input's sampling to their arrival."""
    host = wiring.program.host
    rows = np.flatnonzero(host.node == node)
    axons = host.core[rows].astype(np.int64) * wiring.program.axon_types.shape[1] + host.axon[rows]
    return axons, host.arrival[rows] - wiring.program.nodes[node].sample_tick


def _earliest(wiring: _Wiring, node: int) -> Ticks:
    """Ticks from the sampling of an input until each neuron is first reached; ``_NEVER`` where it is not."""
    reached = np.full(len(wiring.label), _NEVER, dtype=np.int64)
    known = np.zeros(len(wiring.feeder), dtype=np.bool_)
    axons, arrival = _starts(wiring, node)
    due: dict[int, list[NDArray[np.int64]]] = {}
    for tick in np.unique(arrival).tolist():
        due[tick] = [axons[arrival == tick]]
    n_neurons = wiring.program.neuron_node.shape[1]
    while due:
        # Ticks come in order, so the first visit of an axon or a neuron is its earliest.
        tick = min(due)
        now = np.unique(np.concatenate(due.pop(tick)))
        now = now[~known[now]]
        known[now] = True
        for part, live in wiring.synapses(now):
            row, neuron = np.nonzero(live)
            hit = np.unique(part[row] // wiring.program.axon_types.shape[1] * n_neurons + neuron)
            hit = hit[reached[hit] == _NEVER]
            reached[hit] = tick
            hit = hit[wiring.target[hit] >= 0]
            for delay in np.unique(wiring.delay[hit]).tolist():
                due.setdefault(tick + delay, []).append(wiring.target[hit[wiring.delay[hit] == delay]])
    return reached


def _latest(wiring: _Wiring, node: int) -> Ticks | None:
    """Ticks from the sampling of an input until it last reaches each neuron, self-edges masked.

    ``_NEVER`` where it does not; ``None`` where the wave runs in circles, through relays or neurons without a
    label.
    """
    reached = np.full(len(wiring.label), _NEVER, dtype=np.int64)
    due = np.full(len(wiring.feeder), _NEVER, dtype=np.int64)
    axons, arrival = _starts(wiring, node)
    np.maximum.at(due, axons, arrival)
    now = np.unique(axons)
    n_cores, n_neurons = wiring.program.neuron_node.shape
    # A path meets every node at most once, and as many relays and unlabelled neurons as there are.
    longest = len(wiring.program.nodes) + int(np.count_nonzero(wiring.relay | (wiring.label < 0))) + 1
    for _ in range(longest):
        if not len(now):
            return reached
        later = np.full((n_cores, n_neurons), _NEVER, dtype=np.int64)
        for part, live in wiring.synapses(now):
            ticks = np.where(live & ~wiring.masked(part), due[part][:, None], _NEVER)
            core = part // wiring.program.axon_types.shape[1]
            heads = np.flatnonzero(run_heads(core))  # axons are sorted, so those of a core adjoin
            later[core[heads]] = np.maximum(later[core[heads]], np.maximum.reduceat(ticks, heads, axis=0))
        moved = np.flatnonzero(later.ravel() > reached)
        reached[moved] = later.ravel()[moved]
        moved = moved[wiring.target[moved] >= 0]
        targets, ticks = wiring.target[moved], reached[moved] + wiring.delay[moved]
        rises = ticks > due[targets]
        np.maximum.at(due, targets[rises], ticks[rises])
        now = np.unique(targets[rises])
    return None if len(now) else reached
