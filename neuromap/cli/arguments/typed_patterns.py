"""Patterns as they are typed at the command line."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.network.network import Network
    from neuromap.rollout.pattern import RolloutPattern
    from neuromap.rollout.schedule.rollout import Rollout


def read_pattern(network: Network, text: str) -> RolloutPattern:
    """Read one pattern; :func:`neuromap.rollout.pattern.pattern_of_text`, imported when it is needed."""
    from neuromap.rollout.pattern import pattern_of_text

    return pattern_of_text(network, text)


def read_rollout(
    network: Network, program: ChipProgram, path: Path, pattern: str | None, execution: str | None
) -> Rollout:
    """Make the rollout that a program is held against: what is not given, its own labels say."""
    # Where nothing is given, hidden nodes have the program's phases, if these are possible: they may be at least cost.
    from neuromap.rollout.schedule.rollout import Rollout

    if pattern is None and program.pattern in ("", "unnamed"):
        raise InputError(f"{path}: does not name its pattern; give one")
    if execution is None and not program.execution:
        raise InputError(f"{path}: does not name its execution; give one")
    label = program.pattern if pattern is None else pattern
    rollout = Rollout(network, read_pattern(network, label), program.execution if execution is None else execution)
    return rollout if pattern is not None or execution is not None else _as_labelled(rollout, program)


def _as_labelled(rollout: Rollout, program: ChipProgram) -> Rollout:
    """Give hidden nodes the phases that a program's clocks tell; responses depend on inputs and outputs only."""
    step, first = program.ticks_per_step, rollout.network.outputs[0]
    ticks = {port.name: port.sample_tick for port in program.nodes}
    if first not in ticks or rollout.network.is_spiking or program.period != rollout.frame_period * step:
        return rollout
    ends = {*rollout.network.inputs, *rollout.network.outputs}
    hidden = {n: ticks[n] - ticks[first] for n in rollout.network.nodes if n in ticks and n not in ends}
    try:
        return rollout.with_phases({n: rollout.phases[first] + Fraction(t) / step for n, t in hidden.items()})
    except InputError:
        return rollout


def split_patterns(values: Sequence[str]) -> list[str]:
    """Take the values of a repeatable option apart: names at commas, patterns by edges as they are."""
    return [
        part.strip() for value in values for part in ([value] if "->" in value else value.split(",")) if part.strip()
    ]
