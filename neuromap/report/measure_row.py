"""Make one row of the latency report: predict, measure, observe and verify."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.times import tick_of_frame
from neuromap.errors import DoesNotFitError, InputError, PatternError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import NodePort
from neuromap.hardware.program.usage import count_copies, count_usage, sampling_frequency
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.legalise.legalise import keep_nodes, legalise
from neuromap.mapping.partition.partition import digest_of
from neuromap.mapping.tile.tilings import Tilings
from neuromap.proof.prove import is_proven
from neuromap.report.figures.row import (
    CoreMap,
    EnergyFigures,
    LateFigures,
    MeshFigures,
    NodeTimeFigures,
    OutputResponses,
    ReportRow,
    Responses,
    RunFigures,
    SpikeRaster,
    TickTimeFigures,
    WorkFigures,
    over_outputs,
    taken,
)
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import frame_time
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.activity import Activity, node_times
from neuromap.simulation.cost.steady_figures import SteadyActivity, count_steady_activity, steady_window
from neuromap.simulation.cost.tick_times import ResponseSeconds
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.delivery import find_late_spikes
from neuromap.simulation.run.tick_run import run_ticks, ticks_to_run
from neuromap.simulation.stimulus import check_frames
from neuromap.verification.law import difference_of_runs, extend_frames, hold_against_reference
from neuromap.verification.wave import measure


def _tick_times(steady: SteadyActivity, program: ChipProgram) -> TickTimeFigures | None:
    times = steady.activity.times
    if times is None:
        return None
    core = int(times.critical.argmax())
    nodes = program.neuron_node[core]
    nodes = nodes[(nodes >= 0) & ~program.is_relay[core]]
    return taken(
        TickTimeFigures,
        steady,
        slowest_core=tuple(program.coordinates[core].tolist()),
        slowest_core_share=float(times.critical[core] / times.critical.sum()),
        slowest_node=program.nodes[np.bincount(nodes).argmax()].name if len(nodes) else None,
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


def report_row(
    rollout: Rollout,
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> ReportRow:
    """Predict, measure, observe and verify one mapped rollout.

    Parameters
    ----------
    rollout : Rollout
        The schedule as it was mapped (``map_with_stages(...).rollout``): source of the predictions.
    program : ChipProgram
        The program mapped from it (and perhaps edited since): source of the measurements.
    frames : mapping of str to array_like, shape (n_frames, size)
        Input frames for verification, and the one stimulus of the figures per frame; the observed difference repeats
        them as often as needed.
    engine, threads, noise_seed : str, int or None, int
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    ReportRow
        With status ``"mapped"``.

    Raises
    ------
    ProgramError
        If the program is of another network.
    StimulusError
        If the frames do not fit the input nodes.
    """
    return make_row(rollout, program, [frames], EngineChoice(engine, threads, noise_seed))


def make_row(
    rollout: Rollout,
    program: ChipProgram,
    stimuli: Sequence[Mapping[str, ArrayLike]],
    choice: EngineChoice,
    known: ReportRow | None = None,
) -> ReportRow:
    """Predict, measure, observe and verify; see :func:`report_row`. Verification uses the first stimulus."""
    # ``known`` is the result of :func:`row_of_program`, given to make several rows of one program.
    each = [check_frames(frames, rollout.network) for frames in stimuli]
    checked = each[0]
    verification = hold_against_reference(rollout, program, checked, None, choice)
    per_step = _ticks_per_step(rollout, program)
    scale = per_step or 1
    found = measure(program)
    place, board = program.coordinates, (program.chip.columns, program.chip.rows)
    is_on_board = bool((place >= 0).all() and (place < board).all())  # else spikes have no routes
    steady = count_steady_activity(program, each, choice) if is_on_board else None
    clock = ResponseSeconds(program, None if steady is None else steady.seconds)
    # frames that fill the network before an onset, and cover the full response after it
    longest = max(full.steps for full in rollout.full_responses.values()) * scale
    onset = math.ceil(longest / program.period) + 1
    observed = difference_of_runs(program, extend_frames(checked, 2 * onset + 2), onset, choice)
    is_period = verification.rollout_period_ticks == program.period  # else the wait for a sample is unknown
    outputs = {}
    for name in rollout.network.outputs:
        first, full = rollout.first_response(name) * scale, rollout.full_response(name) * scale
        outputs[name] = OutputResponses(
            predicted=Responses.from_ticks(first, full, per_step, partial(clock.of, output=name, which="bound")),
            measured=Responses.from_ticks(
                found[name].first_response_ticks,
                found[name].full_response_ticks,
                per_step,
                partial(clock.of, output=name),
            ),
            observed_first_difference_ticks=observed[name],
            worst_case_reaction_ticks=rollout.worst_case_reaction(name, scale) if is_period else None,
            full_response_exact=rollout.full_response_is_exact(name),
            best_input_reaction_ticks=rollout.best_input_reaction(name, scale) if is_period else None,
            reaction_ticks_by_input={
                source: rollout.worst_case_reaction(name, scale, source)
                for source, answered in rollout.responses_of_inputs.items()
                if is_period and name in answered
            },
        )
    proven = verification.verified and is_proven(rollout, program)
    row = replace(known or row_of_program(rollout, program), verification=verification, proven=proven)
    if steady is not None:
        row = replace(
            row,
            sampling_frequency_hz=clock.frequency(program.period),
            activity=steady.activity,
            energy=steady.energy,
            seconds=steady.seconds,
            figures=RunFigures(
                taken(MeshFigures, steady, late=_late(steady.activity, program, checked, choice)),
                taken(WorkFigures, steady),
                taken(EnergyFigures, steady),
                _node_times(steady.activity, steady.chip, rollout.pattern),
                _tick_times(steady, program),
            ),
            cores=core_map(program),
            raster=record_raster(program, checked, choice),
        )
    row = _overall(row, rollout, outputs)
    if not is_period:
        return row
    answers = {source: steps * scale for source, steps in rollout.answers.items()}
    reaction = rollout.worst_case_reaction(None, scale)
    seconds = clock.reaction(answers, reaction - max(answers.values()), "bound")
    return replace(row, worst_case_reaction_ticks=reaction, worst_case_reaction_seconds=seconds)


def row_of_program(rollout: Rollout, program: ChipProgram, tilings: Tilings | None = None) -> ReportRow:
    """Make the part of a row that no stimulus changes: what the program takes, and bounds for any program."""
    per_step = _ticks_per_step(rollout, program)
    return ReportRow.of(
        rollout.pattern,
        rollout.execution,
        frame_period_ticks=program.period,
        ticks_per_step=per_step,
        sampling_frequency_hz=sampling_frequency(program),
        usage=count_usage(program),
        copies=count_copies(program),
        core_bound=_core_bound(rollout, program, per_step or 1, {} if tilings is None else tilings.bounds),
        ports=program.nodes,
        left_out=program.left_out,
    )


def _ticks_per_step(rollout: Rollout, program: ChipProgram) -> int | None:
    """Return the ticks per step, ``None`` for tick-level schedules, which have no update steps."""
    return None if rollout.is_tick_level else program.ticks_per_step


def refused_row(pattern: RolloutPattern, execution: str, error: PatternError | DoesNotFitError) -> ReportRow:
    """Make the row of a pattern that is invalid or was not mapped."""
    row = ReportRow.of(
        pattern,
        execution,
        "does not fit" if isinstance(error, DoesNotFitError) else "invalid",
        message=str(error),
        cycle=pattern.cycle,
        infeasibility=getattr(error, "infeasibility", None),
    )
    if not pattern.is_valid:
        return row
    try:
        rollout = Rollout(pattern.network, pattern, execution)
    except InputError:  # a frame period that is too short for the pattern
        return replace(row, inference_factor=pattern.inference_factor)
    outputs = {
        name: OutputResponses(
            predicted=Responses(
                first_response_steps=rollout.first_response(name), full_response_steps=rollout.full_response(name)
            ),
            full_response_exact=rollout.full_response_is_exact(name),
        )
        for name in pattern.network.outputs
    }
    return _overall(row, rollout, outputs)


def _overall(row: ReportRow, rollout: Rollout, outputs: Mapping[str, OutputResponses]) -> ReportRow:
    """Add what follows from the schedule, and the figures over all outputs."""
    seen = [o.observed_first_difference_ticks for o in outputs.values()]
    return replace(
        row,
        inference_factor=rollout.pattern.inference_factor,
        schedule="ticks" if rollout.is_tick_level else "steps",
        frame_period_steps=None if rollout.is_tick_level else rollout.frame_period,
        predicted=over_outputs([o.predicted for o in outputs.values()]),
        measured=over_outputs([o.measured for o in outputs.values()]),
        observed_first_difference_ticks=min((s for s in seen if s is not None), default=None),
        full_response_exact=all(o.full_response_exact for o in outputs.values()),
        outputs=outputs,
        rollout=rollout,
    )


def _late(
    activity: Activity, program: ChipProgram, frames: Mapping[str, NDArray[np.bool_]], choice: EngineChoice
) -> LateFigures | None:
    """Count late spikes at the chip's tick; a run of its own is needed only where there are some."""
    traffic = activity.traffic
    if (cycle := traffic.clock.cycle_seconds) is None or program.chip.is_timed:
        return None
    tick_cycles = max(1, math.floor(traffic.tick_seconds / cycle * (1 + 1e-9)))
    if traffic.shortest_tick_cycles <= tick_cycles:
        return LateFigures(0, 0, None)
    late = find_late_spikes(program, steady_window(program, frames, choice).ticks, tick_cycles)
    return LateFigures(len(late), late.n_overdue, str(late.named(1)[0]))


def _core_bound(rollout: Rollout, program: ChipProgram, scale: int, known: dict[bytes, CoreBound]) -> CoreBound | None:
    if program.is_part is not None and program.is_part.any():
        return None  # bounds hold for mappings that compute every neuron from all its sources at once
    # a hidden node that the program holds whole was kept, or is read whole; then keeping it changes nothing
    kept = [port.name for port in program.nodes if port.kind == "hidden" and port.name not in program.left_out]
    try:
        network = keep_nodes(legalise(rollout, program.chip, ticks_per_step=scale), kept)
        name = digest_of(network)
        found = (name and known.get(name)) or core_bound(network, program.chip)
    except DoesNotFitError:  # a program that was not mapped from this schedule
        return None
    if name is not None:
        known[name] = found
    return found


# The first ticks of a run, as a raster of spikes.
Frames = Mapping[str, NDArray[np.bool_]]
# Most ticks of a raster.
MOST_TICKS = 64
# Most spikes of a raster, cut at whole ticks; at least one tick is kept.
MOST_SPIKES = 6000
# Most neurons of a node in a raster, evenly chosen.
NEURONS_SHOWN = 100


def record_raster(program: ChipProgram, frames: Frames, choice: EngineChoice) -> SpikeRaster:
    """Run a program on input frames, and record the spikes of the first ticks."""
    # shapes: frames (n_frames, size)
    every = tuple(-(-port.size // NEURONS_SHOWN) for port in program.nodes)
    n_ticks = min(MOST_TICKS, ticks_to_run(program, len(next(iter(frames.values())))))
    fed = _sampled(program, frames, every, n_ticks)
    core_spikes = np.zeros(program.n_cores, np.int64)
    kept: list[Ints] = []
    n_spikes = n_done = 0
    for spikes in run_ticks(program, frames, n_ticks=n_ticks, choice=choice):
        here = _labelled(program, spikes.cores, spikes.neurons, every)
        rows = np.vstack([fed[fed[:, 0] == spikes.tick], np.insert(here, 0, spikes.tick, axis=1)])
        if n_done and n_spikes + len(rows) > MOST_SPIKES:
            break
        core_spikes += np.bincount(spikes.cores, minlength=program.n_cores)
        kept.append(rows)
        n_spikes, n_done = n_spikes + len(rows), n_done + 1
    tick, node, neuron = np.concatenate(kept).T if kept else np.zeros((3, 0), np.int64)
    return SpikeRaster(
        names=tuple(port.name for port in program.nodes),
        sizes=tuple(port.size for port in program.nodes),
        every=every,
        n_ticks=n_done,
        tick=tick,
        node=node,
        neuron=neuron,
        samples=tuple(_sample_ticks(program, port, n_done) for port in program.nodes),
        core_spikes=core_spikes,
    )


def _labelled(program: ChipProgram, cores: Ints, neurons: Ints, every: tuple[int, ...]) -> Ints:
    """Return node and index of the neurons of nodes to keep, each once; without relays and inputs."""
    node, index = program.neuron_node[cores, neurons], program.neuron_index[cores, neurons]
    mine = (node >= 0) & ~program.is_relay[cores, neurons]
    found: Ints = np.unique(np.stack([node[mine], index[mine]], axis=1).astype(np.int64), axis=0)
    is_input = np.array([port.kind == "input" for port in program.nodes], np.bool_)
    shown: Ints = found[(found[:, 1] % np.array(every, np.int64)[found[:, 0]] == 0) & ~is_input[found[:, 0]]]
    return shown


def _sampled(program: ChipProgram, frames: Frames, every: tuple[int, ...], n_ticks: int) -> Ints:
    """Return tick, node and neuron of the spikes that input nodes sample, in order of ticks."""
    found = [np.zeros((0, 3), np.int64)]
    for k, port in enumerate(program.nodes):
        if port.kind != "input":
            continue
        frame, neuron = np.nonzero(frames[port.name][:, :: every[k]])
        ticks = np.array([tick_of_frame(port.sample_tick, program.period, f) for f in frame.tolist()], np.int64)
        rows = np.stack([ticks, np.full(len(ticks), k), neuron * every[k]], axis=1)
        found.append(rows[(ticks >= 0) & (ticks < n_ticks)])
    sampled: Ints = np.concatenate(found)
    return sampled[np.argsort(sampled[:, 0], kind="stable")]


def _sample_ticks(program: ChipProgram, port: NodePort, n_ticks: int) -> Ints:
    ticks, frame = [], 0 if port.kind == "input" else 1
    while (tick := tick_of_frame(port.sample_tick, program.period, frame)) < n_ticks:
        ticks.append(tick)
        frame += 1
    return np.array([tick for tick in ticks if tick >= 0], np.int64)


# Contents of the cores, read from a program.
def core_map(program: ChipProgram) -> CoreMap:
    """Return the contents of every core."""
    n_cores, n_nodes = program.n_cores, max(2, len(program.nodes))
    core, neuron = np.nonzero(program.neuron_node >= 0)
    held = np.bincount(core * n_nodes + program.neuron_node[core, neuron], minlength=n_cores * n_nodes)
    held = held.reshape(n_cores, n_nodes)
    order = np.argsort(-held, axis=1, kind="stable")
    every = np.arange(n_cores)
    main, second = order[:, 0], order[:, 1]
    main_neurons, second_neurons = held[every, main], held[every, second]
    splitters, parts = (
        np.zeros(n_cores, np.int64) if marks is None else marks.sum(axis=1)
        for marks in (program.is_splitter, program.is_part)
    )
    return taken(
        CoreMap,
        program,
        neurons=held.sum(axis=1),
        main=np.where(main_neurons > 0, main, -1),
        second=np.where(second_neurons > 0, second, -1),
        main_neurons=main_neurons,
        second_neurons=second_neurons,
        n_nodes=(held > 0).sum(axis=1),
        relays=program.is_relay.sum(axis=1) - splitters - parts,
        splitters=splitters,
        parts=parts,
        copied=_copied(program),
        cores_of_node=(held > 0).sum(axis=0)[: len(program.nodes)],
    )


def _copied(program: ChipProgram) -> NDArray[np.int64]:
    """Count the neurons of nodes in every core that are on the chip more than once."""
    core, place = np.nonzero((program.neuron_node >= 0) & ~program.is_relay & ~program.further_compartments)
    source = np.stack([program.neuron_node[core, place], program.neuron_index[core, place]], axis=1)
    _, which, times = np.unique(source, axis=0, return_inverse=True, return_counts=True)
    found: NDArray[np.int64] = np.bincount(core[times[which.ravel()] > 1], minlength=program.n_cores)
    return found
