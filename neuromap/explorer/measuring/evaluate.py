"""Map one candidate and measure it: the work of a process that helps a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.steady_energy import energy_per_frame
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network.network import Network
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.verification.law import hold_against_reference

__all__ = ["Setting", "evaluate"]


@dataclass(frozen=True, eq=False)
class Setting:
    """What all candidates of a search have in common.

    Attributes
    ----------
    network : Network
        The network.
    chips : mapping of str to ChipSpec
        By name.
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        Input frames, checked.
    verify : bool
        Whether chip is held against reference.
    engine : EngineChoice
        What runs the simulations.
    """

    network: Network
    chips: Mapping[str, ChipSpec]
    frames: Mapping[str, NDArray[np.bool_]]
    verify: bool
    engine: EngineChoice

    def __reduce__(self) -> tuple[Any, ...]:
        """Take the values apart that hold read-only mappings: these do not travel between processes."""
        chips = {name: _fields(chip) for name, chip in self.chips.items()}
        return _put_together, (_fields(self.network), chips, dict(self.frames), self.verify, self.engine)


def _fields(value: Any) -> dict[str, Any]:
    found = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {name: dict(part) if isinstance(part, MappingProxyType) else part for name, part in found.items()}


def _put_together(
    network: Mapping[str, Any],
    chips: Mapping[str, Mapping[str, Any]],
    frames: Mapping[str, NDArray[np.bool_]],
    verify: bool,
    engine: EngineChoice,
) -> Setting:
    values = {name: ChipSpec(**parts) for name, parts in chips.items()}
    return Setting(Network(**network), values, frames, verify, engine)


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
    network = setting.network
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
        verified = hold_against_reference(timed, program, setting.frames, None, setting.engine).verified
    return Measured(
        "mapped",
        schedule="ticks" if timed.is_tick_level else "steps",
        frame_period_ticks=program.period,
        first_response_ticks=min(timed.first_response(name) for name in outputs) * scale,
        full_response_ticks=max(timed.full_response(name) for name in outputs) * scale,
        worst_case_reaction_ticks=min(timed.worst_case_reaction(name) for name in outputs) * scale,
        full_response_exact=all(timed.full_response_is_exact(name) for name in outputs),
        cores=program.n_cores,
        energy_joules=energy_per_frame(program, setting.frames, setting.engine),
        verified=verified,
    )
