"""Map one candidate and measure it: the work of a process that helps a search."""

from __future__ import annotations

from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.setting import Setting
from neuromap.hardware.program.program import Program
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.activity.measure_steady_activity import steady_figures
from neuromap.simulation.activity.spread import Spread
from neuromap.verification.law import hold_against_reference

__all__ = ["evaluate"]


def evaluate(setting: Setting, candidate: Candidate) -> Measured:
    """Map a candidate, measure its energy, verify it.

    Parameters
    ----------
    setting : Setting
        What it is mapped with.
    candidate : Candidate
        Pattern, execution, chip and options.

    Returns
    -------
    Measured
        The same for all candidates that share a row, and on every machine.
    """
    network = setting.network_of(candidate.values)
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    options = MappingOptions(splitters=candidate.splitters, ticks_per_step=candidate.ticks_per_step)  # type: ignore[arg-type]
    try:
        mapped = map_with_stages(rollout, setting.chips[candidate.chip], options)
    except DoesNotFitError as error:
        return Measured("does not fit", message=str(error))
    timed, program = mapped.rollout, mapped.program
    scale = 1 if timed.is_tick_level else program.ticks_per_step
    outputs = network.outputs
    verified = None
    if setting.verify:
        verified = hold_against_reference(timed, program, setting.stimuli[0], None, setting.engine).verified
    energy = _energy(setting, program)
    return Measured(
        "mapped",
        schedule="ticks" if timed.is_tick_level else "steps",
        frame_period_ticks=program.period,
        first_response_ticks=min(timed.first_response(name) for name in outputs) * scale,
        full_response_ticks=max(timed.full_response(name) for name in outputs) * scale,
        worst_case_reaction_ticks=min(timed.worst_case_reaction(name) for name in outputs) * scale,
        full_response_exact=all(timed.full_response_is_exact(name) for name in outputs),
        cores=program.n_cores,
        energy_joules=None if energy is None else energy.mean,
        energy_half_width_joules=None if energy is None else energy.half_width,
        verified=verified,
    )


def _energy(setting: Setting, program: Program) -> Spread | None:
    """Energy per frame over the stimuli; where the chip has no figures nothing is run."""
    if not program.chip.energy:
        return None
    return steady_figures(program, setting.stimuli, setting.engine).joules_spread
