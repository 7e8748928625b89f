"""Figures of a row in steady operation, made of what was counted over its stimuli."""

from __future__ import annotations

import numpy as np

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.report.figures.run_figures import (
    EnergyFigures,
    EnergyTermFigures,
    LateFigures,
    LinkFigure,
    MeshFigures,
    NodeTimeFigures,
    RunFigures,
    TickTimeFigures,
    WorkFigures,
)
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import frame_time
from neuromap.simulation.cost.activity import Activity, node_times
from neuromap.simulation.cost.steady_figures import SteadyActivity, spread_of
from neuromap.simulation.noc.loads import LinkLoad


def run_figures(
    steady: SteadyActivity, pattern: RolloutPattern, program: ChipProgram, late: LateFigures | None = None
) -> RunFigures:
    """Make the figures of a row."""
    return RunFigures(
        _mesh(steady, late),
        _work(steady),
        _energy(steady),
        _node_times(steady.activity, steady.chip, pattern),
        _tick_times(steady, program),
    )


def _tick_times(steady: SteadyActivity, program: ChipProgram) -> TickTimeFigures | None:
    times, frames = steady.activity.times, steady.seconds
    if times is None or frames is None:
        return None
    core = int(times.critical.argmax())
    nodes = program.neuron_node[core]
    nodes = nodes[(nodes >= 0) & ~program.is_relay[core]]
    periods = frames.frame_period().tolist()
    return TickTimeFigures(
        mean_seconds=float(frames.measured.mean()),
        longest_seconds=float(frames.measured.max()),
        bound_seconds=float(frames.bound.mean()),
        barrier_seconds=times.barrier,
        frame_period_seconds=spread_of(periods, sum(periods) / len(periods)),
        frame_period_bound_seconds=float(frames.frame_period("bound").mean()),
        slowest_core=tuple(program.coordinates[core].tolist()),
        slowest_core_share=float(times.critical[core] / times.critical.sum()),
        slowest_node=program.nodes[np.bincount(nodes).argmax()].name if len(nodes) else None,
    )


def _mesh(steady: SteadyActivity, late: LateFigures | None) -> MeshFigures:
    wires, traffic, chip = steady.wires, steady.activity.traffic, steady.chip
    n, port = steady.counts.ticks, traffic.port_seconds
    return MeshFigures(
        n_ticks=n,
        n_frames=steady.total_frames,
        spikes=wires.spikes,
        hops=wires.hops,
        spikes_per_tick=wires.spikes / n,
        spikes_per_frame=steady.per_frame(wires.spikes),
        hops_per_frame=steady.hops_per_frame,
        hops_per_spike=wires.hops / wires.spikes if wires.spikes else None,
        busiest_link=_link(traffic.busiest_link),
        busiest_core_link=_link(traffic.busiest_core_link),
        hop_cycles=traffic.clock.hop_cycles,
        cycle_seconds=traffic.clock.cycle_seconds,
        shortest_tick_cycles=traffic.shortest_tick_cycles,
        shortest_tick_at=traffic.shortest_tick_at,
        shortest_tick_seconds=traffic.shortest_tick_seconds,
        safe_tick_cycles=traffic.safe_tick_cycles,
        safe_tick_seconds=traffic.safe_tick_seconds,
        safe_tick_any_stimulus_cycles=traffic.safe_tick_any_cycles,
        safe_tick_any_stimulus_seconds=traffic.safe_tick_any_seconds,
        longest_cycle_seconds=traffic.longest_cycle_seconds,
        late=late,
        crossings_per_frame=steady.crossings_per_frame,
        host_spikes_per_frame=steady.per_frame(wires.host_spikes),
        host_spikes_per_second=wires.host_spikes / chip.tick_seconds / n,
        readout_spikes_per_frame=steady.per_frame(wires.readout_spikes),
        port_spikes_per_tick=traffic.peak_port_spikes,
        port_spikes_per_second_limit=traffic.boundary_spikes_per_second,
        port_seconds=port,
        port_share_of_tick=None if port is None else port / chip.tick_seconds,
        ports_exceed_tick=None if port is None else port > chip.tick_seconds,
    )


def _link(load: LinkLoad | None) -> LinkFigure | None:
    return None if load is None else LinkFigure(load.link.x, load.link.y, load.link.direction, load.spikes, load.tick)


def _work(steady: SteadyActivity) -> WorkFigures:
    work, n = steady.activity.work, steady.counts.ticks
    return WorkFigures(
        synaptic_events_per_tick=steady.counts.synaptic_events / n,
        synaptic_events_per_frame=steady.synaptic_events_per_frame,
        largest_core_events_per_tick=int(work.peak_core_events.max(initial=0)),
        firing_neurons_per_tick=steady.firing / n,
    )


def _energy(steady: SteadyActivity) -> EnergyFigures:
    energy = steady.energy
    terms = {}
    for term in energy.terms:
        terms[term.key] = EnergyTermFigures(
            counted=term.title,
            count_per_frame=steady.per_frame(term.count),
            joules_each=term.joules_each,
            joules_per_frame=None if term.joules is None else steady.per_frame(term.joules),
            watts=None if term.joules is None else term.joules / energy.seconds,
            included_in=term.included_in,
        )
    return EnergyFigures(
        joules_per_tick=energy.joules_per_tick,
        joules_per_frame=steady.joules_per_frame,
        joules_per_frame_spread=steady.joules_spread,
        watts=energy.watts(),
        terms=terms,
        absent=energy.absent,
        average_joules_per_synaptic_event=energy.average_joules_each,
    )


def _node_times(activity: Activity, chip: ChipSpec, pattern: RolloutPattern) -> NodeTimeFigures:
    nodes = node_times(activity.work, chip, activity.traffic)
    events = {name: time.events for name, time in nodes.items()}
    seconds = {name: time.seconds for name, time in nodes.items() if time.seconds is not None}
    known = len(seconds) == len(nodes)
    return NodeTimeFigures(
        nodes=nodes,
        slowest_node_events=max(events.values(), default=0),
        slowest_node_seconds=max(seconds.values(), default=0.0) if known else None,
        frame_events=int(frame_time(pattern, events)),
        frame_seconds=frame_time(pattern, seconds) if known else None,
    )
