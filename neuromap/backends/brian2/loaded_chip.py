"""A chip that runs a translated network step by step: spikes of the host in, spikes and state out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.backends.brian2.translate import Translated
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.network import Network
from neuromap.quantise.quantise_network import Quantised, quantise
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.run.host_feed import HostFeed

__all__ = ["LoadedChip", "Snapshot"]

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Snapshot(NamedTuple):
    """State of a chip, as what it takes to come back to it: engines are deterministic."""

    n_steps: int  # steps since the chip was loaded
    frames: Mapping[str, Bools]  # (n_steps + 1, size): what the host sent


class LoadedChip:
    """A chip with a program; what changes from step to step is here."""

    # quantised: network and price
    # rollout: what the program computes
    # n_steps: steps since it was loaded

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
        self._inputs = {port.name: port.size for port in program.nodes if port.kind == "input"}
        self._frames = {name: np.zeros((1, 256, size), np.bool_) for name, size in self._inputs.items()}
        self._fired: list[dict[str, Ints]] = []
        self.n_steps = 0

    @property
    def frames(self) -> dict[str, Bools]:
        """What the host has sent: row i + 1 is step i, as :func:`neuromap.reference` takes it."""
        return {name: rows[0, : self.n_steps + 1] for name, rows in self._frames.items()}

    def step(self) -> dict[str, Ints]:
        """Run a tick on what the host has sent so far; the neurons of every node that spike."""
        events = self._feed.events(self._frames, self.n_steps + 1, self.n_steps, 1)
        fired = self._engine.run(events)
        self.n_steps += 1
        return self._keep(fired.cores, fired.neurons)

    def _keep(self, cores: Ints, neurons: Ints) -> dict[str, Ints]:
        """Remember who spikes in a tick, by node."""
        node, index = self._of_place[:, cores, neurons]
        spikes = {name: np.sort(index[node == k]) for k, name in enumerate(self._places)}
        self._fired.append(spikes)
        return spikes

    def spikes(self, name: str) -> Bools:
        """Give all spikes of a node so far, shape (n_steps, size)."""
        found = np.zeros((self.n_steps, self._places[name].core.size), np.bool_)
        for step, spikes in enumerate(self._fired):
            found[step, spikes[name]] = True
        return found

    def send(self, name: str, neurons: Ints) -> None:
        """Take spikes of the step that has just been run; they arrive after their synapses' delays."""
        if name not in self._frames:  # nobody reads them
            return
        rows = self._frames[name]
        if self.n_steps >= rows.shape[1]:
            self._frames = {key: _longer(value) for key, value in self._frames.items()}
            rows = self._frames[name]
        rows[0, self.n_steps, neurons] = True

    def close_step(self) -> None:
        """Make room for the next step, also where nobody sent anything."""
        if any(self.n_steps >= rows.shape[1] for rows in self._frames.values()):
            self._frames = {key: _longer(value) for key, value in self._frames.items()}

    def voltages(self, name: str) -> Floats:
        """Voltages of a node in the unit of the float model."""
        places, node = self._places[name], self.quantised.nodes[name]
        return self._engine.potentials[places.core, places.slot] / node.scale + node.reset

    def currents(self, name: str) -> list[Floats]:
        """Currents of a node in the units of the float model."""
        places, node = self._places[name], self.quantised.nodes[name]
        if not isinstance(self.program, ListProgram):  # pulses are no state
            return [np.zeros(len(places.core)) for _ in node.current_units]
        values = self._engine.currents  # type: ignore[attr-defined] # engines of synapse lists have them
        units = np.where(node.current_units == 0, np.inf, node.current_units)
        found = values[places.core, places.compartments] / units
        return list(np.where(places.compartments < 0, 0.0, found))

    def snapshot(self) -> Snapshot:
        """Remember the state."""
        return Snapshot(self.n_steps, {name: rows.copy() for name, rows in self.frames.items()})

    def go_back(self, snapshot: Snapshot) -> None:
        """Come back to a state by running up to it once more."""
        self._engine.reset()
        self.n_steps = snapshot.n_steps
        self._fired = []
        self._frames = {
            name: np.zeros((1, 2 * len(rows) + 256, rows.shape[1]), np.bool_) for name, rows in snapshot.frames.items()
        }
        for name, rows in snapshot.frames.items():
            self._frames[name][0, : len(rows)] = rows
        for first in range(0, self.n_steps, 256):
            count = min(256, self.n_steps - first)
            fired = self._engine.run(self._feed.events(self._frames, self.n_steps + 1, first, count))
            ends = np.searchsorted(fired.ticks, np.arange(first, first + count + 1))
            for a, b in pairwise(ends.tolist()):
                self._keep(fired.cores[a:b], fired.neurons[a:b])

    @property
    def totals(self) -> tuple[int, int]:
        """Spikes and synaptic events so far."""
        return self._engine.totals.spikes, self._engine.totals.synaptic_events


class _Places:
    """Where the neurons of a node are: core, slot of the voltage, slots of all currents; -1 for what nothing feeds."""

    def __init__(self, program: ChipProgram, node: int, fed: Bools) -> None:
        read = program.outputs  # all nodes are outputs; on crossbar cores these have copies beside them
        mine = np.flatnonzero(read.node == node)
        mine = mine[np.argsort(read.index[mine], kind="stable")]
        self.core, self.slot = read.core[mine].astype(np.int64), read.neuron[mine].astype(np.int64)
        self.compartments = np.full(fed.shape, -1, np.int64)
        self.compartments[0] = self.slot
        table = program.neurons.joined if isinstance(program, ListProgram) else None
        if table is None:
            return
        for n in np.flatnonzero(fed[1:].any(axis=0)).tolist():
            joined = np.flatnonzero(table[self.core[n]] == self.slot[n])
            self.compartments[1 + np.flatnonzero(fed[1:, n]), n] = joined


def _fed(network: Network, name: str) -> Bools:
    """Mark the currents of a node's neurons that synapses feed, shape (currents, size)."""
    node = network.nodes[name]
    fed = np.zeros((1 if node.neuron is None else node.neuron.n_currents, node.size), np.bool_)
    for (_, target), edge in network.edges.items():
        for term in edge.terms if target == name else ():
            fed[term.current, np.unique(term.matrix.nonzero()[0])] = True
    return fed


def _longer(rows: Bools) -> Bools:
    return np.concatenate([rows, np.zeros_like(rows)], axis=1)
