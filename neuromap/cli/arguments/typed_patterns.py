"""Patterns as they are typed at the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuromap.errors import InputError, PatternError

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.network.edge import EdgeKey
    from neuromap.network.network import Network
    from neuromap.rollout.patterns.pattern import RolloutPattern
    from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["read_pattern", "read_rollout", "split_patterns"]


def read_pattern(network: Network, text: str) -> RolloutPattern:
    """Read one pattern.

    Parameters
    ----------
    network : Network
        The network.
    text : str
        ``streaming``, ``sequential``, a name from the network's file, or streaming edges with commas between
        them: ``"H1 -> O, H2 -> O"``.

    Returns
    -------
    RolloutPattern
        Valid or not; patterns by edges are named by their edges.

    Raises
    ------
    PatternError
        If the name or an edge is unknown, or the text is empty.
    """
    from neuromap.rollout.patterns.pattern import RolloutPattern

    if "->" in text and text not in network.patterns:
        keys = [_read_edge(part) for part in text.split(",")]
        label = ", ".join(f"{u} -> {v}" for u, v in keys)
        return RolloutPattern.from_streaming_edges(network, keys, label)
    if not text.strip():
        raise PatternError(
            "pattern: is empty; give a name (streaming, sequential, ...) or streaming edges ('H1 -> O, H2 -> O')"
        )
    return RolloutPattern.named(network, text.strip())


def read_rollout(
    network: Network, program: ChipProgram, path: Path, pattern: str | None, execution: str | None
) -> Rollout:
    """Make the rollout that a program is held against: what is not given, its own labels say.

    Raises
    ------
    InputError
        If neither says it, or the execution is unknown.
    PatternError
        As :func:`read_pattern`.
    """
    from neuromap.rollout.schedule.rollout import Rollout

    if pattern is None and program.pattern in ("", "unnamed"):
        raise InputError(f"{path}: does not name its pattern; give one")
    if execution is None and not program.execution:
        raise InputError(f"{path}: does not name its execution; give one")
    label = program.pattern if pattern is None else pattern
    return Rollout(network, read_pattern(network, label), program.execution if execution is None else execution)


def _read_edge(text: str) -> EdgeKey:
    parts = [part.strip() for part in text.split("->")]
    if len(parts) != 2 or not all(parts):
        raise PatternError(f"pattern: {text.strip()!r} is no edge; write edges as 'SOURCE -> TARGET', commas between")
    return parts[0], parts[1]


def split_patterns(values: Sequence[str]) -> list[str]:
    """Take the values of a repeatable option apart: names at commas, patterns by edges as they are."""
    return [
        part.strip() for value in values for part in ([value] if "->" in value else value.split(",")) if part.strip()
    ]
