"""A tick of the chip as an object of Brian2's network: it stands where the neurons' equations would be computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from brian2.core.base import BrianObject
from numpy.typing import NDArray

from neuromap.backends.brian2.fingerprint import replaced_parts
from neuromap.backends.brian2.loaded_chip import LoadedChip

__all__ = ["ChipStep", "on_the_chip"]

Ints = NDArray[np.int64]

_ORDER = 0.5
"""Order within the slot: after the thresholds of sources (0), before the monitors of spikes (1)."""


class ChipStep(BrianObject):
    """Runs the chip for one tick and tells Brian2's groups who has spiked."""

    add_to_magic_network = False
    invalidates_magic_network = False

    def __init__(self, chip: LoadedChip, *, watched: bool) -> None:
        group = next(iter(chip.translated.groups.values()))
        super().__init__(clock=group.clock, when="thresholds", order=_ORDER, name="neuromap_chip*")
        self._chip, self._watched = chip, watched
        network = chip.translated.network
        self._rest_steps = {name: 1 + neuron.rest_ticks(network.dt) for name, neuron in network.nodes.items()}

    def run(self) -> None:
        """Run a tick."""
        spikes = self._chip.step()
        for name, group in self._chip.translated.groups.items():
            _tell_spikes(group, spikes[name], self._rest_steps[name])
        for name, source in self._chip.translated.sources.items():
            space = source.variables["_spikespace"].get_value()
            self._chip.send(name, np.array(space[: space[-1]], np.int64))
        self._chip.close_step()
        if self._watched:
            self.write_state()

    def write_state(self) -> None:
        """Give Brian2's variables the values of the chip."""
        for name, group in self._chip.translated.groups.items():
            model = self._chip.translated.models[name]
            group.variables[model.v].get_value()[:] = self._chip.voltages(name)
            if model.currents:
                for variable, values in zip(model.currents, self._chip.currents(name), strict=False):
                    group.variables[variable].get_value()[:] = values

    def clear_spikes(self) -> None:
        """Empty the lists of spikes, as Brian2 does after a run."""
        for group in self._chip.translated.groups.values():
            group.variables["_spikespace"].get_value()[-1] = 0


def _tell_spikes(group: Any, spikes: Ints, rest_steps: Ints) -> None:
    """Write the spikes of a step, and what Brian2 knows of refractoriness."""
    space = group.variables["_spikespace"].get_value()
    space[: len(spikes)] = spikes
    space[-1] = len(spikes)
    if group._refractory is False:
        return
    clock = group.clock.variables
    last = group.variables["lastspike"].get_value()
    last[spikes] = clock["t"].get_value()[0]
    since = clock["timestep"].get_value()[0] - np.rint(last / float(group.clock.dt_))
    group.variables["not_refractory"].get_value()[:] = since >= rest_steps


@contextmanager
def on_the_chip(chip: LoadedChip, step: ChipStep) -> Iterator[None]:
    """Let the chip do what groups and synapses would do, as long as the context lasts."""
    groups = list(chip.translated.groups.values())
    replaced = list(replaced_parts(chip.translated))
    was_active = [part.active for part in replaced]
    for part in replaced:
        part.active = False
    groups[0].contained_objects.append(step)
    try:
        yield
    finally:
        groups[0].contained_objects.remove(step)
        for part, active in zip(replaced, was_active, strict=True):
            part.active = active
