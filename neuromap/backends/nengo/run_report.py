"""What a run came to: what ran where, how long spikes take, and what the chip did for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import nengo
import numpy as np

from neuromap.backends.nengo.chip_operator import ChipState
from neuromap.backends.nengo.decoded_values import DecodedValue, decoded_values
from neuromap.backends.nengo.mapped_plan import MappedPlan
from neuromap.backends.nengo.placement import Placed, Placement
from neuromap.files.messages import counted
from neuromap.forms.card import Card
from neuromap.forms.numbers import joules, plain, seconds
from neuromap.simulation.activity.activity import Activity
from neuromap.simulation.activity.energy import Energy, energy_of
from neuromap.simulation.activity.work_counter import WorkCounter
from neuromap.simulation.noc.measure_traffic import TrafficCounter

__all__ = ["ChipReport", "RunReport", "report_run"]


@dataclass(frozen=True, eq=False)
class ChipReport(Card):
    """What the chip did."""

    chip: str  # name of the chip
    # cores, usable_cores: in use, and of the chip
    cores: int
    usable_cores: int
    # neurons, compartments: neurons, and compartments that their currents take
    neurons: int
    compartments: int
    synapses: int  # on all axons
    ticks_per_step: int  # ticks in a step of the simulator
    tick_seconds: float  # length of a tick in the time of the model
    activity: Activity  # spikes, hops, synaptic events, from the first tick to the last
    energy: Energy  # by the chip file
    # fed_values, clipped_values: values that a tick takes from the host; those that were beyond their limits, over the
    # run
    fed_values: int
    clipped_values: int
    is_crossbar: bool  # whether its cores are crossbars
    decoded: tuple[DecodedValue, ...]  # what decoded values lose there, by link and dimension; empty for other chips

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Write it as lines of text."""
        traffic, work = self.activity.traffic, self.activity.work
        step = seconds(self.tick_seconds * self.ticks_per_step)
        ticks = counted(self.ticks_per_step, "tick")
        rows = {
            "cores": f"{self.cores} of {self.usable_cores} of {self.chip}",
            "neurons": f"{self.neurons}, which take {self.compartments} {self._parts}, and {self.synapses} synapses",
            "time": f"{counted(work.n_ticks, 'tick')} of {seconds(self.tick_seconds)}, {ticks} a step of {step}",
            "latency": f"host to chip 0 ticks, ensemble to ensemble {self._between(ticks)}, chip to host 0 ticks",
            "from the host": f"{counted(self.fed_values, 'value')} a tick, {traffic.host_spikes} spikes; "
            f"{self.clipped_values} values clipped",
            "spikes": f"{work.spikes} of neurons; {traffic.spikes} ways to cores, {traffic.hops} hops",
            "synaptic events": f"{work.synaptic_events}, {plain(work.synaptic_events / max(1, work.n_ticks))} a tick",
            "energy": f"{joules(self.energy.joules)}, {joules(self.energy.joules_per_tick)} a tick"
            + (f"; without {', '.join(self.energy.absent)}, which the chip file lacks" if self.energy.absent else ""),
        }
        told = [f"{name:16}{value}" for name, value in rows.items()]
        return [*told, *(f"{'decoded':16}{decoded}" for decoded in self.decoded)]

    @property
    def _parts(self) -> str:
        return "neurons of cores, with lines, relays and copies" if self.is_crossbar else "compartments"

    def _between(self, ticks: str) -> str:
        return "2 ticks or more, as filters delay them" if self.is_crossbar else f"{ticks} (1 step)"


@dataclass(frozen=True, eq=False)
class RunReport(Card):
    """What ran where, and what it took."""

    steps: int  # of the simulator since the last reset
    dt: float  # seconds of a step
    placement: Placement | None  # what ran where, and why
    chip: ChipReport | None  # none where nothing ran on the chip

    def __str__(self) -> str:
        lines = [f"{counted(self.steps, 'step')} of {seconds(self.dt)}"]
        lines += self.chip.lines() if self.chip is not None else ["nothing on the chip"]
        if self.placement is not None:
            lines += ["", *_table([p for p in self.placement if not isinstance(p.object, nengo.Node)])]
        return "\n".join(lines)


def _table(placed: Sequence[Placed]) -> list[str]:
    width = max((len(str(p.object)) for p in placed), default=0)
    return [f"{p.where:5} {p.object!s:{width}}  {p.why}".rstrip() for p in placed]


def report_run(
    steps: int, dt: float, placement: Placement | None, mapped: MappedPlan | None, state: ChipState | None
) -> RunReport:
    """Report what ran since the last reset."""
    chip = _report_chip(mapped, state) if mapped is not None and state is not None else None
    return RunReport(steps, dt, placement, chip)


def _report_chip(mapped: MappedPlan, state: ChipState) -> ChipReport:
    program, plan = mapped.program, mapped.plan
    traffic, work = TrafficCounter(program), WorkCounter(program)
    for tick in state.ticks:
        traffic.add(tick)
        work.add(tick)
    activity = Activity(traffic.result(), work.result(), math.prod(program.chip.chips))
    return ChipReport(
        chip=program.chip.name,
        cores=program.n_cores,
        usable_cores=program.chip.n_usable_cores,
        neurons=len(mapped.neuron_core),
        compartments=_compartments(mapped),
        synapses=int(np.sum([term.matrix.nnz for e in mapped.built.network.edges.values() for term in e.terms])),
        ticks_per_step=plan.ticks_per_step,
        tick_seconds=plan.dt,
        activity=activity,
        energy=energy_of(program.chip, activity.counts),
        fed_values=sum(len(node.unit) for node in mapped.built.fed if node is not None),
        clipped_values=state.clipped,
        is_crossbar=program.chip.core_model == "crossbar",
        decoded=decoded_values(mapped),
    )


def _compartments(mapped: MappedPlan) -> int:
    """Count what neurons take: a compartment for every current, or neurons of crossbar cores with all that is added."""
    if mapped.lines:
        return int((mapped.program.neuron_node >= 0).sum())
    nodes = mapped.built.network.nodes.values()
    return sum(node.size * node.neuron.n_currents for node in nodes if node.neuron is not None)
