"""Verify that a simulated chip computes what the rollout defines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import StimulusError, VerificationError
from neuromap.files.argument_checks import needs, refuse_swapped
from neuromap.hardware.checker import check_program, require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import DEFAULT_FRAMES, RandomFrames, choose_frames
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.reference_frames import reference, require_belongs, rollout_period
from neuromap.simulation.run.simulate import record_run
from neuromap.simulation.stimulus import check_frames, frame_count
from neuromap.simulation.trace.trace import Trace
from neuromap.verification.verdict import Mismatch, Stray, Verification


def first_difference(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    onset_frame: int,
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> dict[str, int | None]:
    """Return the ticks from stimulus onset to the first output spike, or value, that the stimulus changes.

    For every input in turn, the frames from ``onset_frame`` on are delivered in one run and silenced in the
    other. Each input has its own onset, the tick at which it is sampled; the minimum over the inputs is returned.
    It is never less than the first response, and greater where thresholds keep the difference from the output.

    Parameters
    ----------
    program : ChipProgram
        The program to run.
    frames : mapping of str to array_like, shape (n_frames, size)
        Input frames with the stimulus; row 0 is frame 0.
    onset_frame : int
        First frame of the stimulus, at least 1.
    engine, threads, noise_seed : str, int or None, int
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    dict of str to int or None
        Ticks by output node; ``None`` if the two runs do not differ.

    Raises
    ------
    StimulusError
        If the frames do not fit the input nodes, or ``onset_frame`` is out of range.
    """
    return difference_of_runs(program, frames, onset_frame, EngineChoice(engine, threads, noise_seed))


def difference_of_runs(
    program: ChipProgram, frames: Mapping[str, ArrayLike], onset_frame: int, choice: EngineChoice
) -> dict[str, int | None]:
    """Compare runs with and without a stimulus; see :func:`first_difference`."""
    checked = check_frames(frames, program)
    n_frames = frame_count(checked)
    if not 1 <= onset_frame < n_frames:
        raise StimulusError(f"onset frame {onset_frame}: must be at least 1 and less than the {n_frames} frames given")
    shown = record_run(program, checked, choice)
    found: dict[str, int | None] = {port.name: None for port in shown.nodes}
    for port in program.nodes:
        if port.kind != "input" or not checked[port.name][onset_frame:].any():
            continue
        quiet = checked[port.name].copy()
        quiet[onset_frame:] = 0
        silent = record_run(program, {**checked, port.name: quiet}, choice)
        onset = port.tick(program.period, onset_frame)
        for name, tick in _first_ticks(shown, silent).items():
            before = found[name]
            found[name] = tick - onset if before is None else min(before, tick - onset)
    return found


def _first_ticks(one: Trace, other: Trace) -> dict[str, int]:
    """Return the earliest tick at which two traces differ, by output; equal outputs are absent."""
    columns: list[list[NDArray[Any]]] = [
        [t.tick, t.node, t.index, *([] if t.value is None else [t.value])] for t in (one, other)
    ]
    events = [np.stack([column.astype(np.int64) for column in some], axis=1) for some in columns]
    rows, counts = np.unique(np.concatenate(events), axis=0, return_counts=True)
    lonely = rows[counts == 1]  # a neuron sends at most once in a tick
    return {
        port.name: int(lonely[lonely[:, 1] == k, 0].min())
        for k, port in enumerate(one.nodes)
        if (lonely[:, 1] == k).any()
    }


def extend_frames(frames: Mapping[str, NDArray[Any]], n_frames: int) -> dict[str, NDArray[Any]]:
    """Repeat or cut input frames to ``n_frames``."""
    # shapes: frames (any, size); returns (n_frames, size)
    return {name: rows[np.arange(n_frames) % len(rows)] for name, rows in frames.items()}


def verify(
    rollout: Rollout,
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    *,
    n_frames: int = DEFAULT_FRAMES,
    seed: int = 0,
    density: float | None = None,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> Verification:
    """Check a program and its frame period, and compare the chip's output frames with the reference, value by value.

    Parameters
    ----------
    rollout : Rollout
        The rollout that should be computed.
    program : ChipProgram
        The program loaded onto the simulated chip.
    frames : mapping of str to array_like of shape (n_frames, size) or that of the nodes, or path, optional
        Input frames, row 0 is frame 0, or a file of them; random ones by default.
    n_frames, seed, density : int, int, float or None
        Number, seed and density of the random frames; without a density every frame draws its own.
    engine, threads, noise_seed : str, int or None, int
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    Verification
        The result, also if they differ; :func:`require_verified` raises an error then.

    Raises
    ------
    ProgramError
        If the program belongs to another network, or cannot be simulated: it is not well formed, or has invalid
        indices. Other broken rules are part of the result.
    StimulusError
        If the frames do not fit the input nodes.
    InputError
        If the engine is unknown, or a number is out of range.
    """
    refuse_swapped("verify(rollout, program)", rollout, Rollout, program)
    needs("verify", rollout, Rollout)
    needs("verify", program, ChipProgram)
    random = RandomFrames(n_frames, seed, density)
    return hold_against_reference(rollout, program, frames, random, EngineChoice(engine, threads, noise_seed))


def hold_against_reference(
    rollout: Rollout,
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | str | Path | None,
    random: RandomFrames | None,
    choice: EngineChoice,
) -> Verification:
    """Check a program and compare it with the reference; see :func:`verify`."""
    require_belongs(rollout, program)
    require_legal(program, indices_only=True)
    violations = check_program(program)
    checked, _ = choose_frames(rollout.network, frames, random)
    period = rollout_period(rollout, program)
    expected = reference(rollout, checked, rollout.network.outputs)
    trace = record_run(program, checked, choice)

    mismatches: list[Mismatch] = []
    strays: list[Stray] = []
    n_mismatches = n_strays = n_spikes = n_compared = 0
    for port in trace.nodes:
        chip, wanted = trace.frames(port.name), expected[port.name]
        wrong, stray = np.argwhere(chip != wanted), trace.strays(port.name)
        n_spikes += int(np.count_nonzero(wanted[1:]))
        n_compared += wanted[1:].size
        n_mismatches += len(wrong)
        n_strays += len(stray)
        for frame, neuron in wrong[:1].tolist():
            values = chip[frame, neuron].item(), wanted[frame, neuron].item()
            mismatches.append(Mismatch(port.name, frame, neuron, *values, port.tick(trace.period, frame)))
        strays += [Stray(port.name, tick, neuron) for tick, neuron in stray[:1].tolist()]
    return Verification(
        verified=period in (None, program.period) and not violations and n_mismatches == 0 and n_strays == 0,
        n_frames=trace.n_frames,
        outputs=tuple(port.name for port in trace.nodes),
        n_compared=n_compared,
        n_spikes=n_spikes,
        n_mismatches=n_mismatches,
        first_mismatch=min(mismatches, key=lambda m: m.tick, default=None),
        n_strays=n_strays,
        first_stray=min(strays, key=lambda s: s.tick, default=None),
        n_ticks=trace.n_ticks,
        n_violations=len(violations),
        first_violation=violations[0].message if violations else None,
        frame_period_ticks=program.period,
        rollout_period_ticks=period,
        is_graded=trace.value is not None,
    )


def require_verified(verification: Verification) -> None:
    """Raise an error unless chip and reference agree and the program is legal.

    Raises
    ------
    VerificationError
        If not; the message names the first broken rule and the first difference.
    """
    if not verification.verified:
        raise VerificationError(f"not verified: {verification.message}")
