"""Nengo simulator that runs ensembles on a simulated chip where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import nengo
import numpy as np
from nengo.builder import Model
from nengo.cache import get_default_decoder_cache
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Floats
from neuromap.backends.nengo.chip_builder import ChipBuilder, ChipState, frames_of, node_name
from neuromap.backends.nengo.crossbar_plan import (
    DECODER_ERROR,
    HOST_RADII,
    CrossbarEnsemble,
    CrossbarLink,
    CrossbarPlan,
    LeakIntegers,
    LineGroup,
    PlannedFeed,
    as_leak_integers,
    greatest_rest,
    host_rest,
)
from neuromap.backends.nengo.mapped_plan import MappedPlan
from neuromap.backends.nengo.placement import Placement, owner, tau_of
from neuromap.errors import InputError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.quantise.quantisation import TrainDistance
from neuromap.quantise.spike_distance import train_distance
from neuromap.render.numbers import joules, plain, seconds
from neuromap.render.value import Card
from neuromap.simulation.cost.activity import Activity, count_activity
from neuromap.simulation.cost.energy import Energy, energy_of
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import run_again


class Simulator(nengo.Simulator):
    """Runs a Nengo network: ensembles that fit on a chip, everything else on the host with Nengo itself."""

    # network: network to build; None if ``model`` is already built

    def __init__(
        self,
        network: nengo.Network | None,
        dt: float = 0.001,
        seed: int | None = None,
        model: Model | None = None,
        progress_bar: Any = True,
        optimize: bool = True,
        *,
        chip: str | ChipSpec = "loihi1",
        engine: str = "fast",
        ticks_per_step: int | None = None,
        decoder_error: float = DECODER_ERROR,
    ) -> None:
        self.closed = True  # until the network is built
        spec = chip if isinstance(chip, ChipSpec) else load_chip(chip)
        is_crossbar = not spec.kind.computes(CurrentNeuron)
        ticks_per_step = (1 if is_crossbar else 2) if ticks_per_step is None else ticks_per_step
        most = spec.delay[1]
        if type(ticks_per_step) is not int or not 1 <= ticks_per_step <= most:
            raise InputError(f"ticks_per_step: found {ticks_per_step!r:.60}; allowed are 1 to {most}")
        if not 0 <= decoder_error < 1:
            raise InputError(f"decoder_error: found {decoder_error!r:.60}; allowed are 0 to below 1")
        choice = EngineChoice(engine, threads=1)
        if model is None:
            model = Model(float(dt), f"{network}, dt={dt:f}", get_default_decoder_cache())
        if network is not None:
            model.builder = (
                CrossbarBuilder(spec, choice, ticks_per_step, decoder_error)
                if is_crossbar
                else ChipBuilder(spec, choice, ticks_per_step)
            )
        super().__init__(network, dt, seed, model, progress_bar, optimize)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Resume from a pickled simulator, by replaying all inputs of its chip."""
        builder = state["model"].builder
        past = getattr(getattr(builder, "operator", None), "past", None)
        super().__setstate__(state)
        if past is not None and not state["closed"]:
            builder.operator.replay(past)

    @property
    def placement(self) -> Placement | None:
        """Where everything runs, with reasons; None for a model built without a chip."""
        return getattr(self.model.builder, "placement", None)

    @property
    def mapped(self) -> MappedPlan | None:
        """The plan on the chip; None if nothing runs there."""
        return getattr(self.model.builder, "mapped", None)

    @property
    def _state(self) -> ChipState | None:
        """State of the chip since the last reset; None if nothing runs there."""
        return getattr(getattr(self.model.builder, "operator", None), "state", None)

    def report(self) -> RunReport:
        """Report what ran where since the last reset, and the chip's figures: cores, spikes, hops, energy, latency."""
        mapped, state = self.mapped, self._state
        chip = None if mapped is None or state is None else _report_chip(mapped, state)
        return RunReport(int(self.n_steps), float(self.dt), self.placement, chip)

    def train_distance(self, ensemble: Any, original: ArrayLike, time_constant: float = 0.01) -> TrainDistance:
        """Compute the van Rossum distance of an ensemble's spike trains from given ones.

        Parameters
        ----------
        ensemble : nengo.Ensemble
            Ensemble on the chip.
        original : array_like, shape (n_steps, n_neurons)
            Spikes to compare with, where not 0.
        time_constant : float
            Time constant in seconds: spikes further apart count as different.

        Returns
        -------
        TrainDistance

        Raises
        ------
        InputError
            If the ensemble is not on the chip, or the shapes differ.
        NotSupportedError
            If Elephant is not installed.
        """
        placement, mapped = self.placement, self.mapped
        if placement is None or mapped is None or ensemble not in placement.ensembles:
            name = ensemble if placement is None else placement.name(ensemble)
            raise InputError(f"ensemble {name}: is not on the chip; its spikes are Nengo's own")
        name = mapped.ensembles[placement.ensembles.index(ensemble)].name
        frames = self.chip_frames[name][1:].reshape(int(self.n_steps), mapped.plan.ticks_per_step, -1)
        fired: NDArray[np.bool_] = np.any(frames, axis=1)
        theirs = np.asarray(original) != 0
        return train_distance(name, fired, theirs, float(self.dt), by="Nengo", time_constant=time_constant)

    @property
    def chip_frames(self) -> dict[str, NDArray[np.bool_]]:
        """Return frames of ensembles on the chip and of their inputs, to check with :func:`neuromap.reference`."""
        # Frame i + 1 of an ensemble holds its spikes of tick i, frame i of an input node the inputs of tick i, so the
        # last frame of input nodes is silent. Frames begin with the last reset. Empty if nothing runs on the chip.
        return {} if self.mapped is None or self._state is None else frames_of(self.mapped, self._state)


# Builder for chips with crossbar cores: neurons with a constant leak, links that carry decoded values.


class CrossbarBuilder(ChipBuilder):
    """Builds the host's part of a network, and plans the part of a chip with crossbar cores."""

    def __init__(self, chip: ChipSpec, choice: EngineChoice, ticks_per_step: int, decoder_error: float) -> None:
        super().__init__(chip, choice, ticks_per_step)
        self._decoder_error = decoder_error
        self._neurons: dict[Any, LeakIntegers] = {}
        self._decoded: list[CrossbarLink] = []

    def _integers(self, model: Model, ensemble: Any) -> LeakIntegers:
        """Return an ensemble's integer neurons, cached; decoders are solved on them, so they precede all links."""
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
        np.add.at(decoders, connection.post_slice, weights)  # a slice may repeat dimensions, and += would keep the last
        activities = self._integers(model, source).activities(points)
        origin, end = (self._places[owner(thing)] for thing in (source, target))
        self._decoded.append(CrossbarLink(origin, end, decoders, activities, tau_of(connection)))

    def _feed(self, model: Model, ensemble: Any) -> tuple[Any, PlannedFeed, Any]:
        limit = np.full(ensemble.dimensions, HOST_RADII * ensemble.radius)
        return model.sig[ensemble]["in"], PlannedFeed(model.params[ensemble].scaled_encoders, limit, True), 0.0

    def _plan(self, model: Model, ensembles: Sequence[Any], feeds: Sequence[PlannedFeed | None]) -> CrossbarPlan:
        assert self.placement is not None
        fed = {owner(c.post_obj) for c in self.placement.boundary}
        planned = []
        for i, (ensemble, feed) in enumerate(zip(ensembles, feeds, strict=True)):
            assert feed is not None
            neurons = self._integers(model, ensemble)
            planned.append(
                CrossbarEnsemble(
                    node_name(i, ensemble, self.placement), neurons, self._voltages[ensemble], feed, ensemble in fed
                )
            )
        dt = float(model.dt) / self.ticks_per_step
        return CrossbarPlan(dt, self.ticks_per_step, tuple(planned), tuple(self._decoded), self._decoder_error)


# Report of a run: what ran where, latencies and the chip's figures.


# Accuracy and cost of decoded values on crossbar cores: axons per source, error, lines, delays.
@dataclass(frozen=True)
class DecodedValue(Card):
    """One dimension of a link on crossbar cores."""

    link: str  # nodes of source and target
    dimension: int  # of the target
    axons: int  # most axons per source, on average over sources
    # RMS error from rounding the decoders, relative to the RMS of the value, over the solver's points
    error: float
    bound: float  # requested bound of the error
    lines: int  # neurons that carry the value
    delays: tuple[int, int]  # least and greatest delay from lines to the target, in ticks

    def __str__(self) -> str:
        kept = "" if self.error <= self.bound else f", above the bound of {self.bound:.2%}"
        least, most = self.delays
        return (
            f"{self.link}, dimension {self.dimension}: {counted(self.axons, 'axon')} a source, error {self.error:.2%}"
            f"{kept}; {self.lines} lines with delays of {least} to {most} ticks"
        )


def decoded_values(mapped: MappedPlan) -> tuple[DecodedValue, ...]:
    """Return the figures of all decoded values of a plan; empty if the chip has no crossbar cores."""
    plan = mapped.plan
    if not isinstance(plan, CrossbarPlan):
        return ()
    found: dict[tuple[int, int], list[LineGroup]] = {}
    for group in mapped.built.lines:
        found.setdefault((group.link, group.dimension), []).append(group)
    values = []
    for (number, dimension), groups in found.items():
        link, sums, delays = plan.links[number], groups[0].sums, np.concatenate([group.delays for group in groups])
        label = f"{plan.ensembles[link.source].name} -> {plan.ensembles[link.target].name}"
        range_ = int(delays.min()), int(delays.max())
        values.append(DecodedValue(label, dimension, sums.axons, sums.error, plan.decoder_error, len(delays), range_))
    return tuple(values)


@dataclass(frozen=True, eq=False)
class ChipReport(Card):
    """Figures of the chip."""

    chip: str  # name of the chip
    # cores, usable_cores: cores in use, and usable cores of the chip
    cores: int
    usable_cores: int
    # neurons, compartments: neurons, and what they take on the chip: compartments, or neurons of crossbar cores
    neurons: int
    compartments: int
    synapses: int  # on all axons
    ticks_per_step: int  # ticks in a step of the simulator
    tick_seconds: float  # length of a tick in the time of the model
    activity: Activity  # spikes, hops and synaptic events of all ticks
    energy: Energy  # by the chip file
    # fed_values, clipped_values: values from the host per tick, and values clipped to their limits over the run
    fed_values: int
    clipped_values: int
    is_crossbar: bool  # whether its cores are crossbars
    decoded: tuple[DecodedValue, ...]  # figures of decoded values, by link and dimension; empty for other chips

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Write the report as lines of text."""
        traffic, work = self.activity.traffic, self.activity.work
        step = seconds(self.tick_seconds * self.ticks_per_step)
        ticks = counted(self.ticks_per_step, "tick")
        parts = "neurons of cores, with lines, relays and copies" if self.is_crossbar else "compartments"
        between = "2 ticks or more, as filters delay them" if self.is_crossbar else f"{ticks} (1 step)"
        rows = {
            "cores": f"{self.cores} of {self.usable_cores} of {self.chip}",
            "neurons": f"{self.neurons}, which take {self.compartments} {parts}, and {self.synapses} synapses",
            "time": f"{counted(work.n_ticks, 'tick')} of {seconds(self.tick_seconds)}, {ticks} a step of {step}",
            "latency": f"host to chip 0 ticks, ensemble to ensemble {between}, chip to host 0 ticks",
            "from the host": f"{counted(self.fed_values, 'value')} a tick, {traffic.host_spikes} spikes; "
            f"{self.clipped_values} values clipped",
            "spikes": f"{work.spikes} of neurons{' of cores' if self.is_crossbar else ''}; "
            f"{traffic.spikes} ways to cores, {traffic.hops} hops",
            "synaptic events": f"{work.synaptic_events}, {plain(work.synaptic_events / max(1, work.n_ticks))} a tick",
            "energy": f"{joules(self.energy.joules)}, {joules(self.energy.joules_per_tick)} a tick"
            + (f"; without {', '.join(self.energy.absent)}, which the chip file lacks" if self.energy.absent else ""),
        }
        told = [f"{name:16}{value}" for name, value in rows.items()]
        return [*told, *(f"{'decoded':16}{decoded}" for decoded in self.decoded)]


@dataclass(frozen=True, eq=False)
class RunReport(Card):
    """Report of a run: what ran where, and the chip's figures."""

    steps: int  # of the simulator since the last reset
    dt: float  # seconds of a step
    placement: Placement | None  # what ran where, with reasons
    chip: ChipReport | None  # None if nothing ran on the chip

    def __str__(self) -> str:
        lines = [f"{counted(self.steps, 'step')} of {seconds(self.dt)}"]
        lines += self.chip.lines() if self.chip is not None else ["nothing on the chip"]
        if self.placement is not None:
            placed = [p for p in self.placement if not isinstance(p.object, nengo.Node)]
            width = max((len(p.name) for p in placed), default=0)
            lines += ["", *(f"{p.where:5} {p.name:{width}}  {p.why}".rstrip() for p in placed)]
        return "\n".join(lines)


def _report_chip(mapped: MappedPlan, state: ChipState) -> ChipReport:
    program, plan = mapped.program, mapped.plan
    activity = count_activity(program, run_again(program, state.ticks) if program.chip.is_timed else state.ticks)
    return ChipReport(
        chip=program.chip.name,
        cores=program.n_cores,
        usable_cores=program.chip.n_usable_cores,
        neurons=len(mapped.neuron_core),
        compartments=int(program.neurons_in_use.sum()),
        synapses=program.n_synapses,
        ticks_per_step=plan.ticks_per_step,
        tick_seconds=plan.dt,
        activity=activity,
        energy=energy_of(program.chip, activity.counts),
        fed_values=sum(len(node.unit) for node in mapped.built.fed if node is not None),
        clipped_values=state.clipped,
        is_crossbar=not program.chip.kind.computes(CurrentNeuron),
        decoded=decoded_values(mapped),
    )
