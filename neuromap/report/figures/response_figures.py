"""First and full responses in three units: of one output, and over all outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuromap.forms.card import Card

__all__ = ["OutputResponses", "Responses", "over_outputs"]


@dataclass(frozen=True)
class Responses(Card):
    """First and full response, from stimulus onset, in three units."""

    # first_response_steps, full_response_steps: update steps; whole numbers but for measurements on programs that were
    # edited. ``None`` on tick-level schedules, which have no update steps
    first_response_steps: int | float | None = None
    # first_response_ticks, full_response_ticks: ticks of the chip: steps times ticks per step, where there are steps
    first_response_ticks: int | None = None
    # first_response_seconds, full_response_seconds: ticks times the tick length
    first_response_seconds: float | None = None
    full_response_steps: int | float | None = None
    full_response_ticks: int | None = None
    full_response_seconds: float | None = None

    @classmethod
    def from_ticks(
        cls, first: int | None, full: int | None, ticks_per_step: int | None, tick_seconds: float
    ) -> Responses:
        """Convert ticks into the other units; ``None`` stays ``None``. Without ticks per step there are no steps."""
        return cls(
            first_response_steps=_steps(first, ticks_per_step),
            first_response_ticks=first,
            first_response_seconds=None if first is None else first * tick_seconds,
            full_response_steps=_steps(full, ticks_per_step),
            full_response_ticks=full,
            full_response_seconds=None if full is None else full * tick_seconds,
        )


def _steps(ticks: int | None, ticks_per_step: int | None) -> int | float | None:
    if ticks is None or ticks_per_step is None:
        return None
    return ticks // ticks_per_step if ticks % ticks_per_step == 0 else ticks / ticks_per_step


@dataclass(frozen=True)
class OutputResponses(Card):
    """Responses of one output node."""

    predicted: Responses  # from the schedule
    measured: Responses  # from the dependency wave on the program; empty where nothing was mapped
    # ticks from onset to the first output spike that differs between a run with and one without the stimulus
    observed_first_difference_ticks: int | None
    worst_case_reaction_ticks: int | None  # predicted first response plus frame period minus one tick
    full_response_exact: bool  # whether the predicted full response is exact; else it is an upper bound


def over_outputs(responses: Sequence[Responses]) -> Responses:
    """Make the responses over all outputs: the first response of any, the full response of all."""
    # A full response that is not defined for one output is not defined for all.
    fields: dict[str, Any] = {}
    for unit in ("steps", "ticks", "seconds"):
        first = [getattr(r, f"first_response_{unit}") for r in responses]
        full = [getattr(r, f"full_response_{unit}") for r in responses]
        fields[f"first_response_{unit}"] = min((f for f in first if f is not None), default=None)
        fields[f"full_response_{unit}"] = None if None in full else max(full)
    return Responses(**fields)
