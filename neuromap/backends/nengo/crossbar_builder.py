"""The builder for chips with crossbar cores: neurons with a constant leak, links that carry decoded values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nengo
import numpy as np
from nengo.builder import Model
from nengo.ensemble import Neurons
from numpy.typing import NDArray

from neuromap.backends.nengo.chip_builder import ChipBuilder, node_name, tau_of
from neuromap.backends.nengo.crossbar.crossbar_plan import CrossbarEnsemble, CrossbarLink, CrossbarPlan
from neuromap.backends.nengo.crossbar.leak_integers import HOST_RADII, LeakIntegers, as_leak_integers, host_rest
from neuromap.backends.nengo.crossbar.value_lines import greatest_rest
from neuromap.backends.nengo.plan.chip_plan import PlannedFeed
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["CrossbarBuilder"]

Floats = NDArray[np.float64]


class CrossbarBuilder(ChipBuilder):
    """Builds a network for the host, and plans for a chip with crossbar cores what runs there."""

    def __init__(self, chip: ChipSpec, choice: EngineChoice, ticks_per_step: int, decoder_error: float) -> None:
        super().__init__(chip, choice, ticks_per_step)
        self._decoder_error = decoder_error
        self._neurons: dict[Any, LeakIntegers] = {}
        self._decoded: list[tuple[Any, Any, Floats, Floats, float]] = []

    def _integers(self, model: Model, ensemble: Any) -> LeakIntegers:
        """Give an ensemble's neurons, which its decoders are solved on, so that they come before all links."""
        if ensemble not in self._neurons:
            assert self.placement is not None
            built, dt = model.params[ensemble], float(model.dt) / self.ticks_per_step
            links = [p.object for p in self.placement if p.where == "chip" and isinstance(p.object, nengo.Connection)]
            self._neurons[ensemble] = as_leak_integers(
                (built.gain, built.encoders, built.bias),
                float(ensemble.radius),
                float(ensemble.neuron_type.amplitude) / dt,
                dt,
                host_rest(True)
                + sum(greatest_rest(c.pre_obj.n_neurons, self.chip) for c in links if c.post_obj is ensemble),
                self.chip,
            )
        return self._neurons[ensemble]

    def _rates(self, model: Model, ensemble: Any, points: Floats) -> Floats:
        neurons = self._integers(model, ensemble)
        return neurons.spike * neurons.activities(points)

    def _link(self, model: Model, connection: Any, weights: Floats, into: Floats, points: Floats | None) -> None:
        source, target = connection.pre_obj, connection.post_obj
        assert points is not None
        decoders = np.zeros((target.dimensions, weights.shape[1]))
        decoders[connection.post_slice] += weights
        activities = self._integers(model, source).activities(points)
        self._decoded.append((source, target, decoders, activities, tau_of(connection)))

    def _feed(self, model: Model, ensemble: Any, network: nengo.Network) -> tuple[Any, PlannedFeed | None, Any]:
        limit = np.full(ensemble.dimensions, HOST_RADII * ensemble.radius)
        return model.sig[ensemble]["in"], PlannedFeed(model.params[ensemble].scaled_encoders, limit, True), 0.0

    def _plan(self, model: Model, ensembles: Sequence[Any], feeds: Sequence[PlannedFeed | None]) -> CrossbarPlan:
        assert self.placement is not None
        fed = {_owner(c.post_obj) for c in self.placement.boundary}
        planned = []
        for i, (ensemble, feed) in enumerate(zip(ensembles, feeds, strict=True)):
            assert feed is not None
            neurons = self._integers(model, ensemble)
            planned.append(
                CrossbarEnsemble(node_name(i, ensemble), neurons, self._voltages[ensemble], feed, ensemble in fed)
            )
        place = {ensemble: i for i, ensemble in enumerate(ensembles)}
        links = tuple(
            CrossbarLink(place[u], place[v], decoders, activities, tau)
            for u, v, decoders, activities, tau in self._decoded
        )
        dt = float(model.dt) / self.ticks_per_step
        return CrossbarPlan("nengo", dt, self.ticks_per_step, tuple(planned), links, self._decoder_error)


def _owner(thing: Any) -> Any:
    return thing.ensemble if isinstance(thing, Neurons) else thing
