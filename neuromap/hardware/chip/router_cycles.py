"""Times of routers in router cycles, from a chip's figures ``[router]``: in one cycle a link passes one spike."""

from __future__ import annotations

import math
from collections.abc import Mapping

MAX_ROUTER_CYCLES = 2**31
"""Of a hop, a port or a boundary; sums of them over a board stay inside 64 bits."""


def router_cycles(figures: Mapping[str, float]) -> dict[str, float]:
    """Give what the figures say in cycles, as exact quotients."""
    # gives by figure: cycles of a hop (``hop_seconds``), cycles in which the ports of a chip pass one spike
    # (``boundary_spikes_per_second``), and cycles of a link between two chips (``boundary_seconds``). Empty without
    # ``link_spikes_per_second`` and ``hop_seconds``, as the length of a cycle is not known then; infinite where a
    # figure is out of all bounds
    rate, hop = figures.get("link_spikes_per_second"), figures.get("hop_seconds")
    if not rate or hop is None:
        return {}
    cycles = {"hop_seconds": hop * rate}
    if port := figures.get("boundary_spikes_per_second"):
        cycles["boundary_spikes_per_second"] = rate / port
    if (boundary := figures.get("boundary_seconds")) is not None:
        cycles["boundary_seconds"] = boundary * rate
    return {key: value if math.isfinite(value) else math.inf for key, value in cycles.items()}
