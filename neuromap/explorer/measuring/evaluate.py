"""Map one candidate and measure it: the work of a process that helps a search."""

from __future__ import annotations

import time
from collections.abc import Sequence

from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.setting import Setting
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.asked.budget import Budget, Stage
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.tile.tilings import Tilings
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.activity.measure_steady_activity import steady_figures
from neuromap.simulation.activity.spread import Spread
from neuromap.verification.law import hold_against_reference

__all__ = ["evaluate", "options_of"]

_BEFORE_REFUSALS: tuple[Stage, ...] = ("tiling", "splitters", "packing")
"""Stages that may find, with more time, that a network fits."""
_LEAST_SECONDS = 1e-6
"""Of a mapping that begins when the time is over: its searches end at once."""
_SEARCHED = 0.5
"""Share of the time left in which a row's mapping may search; verifying and measuring it take about as long again."""
_MOST_TILES = 10_000
"""Tiles that are kept from row to row; they take as much memory as the cores of a row, some kilobytes each."""


def evaluate(
    setting: Setting, candidate: Candidate, known: dict[str, Tilings] | None = None, until: float | None = None
) -> Measured:
    """Map a candidate, measure its energy, verify it."""
    network = setting.network_of(candidate.values)
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    options = options_of(candidate, None if until is None else _seconds_of_searches(setting, until))
    budget = Budget(options.seconds)
    tilings = None if known is None else _kept(known, candidate.chip)
    try:
        mapped = map_with_stages(rollout, setting.chips[candidate.chip], options, tilings=tilings)
    except DoesNotFitError as error:
        hurried = tuple(stage for stage in _BEFORE_REFUSALS if budget.is_over(stage))
        _forget(known, candidate.chip, hurried)
        return Measured("does not fit", message=str(error), cut_short=hurried)
    _forget(known, candidate.chip, mapped.cut_short)
    timed, program = mapped.rollout, mapped.program
    scale = 1 if timed.is_tick_level else program.ticks_per_step
    outputs = network.outputs
    verified = None
    if setting.verify:
        verified = hold_against_reference(timed, program, setting.stimuli[0], None, setting.engine).verified
    energy, measured_in_haste = _energy(setting, program, until)
    return Measured(
        "mapped",
        schedule="ticks" if timed.is_tick_level else "steps",
        frame_period_ticks=program.period,
        first_response_ticks=min(timed.first_response(name) for name in outputs) * scale,
        full_response_ticks=max(timed.full_response(name) for name in outputs) * scale,
        worst_case_reaction_ticks=min(timed.worst_case_reaction(name, scale) for name in outputs),
        full_response_exact=all(timed.full_response_is_exact(name) for name in outputs),
        cores=program.n_cores,
        energy_joules=None if energy is None else energy.mean,
        energy_half_width_joules=None if energy is None else energy.half_width,
        verified=verified,
        cut_short=(*mapped.cut_short, *measured_in_haste),
    )


def _seconds_of_searches(setting: Setting, until: float) -> float:
    """Give the mapper what is left, or a part of it where the row is verified and measured after that."""
    left = until - time.monotonic()
    return max(_LEAST_SECONDS, left * (_SEARCHED if setting.verify else 1))


def options_of(candidate: Candidate, seconds: float | None = None) -> MappingOptions:
    """Give the options of the mapper with which a candidate is mapped."""
    return MappingOptions(
        splitters=candidate.splitters,  # type: ignore[arg-type]
        ticks_per_step=candidate.ticks_per_step,
        wide=candidate.wide,  # type: ignore[arg-type]
        wide_ticks=candidate.wide_ticks,
        phases=candidate.phases,  # type: ignore[arg-type]
        seconds=seconds,
    )


def _forget(known: dict[str, Tilings] | None, chip: str, cut_short: Sequence[str]) -> None:
    """Keep no tilings of a mapping in a hurry: they are not those that a row finds with time."""
    if known is not None and cut_short:
        known.pop(chip, None)


def _kept(known: dict[str, Tilings], chip: str) -> Tilings:
    """Tilings for a chip, begun anew where they have become many; no option in which candidates differ changes them."""
    if chip not in known or known[chip].n_tiles > _MOST_TILES:
        known[chip] = Tilings(MappingOptions())
    return known[chip]


def _energy(setting: Setting, program: ChipProgram, until: float | None) -> tuple[Spread | None, tuple[str, ...]]:
    """Measure energy per frame over the stimuli, or over the first where time is short; and say what was cut short."""
    # Where the chip has no figures, or the time is over, nothing is run.
    if not program.chip.energy:
        return None, ()
    if until is not None and time.monotonic() > until:
        return None, ("energy",)
    if until is not None and len(setting.stimuli) > 1:
        began = time.monotonic()
        first = steady_figures(program, setting.stimuli[:1], setting.engine).joules_spread
        now = time.monotonic()
        if now + (now - began) * len(setting.stimuli) > until:
            return first, ("energy",)
    return steady_figures(program, setting.stimuli, setting.engine).joules_spread, ()
