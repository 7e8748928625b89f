"""What a step is: schemes that solve NIR's equations, and what tools that write NIR files do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.given import real_number
from neuromap.files.messages import did_you_mean, show

__all__ = ["DEFAULT", "SCHEMES", "STEPS", "TOOLS", "Convention", "Scheme", "convention", "step_given"]

Scheme: TypeAlias = Literal["exponential", "euler"]

SCHEMES: tuple[str, ...] = get_args(Scheme)


class Convention(NamedTuple):
    """How time is counted."""

    dt: float  # seconds of a step, in the unit of the file's time constants
    # ``exponential``: every variable solved exactly over a step in which the others stand still, currents before
    # voltages. ``euler``: forward Euler in that order
    scheme: Scheme


STEPS = (1e-20, 1e20)
"""Bounds of a step in seconds."""

DEFAULT = Convention(1e-3, "exponential")
"""Where neither the caller nor the file says anything else."""

TOOLS: Mapping[str, Convention] = ReadOnlyMapping(
    {
        "norse": Convention(1e-6, "euler"),
        "rockpool": DEFAULT,
        "sinabs": Convention(1.0, "exponential"),
        "snntorch": Convention(1e-4, "euler"),
        "spikingjelly": Convention(1e-4, "euler"),
    }
)
"""Steps of the tools' own exporters: ``docs/nir.md`` has their versions and where each stands. Norse 1.1 multiplies its
time constants by its step of 1 ms once more; sinabs counts them in steps; Rockpool's step is that of its modules."""


def step_given(dt: object) -> float:
    """Take the seconds of a step."""
    seconds = float(real_number("dt", dt))
    if not STEPS[0] <= seconds <= STEPS[1]:
        raise InputError(f"dt = {seconds:g} s: must be above 0 and finite, {STEPS[0]:g} to {STEPS[1]:g}")
    return seconds


def convention(dt: float | None, scheme: str | None, tool: str | None, found: Convention | None) -> Convention:
    """Choose a convention: what is given, else the tool's, else the file's, else the default."""
    if tool is not None and (not isinstance(tool, str) or tool not in TOOLS):
        near = did_you_mean(tool, TOOLS) if isinstance(tool, str) else ""
        raise InputError(f"tool {show(tool)}: is not known; known are {', '.join(TOOLS)}{near}")
    base = TOOLS[tool] if tool is not None else found or DEFAULT
    if scheme is not None and scheme not in SCHEMES:
        raise InputError(f"scheme {show(scheme)}: is not known; known are {', '.join(SCHEMES)}")
    return Convention(base.dt if dt is None else step_given(dt), base.scheme if scheme is None else scheme)  # type: ignore[arg-type] # looked up
