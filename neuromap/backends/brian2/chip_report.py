"""A Brian2 network loaded on the chip, and the report of its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.backends.brian2.translate import Translated
from neuromap.backends.imported import BRIAN2_REPORT, ChipReport, NodeLatency
from neuromap.errors import NotSupportedError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.network import Network
from neuromap.quantise import forms as quantise_forms
from neuromap.quantise.float_steps import float_reference
from neuromap.quantise.quantisation import Quantisation
from neuromap.quantise.quantise_network import Quantised, quantise
from neuromap.quantise.spike_distance import train_distance
from neuromap.render.numbers import joules, seconds
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.activity import measure_activity
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.reference_frames import reference
from neuromap.simulation.run.tick_run import HostFeed


def chip_report(chip: LoadedChip, time_constant: float) -> ChipReport:
    """Count a chip's activity, by repeating the run on the same spikes of the host."""
    # time_constant: of the distance between spike trains, in seconds
    program, spec, frames = chip.program, chip.program.chip, chip.frames
    activity = measure_activity(program, frames, n_ticks=chip.n_steps)
    energy = energy_of(spec, activity.counts)
    spikes = {name: rows[1:] for name, rows in reference(chip.rollout, frames).items()}
    fired = {name: chip.spikes(name) for name in chip.translated.groups}
    return ChipReport(
        network=program.name,
        chip=spec.name,
        cores=program.n_cores,
        usable_cores=spec.n_usable_cores,
        compartments=int(program.neurons_in_use.sum()),
        synapses=program.n_synapses,
        ticks=chip.n_steps,
        model_seconds=chip.n_steps * chip.translated.network.dt,
        chip_seconds=energy.seconds,
        spikes=sum(int(rows.sum()) for rows in fired.values()),
        synaptic_events=chip.synaptic_events,
        hops=activity.traffic.hops,
        joules=energy.joules,
        energy_absent=energy.absent,
        latencies=_latencies(chip.rollout.network),
        quantisation=_with_distances(chip, spikes, time_constant),
        is_exact=all(np.array_equal(rows, spikes[name]) for name, rows in fired.items()),
    )


def _latencies(network: Network) -> tuple[NodeLatency, ...]:
    """Find the least sum of delays from any input to each node."""
    ticks = dict.fromkeys(network.inputs, 0)
    for _ in network.nodes:
        for (source, target), edge in network.edges.items():
            if source in ticks and edge.matrix().nnz + sum(term.matrix.nnz for term in edge.terms[1:]):
                ticks[target] = min(ticks.get(target, np.iinfo(np.int64).max), ticks[source] + edge.delays[0])
    return tuple(NodeLatency(name, ticks.get(name)) for name in network.nodes if name not in network.inputs)


def _with_distances(chip: LoadedChip, spikes: dict[str, Any], time_constant: float) -> Quantisation:
    """Compare with the float original on the same spikes of the host; without Elephant, add a note instead."""
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


# A chip that runs a translated network step by step: takes spikes of the host, returns spikes and state.


class Snapshot(NamedTuple):
    """State of a chip, stored as its inputs: engines are deterministic."""

    n_steps: int  # steps since the chip was loaded
    frames: Mapping[str, Bools]  # (n_steps + 1, size): spikes that the host sent


class LoadedChip:
    """A chip with a program, and its state."""

    # quantised: integer network and its quantisation errors
    # rollout: the rollout that the program computes
    # n_steps: steps since the chip was loaded

    def __init__(self, translated: Translated, chip: ChipSpec, engine: str = "fast") -> None:
        self.translated = translated
        self.quantised: Quantised = quantise(translated.network, chip)
        self.rollout = Rollout(self.quantised.network, "streaming")
        self.program = program = map_rollout(self.rollout, chip)
        self._engine = make_engine(program, EngineChoice(engine, None, 0))
        self._feed = HostFeed(program)
        ports = [(k, port.name) for k, port in enumerate(program.nodes) if port.kind != "input"]
        self._places = {name: _Places(program, k, _fed(self.quantised.network, name)) for k, name in ports}
        self._of_place = np.full((2, *program.shape), -1, np.int64)
        for k, places in enumerate(self._places.values()):
            self._of_place[:, places.core, places.slot] = [np.full(places.core.size, k), np.arange(places.core.size)]
        inputs = [port for port in program.nodes if port.kind == "input"]
        self._frames = {port.name: np.zeros((1, 256, port.size), np.bool_) for port in inputs}
        self._fired: list[dict[str, Ints]] = []
        self.n_steps = 0

    @property
    def frames(self) -> dict[str, Bools]:
        """Spikes that the host has sent; row i + 1 is step i, as :func:`neuromap.reference` takes them."""
        return {name: rows[0, : self.n_steps + 1] for name, rows in self._frames.items()}

    def step(self) -> dict[str, Ints]:
        """Run a tick on the spikes that the host has sent so far; return the neurons that spike, by node."""
        self._run(1)
        if any(self.n_steps >= rows.shape[1] for rows in self._frames.values()):
            self._frames = {key: np.concatenate([rows, np.zeros_like(rows)], 1) for key, rows in self._frames.items()}
        return self._fired[-1]

    def _run(self, count: int) -> None:
        """Run ticks, and note the neurons that spike in each, by node."""
        end = self.n_steps + count
        fired = self._engine.run(self._feed.events(self._frames, end, self.n_steps, count))
        for a, b in pairwise(np.searchsorted(fired.ticks, np.arange(self.n_steps, end + 1)).tolist()):
            node, index = self._of_place[:, fired.cores[a:b], fired.neurons[a:b]]
            self._fired.append({name: np.sort(index[node == k]) for k, name in enumerate(self._places)})
        self.n_steps = end

    def spikes(self, name: str) -> Bools:
        """Return all spikes of a node so far, shape (n_steps, size)."""
        found = np.zeros((self.n_steps, self._places[name].core.size), np.bool_)
        for step, spikes in enumerate(self._fired):
            found[step, spikes[name]] = True
        return found

    def send(self, name: str, neurons: Ints) -> None:
        """Send spikes of the step that has just been run; they arrive after the delays of their synapses."""
        if name in self._frames:  # otherwise no node reads them
            self._frames[name][0, self.n_steps, neurons] = True

    def voltages(self, name: str) -> Floats:
        """Return the voltages of a node in the unit of the float model."""
        places, node = self._places[name], self.quantised.nodes[name]
        return self._engine.potentials[places.core, places.slot] / node.scale + node.reset

    def currents(self, name: str) -> list[Floats]:
        """Return the currents of a node in the units of the float model."""
        places, node = self._places[name], self.quantised.nodes[name]
        values = getattr(self._engine, "currents", None)
        if values is None:  # pulses leave no state
            return [np.zeros(len(places.core)) for _ in node.current_units]
        units = np.where(node.current_units == 0, np.inf, node.current_units)
        found = values[places.core, places.compartments] / units
        return list(np.where(places.compartments < 0, 0.0, found))

    def snapshot(self) -> Snapshot:
        """Save the state."""
        return Snapshot(self.n_steps, {name: rows.copy() for name, rows in self.frames.items()})

    def go_back(self, snapshot: Snapshot) -> None:
        """Restore a state by rerunning up to it."""
        self._engine.reset()
        self.n_steps, self._fired = 0, []
        self._frames = {
            name: np.zeros((1, 2 * len(rows) + 256, rows.shape[1]), np.bool_) for name, rows in snapshot.frames.items()
        }
        for name, rows in snapshot.frames.items():
            self._frames[name][0, : len(rows)] = rows
        while self.n_steps < snapshot.n_steps:
            self._run(min(256, snapshot.n_steps - self.n_steps))

    @property
    def synaptic_events(self) -> int:
        """Synaptic events so far."""
        return self._engine.totals.synaptic_events


class _Places:
    """Location of a node's neurons: core, slot of the voltage, slots of all currents; -1 for currents without input."""

    def __init__(self, program: ChipProgram, node: int, fed: Bools) -> None:
        read = program.outputs  # all nodes are outputs; on crossbar cores they have extra copies for this
        mine = np.flatnonzero(read.node == node)
        mine = mine[np.argsort(read.index[mine], kind="stable")]
        self.core, self.slot = read.core[mine].astype(np.int64), read.neuron[mine].astype(np.int64)
        self.compartments = np.full(fed.shape, -1, np.int64)
        self.compartments[0] = self.slot
        table = program.joined
        if table is None:
            return
        for n in np.flatnonzero(fed[1:].any(axis=0)).tolist():
            joined = np.flatnonzero(table[self.core[n]] == self.slot[n])
            self.compartments[1 + np.flatnonzero(fed[1:, n]), n] = joined


def _fed(network: Network, name: str) -> Bools:
    """Mark the currents of a node's neurons that have synapses, shape (currents, size)."""
    node = network.nodes[name]
    fed = np.zeros((1 if node.neuron is None else node.neuron.n_currents, node.size), np.bool_)
    for (_, target), edge in network.edges.items():
        for term in edge.terms if target == name else ():
            fed[term.current, np.unique(term.matrix.nonzero()[0])] = True
    return fed


# Conversion to plain values: times in seconds and ticks, energy in joules.
to_dict = BRIAN2_REPORT.of


def render_text(found: ChipReport, width: int = 100) -> str:
    """Write cores, time, spikes, hops, energy and latencies, followed by the quantisation."""
    latencies = ", ".join(f"{row.node} {'-' if row.ticks is None else f'{row.ticks} ticks'}" for row in found.latencies)
    same = "equal to" if found.is_exact else "NOT equal to"
    absent = f" (no figures for {', '.join(found.energy_absent)})" if found.energy_absent else ""
    return (
        f"{found.network} on {found.chip}: {found.cores:,} of {found.usable_cores:,} cores, "
        f"{found.compartments:,} compartments, {found.synapses:,} synapses\n"
        f"{found.ticks:,} ticks: {seconds(found.model_seconds)} of the model, "
        f"{seconds(found.chip_seconds)} on the chip\n"
        f"{found.spikes:,} spikes, {same} the integer reference; {found.synaptic_events:,} synaptic events, "
        f"{found.hops:,} hops, {joules(found.joules)}{absent} in all ticks\n"
        f"least ticks from a spike of the host to one that depends on it: {latencies}\n\n"
        f"{quantise_forms.render_text(found.quantisation, width)}"
    )
