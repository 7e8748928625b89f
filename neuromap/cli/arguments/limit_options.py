"""Limits of ``neuromap explore`` as they are typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from neuromap.cli.arguments.options import said_option

if TYPE_CHECKING:
    from neuromap.explorer.answer.limits import Limits

__all__ = ["LimitOptions"]

_LIMITED = {
    "max_first_response": "first_response_seconds",
    "max_full_response": "full_response_seconds",
    "max_reaction": "worst_case_reaction_seconds",
    "min_sampling_frequency": "sampling_frequency_hz",
    "min_accuracy": "accuracy_at_deadline",
    "max_cores": "cores",
    "max_energy": "energy_joules",
}
"""Option -> attribute of ``Limits``, in the order in which they are read."""


@dataclass(frozen=True)
class LimitOptions:
    """Options that limit the rows; one parameter of the command (see ``option_blocks``)."""

    max_cores: Annotated[str | None, said_option("--max-cores", metavar="N", text="Cores, at most.")] = None
    max_first_response: Annotated[
        str | None, said_option("--max-first-response", metavar="TIME", text="First response, at most, such as 5ms.")
    ] = None
    max_full_response: Annotated[
        str | None, said_option("--max-full-response", metavar="TIME", text="Full response, at most.")
    ] = None
    max_reaction: Annotated[
        str | None, said_option("--max-reaction", metavar="TIME", text="Worst-case reaction, at most.")
    ] = None
    min_sampling_frequency: Annotated[
        str | None,
        said_option(
            "--min-sampling-frequency", metavar="FREQUENCY", text="Sampling frequency, at least, such as 300Hz."
        ),
    ] = None
    min_accuracy: Annotated[
        str | None,
        said_option("--min-accuracy", metavar="PART", text="With --deadline: accuracy then, at least, such as 90%."),
    ] = None
    max_energy: Annotated[
        str | None, said_option("--max-energy", metavar="ENERGY", text="Energy per frame, at most, such as 100uJ.")
    ] = None

    def limits(self) -> Limits:
        """Make the limits of the options that were typed."""
        from neuromap.explorer.answer.limits import Limits, parse_bound
        from neuromap.explorer.answer.objectives import OBJECTIVES

        objectives = {objective.name: objective for objective in OBJECTIVES}
        bounds: dict[str, Any] = {}
        for name, limited in _LIMITED.items():
            text = getattr(self, name)
            if text is not None:
                bounds[limited] = parse_bound(text, objectives[limited], f"--{name.replace('_', '-')}")
        return Limits(**bounds)
