"""What a program does not hold of its network, as a line for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuromap.hardware.program.ports import NodePort

__all__ = ["left_out_line"]


def left_out_line(ports: Sequence[NodePort], left_out: Mapping[str, int]) -> str:
    """Say which nodes are left out."""
    size = {port.name: port.size for port in ports}
    parts = (f"{name} ({n} of {size[name]} neuron{'s' * (size[name] != 1)})" for name, n in left_out.items())
    return f"left out, as no output depends on it: {', '.join(parts)}; --keep maps it all the same, to be recorded"
