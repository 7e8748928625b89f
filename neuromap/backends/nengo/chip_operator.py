"""The operator that runs the chip: in every step values become spikes, the chip takes a tick, spikes become signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from nengo.builder.operator import Operator
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats
from neuromap.backends.nengo.chip_plan import PlannedFeed
from neuromap.backends.nengo.crossbar_network import FedNode
from neuromap.backends.nengo.mapped_plan import MappedPlan
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.run.tick_run import TickSpikes


class ChipState:
    """What a run has done on the chip; mutable, made anew by every reset."""

    # engine: the chip
    # ticks: all that was sent
    # inputs: neurons of the input nodes that spiked, tick by tick, numbered through
    # clipped: values that did not fit their feed
    # rests: what rounding has left over of every feed's values, in units

    def __init__(self, engine: Engine | None, rests: list[Floats]) -> None:
        self._engine = engine
        self.ticks: list[TickSpikes] = []
        self.inputs: list[NDArray[np.int64]] = []
        self.clipped = 0
        self.rests = rests

    @property
    def engine(self) -> Engine:
        """The chip."""
        assert self._engine is not None
        return self._engine

    def without_engine(self) -> ChipState:
        """Copy everything but the engine."""
        other = ChipState(None, [rest.copy() for rest in self.rests])
        other.take_over(self)
        return other

    def take_over(self, past: ChipState) -> None:
        """Take over what another run has done."""
        self.ticks, self.inputs, self.clipped = list(past.ticks), list(past.inputs), past.clipped
        for rest, mine in zip(past.rests, self.rests, strict=True):
            mine[...] = rest


class ChipOperator(Operator):
    """Runs the chip within Nengo's own simulator."""

    # 1. sets outputs and voltages
    # 2. incs nothing
    # 3. reads inputs
    # 4. updates nothing

    def __init__(
        self,
        mapped: MappedPlan,
        choice: EngineChoice,
        *,
        inputs: Sequence[Any],
        offsets: Sequence[Any],
        outputs: Sequence[Any],
        voltages: Sequence[Any],
        probed: Sequence[bool],
    ) -> None:
        super().__init__(tag="chip")
        self.mapped, self._choice = mapped, choice
        self._fed = [i for i, signal in enumerate(inputs) if signal is not None]
        self._offsets = [np.asarray(offsets[i]) for i in self._fed]
        self._probed = [i for i, wanted in enumerate(probed) if wanted]
        self._n_outputs = len(outputs)
        self.sets = [*outputs, *voltages]
        self.incs: list[Any] = []
        self.reads = [inputs[i] for i in self._fed]
        self.updates: list[Any] = []
        self._loaded: Engine | None = None
        self.state: ChipState | None = None
        self.past: ChipState | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loaded": None, "state": None, "past": self.state and self.state.without_engine()}

    def replay(self, past: ChipState) -> None:
        """Bring the chip, which is at tick 0, to where another was, by what that was fed."""
        assert self.state is not None
        for tick in past.ticks:
            self.state.engine.step(tick.host_cores, tick.host_axons)
        self.state.take_over(past)

    def make_step(self, signals: Any, dt: float, rng: Any) -> Callable[[], None]:
        """Make the function that takes a step, with a chip in the state before tick 0."""
        if self._loaded is None:
            self._loaded = make_engine(self.mapped.program, self._choice)
        feeds = self._feeds(signals)
        state = self.state = ChipState(self._loaded.fork(), [feed.rest for feed in feeds])
        fired = np.zeros(len(self.mapped.neuron_core) + 1)  # the last are those that nobody reads
        outputs = self._outputs(signals)
        voltages = self._voltages(signals)

        def step() -> None:
            fired[:] = 0
            for _ in range(self.mapped.plan.ticks_per_step):
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

    def _feeds(self, signals: Any) -> list[_Feed]:
        feeds = []
        for k, i in enumerate(self._fed):
            node, feed = self.mapped.built.fed[i], self.mapped.ensembles[i].feed
            assert node is not None
            assert feed is not None
            first = self.mapped.first_input[node.name]
            feeds.append(_Feed(signals[self.reads[k]], self._offsets[k], feed, node, first))
        return feeds

    def _outputs(self, signals: Any) -> list[tuple[Any, slice, float]]:
        found, start = [], 0
        for signal, ensemble in zip(self.sets[: self._n_outputs], self.mapped.ensembles, strict=True):
            stop = start + ensemble.size
            spike = ensemble.spike / self.mapped.plan.ticks_per_step
            found.append((signals[signal], slice(start, stop), spike))
            start = stop
        return found

    def _voltages(self, signals: Any) -> list[Callable[[Engine], None]]:
        start = np.cumsum([0, *(e.size for e in self.mapped.ensembles)])
        return [
            _voltage_writer(signals[self.sets[self._n_outputs + i]], self.mapped, slice(start[i], start[i + 1]), i)
            for i in self._probed
        ]


def frames_of(mapped: MappedPlan, state: ChipState) -> dict[str, NDArray[np.bool_]]:
    """Write what ensembles were fed and spiked as frames of their nodes, shape (ticks + 1, size)."""
    network, n_ticks = mapped.built.network, len(state.ticks)
    names = [*mapped.first_input, *(e.name for e in mapped.ensembles)]
    frames = {name: np.zeros((n_ticks + 1, network.nodes[name].size), np.bool_) for name in names}
    starts = np.cumsum([0, *(e.size for e in mapped.ensembles)])
    fed, fired = np.zeros((n_ticks + 1, mapped.n_inputs), np.bool_), np.zeros((n_ticks + 1, starts[-1]), np.bool_)
    for t, (inputs, tick) in enumerate(zip(state.inputs, state.ticks, strict=True)):
        fed[t, inputs] = True
        numbers = mapped.place[tick.cores, tick.neurons]
        fired[t + 1, numbers[numbers >= 0]] = True
    for name, first in mapped.first_input.items():
        frames[name][:] = fed[:, first : first + frames[name].shape[1]]
    for i, ensemble in enumerate(mapped.ensembles):
        frames[ensemble.name][:] = fired[:, starts[i] : starts[i + 1]]
    return frames


def _voltage_writer(signal: Any, mapped: MappedPlan, mine: slice, number: int) -> Callable[[Engine], None]:
    cores, row = np.unique(mapped.neuron_core[mine], return_inverse=True)
    slots, scales = mapped.neuron_slot[mine], mapped.built.scales[number]

    def write(engine: Engine) -> None:
        signal[...] = engine.potentials_of(cores)[row, slots] / scales

    return write


class _Feed:
    """Turns values into spikes; what rounding leaves over is added in the next tick, so sums over time are true."""

    def __init__(self, signal: Floats, offset: Floats, feed: PlannedFeed, node: FedNode, first: int) -> None:
        self._signal, self._offset, self._feed, self._node = signal, offset, feed, node
        self.rest = np.zeros(len(node.unit))
        self._mine = slice(first, first + node.code.size(len(node.unit)))

    def encode(self, spikes: NDArray[np.bool_], tick: int) -> int:
        """Write the spikes of the signal's values in a tick; return how many values had to be clipped."""
        given = self._signal - self._offset
        values = self._within(given)
        code = self._node.code
        wanted = values / self._node.unit + code.extra(tick) + self.rest
        numbers = np.clip(np.rint(wanted), code.lowest, code.highest).astype(np.int64)
        self.rest[...] = np.clip(wanted - numbers, -0.5, 0.5)
        spikes[self._mine] = code.spikes(numbers)
        return int((values != given).sum())

    def _within(self, values: Floats) -> Floats:
        """Shorten a vector, or clip single values, to the limit."""
        limit = self._feed.limit
        if self._feed.is_vector:
            length = float(np.linalg.norm(values))
            return values * (limit[0] / length) if length > limit[0] else values
        return np.clip(values, -limit, limit)
