"""What Brian2 may say and the chip does not compute: one line with the object, the equation and what would do."""

from __future__ import annotations

from neuromap.errors import NotSupportedError

__all__ = ["INSIDE", "refused"]

INSIDE = (
    "inside are dv/dt linear in v and in currents that decay exponentially, constant threshold and reset, "
    "refractoriness, and synapses that add to them"
)
"""The supported class in a line."""


def refused(name: str, what: str, why: str, remedy: str = INSIDE) -> NotSupportedError:
    """Make the error for something that is outside the supported class."""
    quoted = " ".join(str(what).split())
    return NotSupportedError(f"{name}: {quoted}: {why}; {remedy}")
