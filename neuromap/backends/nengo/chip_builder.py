"""Nengo builder that plans ensembles for the chip and builds everything else for the host as usual."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import nengo
import numpy as np
from nengo.builder import Builder, Model, Signal
from nengo.builder.connection import BuiltConnection, get_eval_points, get_targets
from nengo.builder.operator import Operator
from nengo.ensemble import Neurons
from nengo.neurons import NeuronType
from nengo.rc import rc
from nengo.solvers import NoSolver, Solver
from nengo.transforms import Dense, NoTransform, SparseMatrix
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats
from neuromap.backends.nengo.crossbar_plan import (
    ChipNeuron,
    ChipPlan,
    CrossbarPlan,
    PlannedEnsemble,
    PlannedFeed,
    PlannedLink,
)
from neuromap.backends.nengo.mapped_plan import FedNode, MappedPlan, map_plan
from neuromap.backends.nengo.placement import (
    Placement,
    as_chip_neuron,
    feeds_neurons,
    owner,
    place_network,
    tau_of,
)
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.simulation.engine.engine import Engine, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import TickSpikes


class ChipState:
    """State and history of a run on the chip; mutable, recreated by every reset."""

    # engine: the chip; None in a copy of what has been
    # ticks: all spikes so far
    # inputs: indices of spiking neurons among those of all input nodes, tick by tick
    # clipped: number of values beyond the limits of their feed
    # rests: rounding remainders of every feed's values, in units

    def __init__(self, engine: Engine | None, rests: list[Floats]) -> None:
        self.engine: Any = engine
        self.ticks: list[TickSpikes] = []
        self.inputs: list[NDArray[np.int64]] = []
        self.clipped = 0
        self.rests = rests

    def without_engine(self) -> ChipState:
        """Copy everything but the engine."""
        other = ChipState(None, [rest.copy() for rest in self.rests])
        other.take_over(self)
        return other

    def take_over(self, past: ChipState) -> None:
        """Copy the history of another run."""
        self.ticks, self.inputs, self.clipped = list(past.ticks), list(past.inputs), past.clipped
        for rest, mine in zip(past.rests, self.rests, strict=True):
            mine[...] = rest


class ChipOperator(Operator):
    """Runs the chip within Nengo's simulator."""

    # 1. sets outputs and voltages
    # 2. incs nothing
    # 3. reads inputs
    # 4. updates nothing

    def __init__(
        self,
        mapped: MappedPlan,
        choice: EngineChoice,
        *,
        fed: Mapping[int, tuple[Any, PlannedFeed, Any]],
        outputs: Sequence[Any],
        voltages: Sequence[Any],
        probed: Sequence[int],
    ) -> None:
        # fed: signal, feed and the part of the signal that is on the chip already, by ensemble; probed: ensembles
        super().__init__(tag="chip")
        self.mapped, self._choice, self._probed, self._n_outputs = mapped, choice, probed, len(outputs)
        self._feeds = {i: (feed, np.asarray(offset)) for i, (_, feed, offset) in fed.items()}
        self.sets, self.reads = [*outputs, *voltages], [signal for signal, *_ in fed.values()]
        self.incs: list[Any] = []
        self.updates: list[Any] = []
        self._loaded: Engine | None = None
        self.state: ChipState | None = None
        self.past: ChipState | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loaded": None, "state": None, "past": self.state and self.state.without_engine()}

    def replay(self, past: ChipState) -> None:
        """Bring the chip from tick 0 to the state of another run by replaying its inputs."""
        assert self.state is not None
        for tick in past.ticks:
            self.state.engine.step(tick.host_cores, tick.host_axons)
        self.state.take_over(past)

    def make_step(self, signals: Any, dt: float, rng: Any) -> Callable[[], None]:
        """Return the function that runs a step, with a chip in its initial state."""
        if self._loaded is None:
            self._loaded = make_engine(self.mapped.program, self._choice)
        feeds = []
        for signal, (i, (feed, offset)) in zip(self.reads, self._feeds.items(), strict=True):
            node = self.mapped.built.fed[i]
            assert node is not None
            feeds.append(_Feed(signals[signal], offset, feed, node, self.mapped.first_input[node.name]))
        state = self.state = ChipState(self._loaded.fork(), [feed.rest for feed in feeds])
        fired = np.zeros(len(self.mapped.neuron_core) + 1)  # the last entry collects neurons that are not read out
        ensembles, places, per_step = (
            self.mapped.ensembles,
            self.mapped.places_of_ensembles,
            self.mapped.plan.ticks_per_step,
        )
        outputs = [
            (signals[signal], mine, ensemble.neuron.spike / per_step)
            for signal, mine, ensemble in zip(self.sets[: self._n_outputs], places, ensembles, strict=True)
        ]
        voltages = [_voltage_writer(signals[self.sets[self._n_outputs + i]], self.mapped, i) for i in self._probed]

        def step() -> None:
            fired[:] = 0
            for _ in range(per_step):
                tick()
            for signal, mine, spike in outputs:
                signal[...] = fired[mine] * spike
            for write in voltages:
                write(state.engine)

        def tick() -> None:
            spikes = np.zeros(self.mapped.n_inputs, np.bool_)
            now = state.engine.tick
            for feed in feeds:
                state.clipped += feed.encode(spikes, now)
            rows = np.flatnonzero(spikes[self.mapped.host_input])
            host = self.mapped.host_core[rows], self.mapped.host_axon[rows]
            cores, neurons = state.engine.step(*host)
            fired[self.mapped.place[cores, neurons]] += 1
            state.inputs.append(np.flatnonzero(spikes))
            host_cores, host_axons = (h.astype(np.int32) for h in host)
            state.ticks.append(TickSpikes(now, cores, neurons, host_cores, host_axons))

        return step


def frames_of(mapped: MappedPlan, state: ChipState) -> dict[str, NDArray[np.bool_]]:
    """Convert inputs and spikes of ensembles to frames of their nodes, shape (ticks + 1, size)."""
    network, n_ticks = mapped.built.network, len(state.ticks)
    names = [*mapped.first_input, *(e.name for e in mapped.ensembles)]
    frames = {name: np.zeros((n_ticks + 1, network.nodes[name].size), np.bool_) for name in names}
    fed, fired = (np.zeros((n_ticks + 1, n), np.bool_) for n in (mapped.n_inputs, len(mapped.neuron_core)))
    for t, (inputs, tick) in enumerate(zip(state.inputs, state.ticks, strict=True)):
        fed[t, inputs] = True
        numbers = mapped.place[tick.cores, tick.neurons]
        fired[t + 1, numbers[numbers >= 0]] = True
    for name, first in mapped.first_input.items():
        frames[name][:] = fed[:, first : first + frames[name].shape[1]]
    for ensemble, mine in zip(mapped.ensembles, mapped.places_of_ensembles, strict=True):
        frames[ensemble.name][:] = fired[:, mine]
    return frames


def _voltage_writer(signal: Any, mapped: MappedPlan, number: int) -> Callable[[Engine], None]:
    mine = mapped.places_of_ensembles[number]
    cores, row = np.unique(mapped.neuron_core[mine], return_inverse=True)
    slots, scales = mapped.neuron_slot[mine], mapped.built.scales[number]

    def write(engine: Engine) -> None:
        signal[...] = engine.potentials_of(cores)[row, slots] / scales

    return write


class _Feed:
    """Encodes values as spikes; the rounding remainder is carried to the next tick, so sums over time are exact."""

    def __init__(self, signal: Floats, offset: Floats, feed: PlannedFeed, node: FedNode, first: int) -> None:
        self._signal, self._offset, self._feed, self._node = signal, offset, feed, node
        self.rest = np.zeros(len(node.unit))
        self._mine = slice(first, first + node.code.size(len(node.unit)))

    def encode(self, spikes: NDArray[np.bool_], tick: int) -> int:
        """Write the spikes that encode the signal in a tick; return the number of clipped values."""
        given = self._signal - self._offset
        limit, length = self._feed.limit, float(np.linalg.norm(given))
        if not self._feed.is_vector:
            values = np.clip(given, -limit, limit)
        else:  # a vector is scaled to the limit
            values = given * (limit[0] / length) if length > limit[0] else given
        code = self._node.code
        wanted = values / self._node.unit + code.extra(tick) + self.rest
        numbers = np.clip(np.rint(wanted), code.lowest, code.highest).astype(np.int64)
        self.rest[...] = np.clip(wanted - numbers, -0.5, 0.5)
        spikes[self._mine] = code.spikes(numbers)
        return int((values != given).sum())


# Range of currents, relative to the current at the radius of an ensemble or of a link's source.
_MARGIN = 1.6
# The same for the input of single neurons if links add to it.
_WIDE = 16.0


class ChipBuilder(Builder):
    """Builds the host's part of a network, and plans the chip's part."""

    # placement: where everything runs; None before a network is built
    # mapped: the plan on the chip; None if nothing runs there
    # operator: the operator that runs the chip

    def __init__(self, chip: ChipSpec, choice: EngineChoice, ticks_per_step: int) -> None:
        self.chip, self._choice, self.ticks_per_step = chip, choice, ticks_per_step
        self.placement: Placement | None = None
        self.mapped: MappedPlan | None = None
        self.operator: ChipOperator | None = None
        self._places: dict[Any, int] = {}  # positions of ensembles on the chip
        self._voltages: dict[Any, Floats] = {}
        self._links: list[PlannedLink] = []

    def build(self, model: Model, obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Build an object into a model; see :meth:`nengo.builder.Builder.build`."""
        if isinstance(obj, nengo.Network) and model.toplevel is None:
            self.placement = place_network(obj, model.dt / self.ticks_per_step, self.chip)
            self._places = {ensemble: i for i, ensemble in enumerate(self.placement.ensembles)}
            built = Builder.build(model, obj, *args, **kwargs)
            self._finish(model, obj)
            return built
        on_chip = self.placement.is_on_chip if self.placement is not None else lambda thing: False
        if isinstance(obj, NeuronType) and on_chip(args[0].ensemble):
            return self._build_neurons(model, obj, args[0])
        if isinstance(obj, nengo.Connection) and on_chip(obj):
            return self._build_connection(model, obj)
        if isinstance(obj, nengo.Connection) and self.placement is not None and obj in self.placement.replaced:
            return None
        if isinstance(obj, Solver) and not isinstance(obj, NoSolver) and on_chip(args[0].pre_obj):
            return self._build_decoders(model, obj, *args)
        return Builder.build(model, obj, *args, **kwargs)

    def _neuron(self, model: Model, ensemble: Any) -> ChipNeuron:
        ticks = self.ticks_per_step
        return as_chip_neuron(ensemble.neuron_type, model.dt / ticks, self.chip.lists.decay_bits, ticks)

    def _build_neurons(self, model: Model, kind: Any, neurons: Any) -> None:
        """Omit the neurons' operator; provide their voltages for probes."""
        ensemble = neurons.ensemble
        state = kind.make_state(ensemble.n_neurons, rng=np.random.RandomState(model.seeds[ensemble] + 1))
        self._voltages[ensemble] = voltage = np.asarray(state["voltage"], np.float64)
        model.sig[neurons]["voltage"] = Signal(voltage.astype(rc.float_dtype), name=f"{neurons}.voltage")

    def _build_decoders(self, model: Model, solver: Any, connection: Any, rng: Any) -> Any:
        """Solve for decoders using the rates of the chip's neurons."""
        source = connection.pre_obj
        points = get_eval_points(model, connection, rng)
        targets = get_targets(connection, points)
        if solver.weights and not solver.compositional:
            if not isinstance(connection.transform, (Dense, NoTransform)):
                return Builder.build(model, solver, connection, rng)  # which raises with the reason
            targets = targets @ _matrix(connection.transform, targets.shape[1], rng).T
            targets = targets @ model.params[connection.post_obj].scaled_encoders.T[connection.post_slice]
        activities = self._rates(model, source, points)
        if not activities.any():
            return Builder.build(model, solver, connection, rng)  # as above
        decoders, info = solver(activities, targets, rng=rng)
        return points, decoders.T, info

    def _rates(self, model: Model, ensemble: Any, points: Floats) -> Floats:
        """Return rates of an ensemble's neurons on the chip at constant values, shape (m, n), in Hz times amplitude."""
        built = model.params[ensemble]
        drive = built.gain * (points @ built.encoders.T / ensemble.radius) + built.bias
        return self._neuron(model, ensemble).rates(drive)

    def _build_connection(self, model: Model, connection: Any) -> None:
        """Plan a connection between ensembles on the chip."""
        rng = np.random.RandomState(model.seeds[connection])
        source, target = connection.pre_obj, connection.post_obj
        points, decoders, info = None, np.eye(source.size_out)[connection.pre_slice], None
        if not isinstance(source, Neurons):
            points, decoders, info = model.build(connection.solver, connection, rng)
        full = connection.solver.weights and not connection.solver.compositional and not isinstance(source, Neurons)
        weights = decoders if full else _matrix(connection.transform, decoders.shape[0], rng) @ decoders
        into = weights if full else self._encode(model, connection, target, weights)
        if connection.solver.weights and not isinstance(source, Neurons):
            weights = into
        model.params[connection] = BuiltConnection(points, info, weights, connection.transform)
        self._link(model, connection, weights, into, points)

    def _link(self, model: Model, connection: Any, weights: Floats, into: Floats, points: Floats | None) -> None:
        """Plan a link, given its weights to the target's value and to J of its neurons."""
        source = connection.pre_obj
        greatest = self._greatest(model, owner(source), into, decoded=not isinstance(source, Neurons))
        origin, end = (self._places[owner(thing)] for thing in (source, connection.post_obj))
        self._links.append(PlannedLink(origin, end, into, greatest, tau_of(connection)))

    def _greatest(self, model: Model, source: Any, weights: Floats, *, decoded: bool) -> Floats:
        """Bound a link's contribution to J: over all points with a margin if decoded, else with all neurons spiking."""
        neuron = self._neuron(model, source)
        if not decoded:
            up, down = (np.maximum(sign * weights, 0).sum(axis=1) for sign in (1, -1))
            greatest_rate = neuron.spike / (1 + neuron.refractory)  # that the refractory period allows
            return np.asarray(np.maximum(up, down) * greatest_rate)
        rates = self._rates(model, source, model.params[source].eval_points)
        return np.asarray(_MARGIN * np.abs(weights @ rates.T).max(axis=1))

    def _encode(self, model: Model, connection: Any, target: Any, weights: Floats) -> Floats:
        """Convert weights to a target's dimensions or neurons to weights to J of all its neurons."""
        if not isinstance(target, Neurons):
            return np.asarray(model.params[target].scaled_encoders[:, connection.post_slice] @ weights)
        gain = model.params[target.ensemble].gain
        into = np.zeros((len(gain), weights.shape[1]))
        # a slice may repeat neurons, and += would keep the last
        np.add.at(into, connection.post_slice, gain[connection.post_slice, None] * weights)
        return into

    def _finish(self, model: Model, network: nengo.Network) -> None:
        """Map the plan, and add the operator that runs it."""
        assert self.placement is not None
        ensembles = self.placement.ensembles
        with model.decoder_cache:
            for connection, origin in self.placement.origins.items():
                model.seeds[connection], model.seeded[connection] = model.seeds[origin], model.seeded[origin]
                model.build(connection)
        if not ensembles:
            return
        feeds = [self._feed(model, e) for e in ensembles]
        plan = self._plan(model, ensembles, [None if feed is None else feed[1] for feed in feeds])
        self.mapped = _map(plan, self.placement, self.chip)
        probed = {p.obj for p in network.all_probes if p.attr == "voltage"}
        self.operator = ChipOperator(
            self.mapped,
            self._choice,
            fed={i: feed for i, feed in enumerate(feeds) if feed is not None},
            outputs=[model.sig[e.neurons]["out"] for e in ensembles],
            voltages=[model.sig[e.neurons]["voltage"] for e in ensembles],
            probed=[i for i, e in enumerate(ensembles) if e.neurons in probed],
        )
        model.add_op(self.operator)

    def _plan(
        self, model: Model, ensembles: Sequence[Any], feeds: Sequence[PlannedFeed | None]
    ) -> ChipPlan | CrossbarPlan:
        """Make the plan for the chip."""
        assert self.placement is not None
        return ChipPlan(
            float(model.dt) / self.ticks_per_step,
            self.ticks_per_step,
            tuple(
                PlannedEnsemble(
                    node_name(i, e, self.placement),
                    self._neuron(model, e),
                    model.params[e].bias,
                    self._voltages[e],
                    feeds[i],
                )
                for i, e in enumerate(ensembles)
            ),
            tuple(self._links),
        )

    def _feed(self, model: Model, ensemble: Any) -> tuple[Any, PlannedFeed, Any] | None:
        """Return the host's feed of an ensemble, if any: signal, feed, and the part of it already on the chip."""
        assert self.placement is not None
        mine = [
            c for c in self.placement.connections if owner(c.post_obj) is ensemble and not self.placement.is_on_chip(c)
        ]
        built = model.params[ensemble]
        if ensemble.noise is not None or any(feeds_neurons(c, ensemble) for c in mine):
            is_linked = any(link.target == self._places[ensemble] for link in self._links)
            reach = _WIDE if is_linked else _MARGIN
            limit = reach * np.abs(built.gain) + np.abs(built.bias) + 2
            return model.sig[ensemble.neurons]["in"], PlannedFeed(np.eye(ensemble.n_neurons), limit, False), built.bias
        if not mine:
            return None
        limit = np.full(ensemble.dimensions, _MARGIN * ensemble.radius)
        return model.sig[ensemble]["in"], PlannedFeed(built.scaled_encoders, limit, True), 0.0


def _matrix(transform: Any, size: int, rng: Any) -> Any:
    """Sample a transform as a matrix."""
    if isinstance(transform, NoTransform):
        return np.eye(size)
    sampled = transform.sample(rng=rng)
    if isinstance(sampled, SparseMatrix):
        sampled = sampled.allocate()  # adds entries at one place, as Nengo runs it; Nengo's toarray keeps the last
    if hasattr(sampled, "toarray"):
        sampled = sampled.toarray()
    sampled = np.asarray(sampled, np.float64)
    return sampled if sampled.ndim == 2 else np.eye(size) * sampled


def node_name(number: int, ensemble: Any, placement: Placement) -> str:
    """Return the name of an ensemble's node."""
    label = re.sub("[^A-Za-z0-9_-]+", "_", placement.name(ensemble)) if ensemble.label else ""
    return f"E{number}" + (f".{label[-60:]}" if label else "")


def _map(plan: ChipPlan | CrossbarPlan, placement: Placement, chip: ChipSpec) -> MappedPlan:
    try:
        return map_plan(plan, chip)
    except DoesNotFitError as error:
        ensembles = placement.ensembles
        names = {node_name(i, e, placement): f"ensemble {placement.name(e)}" for i, e in enumerate(ensembles)}
        node = getattr(error.infeasibility, "node", None)
        who = names.get(str(node), f"{len(ensembles)} ensembles")
        raise type(error)(
            f"{who}: {error}; run it on the host: neuromap.backends.nengo.add_params(network), then "
            "network.config[ensemble].on_chip = False",
            error.infeasibility,
        ) from None
