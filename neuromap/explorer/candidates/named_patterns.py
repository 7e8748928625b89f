"""Patterns with names: the given one, streaming, sequential, those of the network's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import PatternError
from neuromap.explorer.candidates.class_curve import CurvePoint, class_curve
from neuromap.files.given import needs
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["NamedPatterns", "named_patterns"]


@dataclass(frozen=True, eq=False)
class NamedPatterns:
    """Valid patterns with names, the given one first, each once."""

    given: RolloutPattern  # the pattern that the weights are for
    patterns: tuple[RolloutPattern, ...]  # all of them
    names: Mapping[tuple[int, ...], str]  # name by R of every edge

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", ReadOnlyMapping(self.names))

    @cached_property
    def curve(self) -> list[CurvePoint]:
        """What windowed execution takes at least under any pattern of the given one's class."""
        return class_curve(self.given)

    def name_of(self, values: tuple[int, ...]) -> str:
        """Name of a pattern, or its streaming edges."""
        if values in self.names:
            return self.names[values]
        edges = [f"{u} -> {v}" for (u, v), r in zip(self.given.network.edges, values, strict=True) if r]
        return ", ".join(edges) or "no streaming edge"


def named_patterns(
    network: Network, given: RolloutPattern | str, others: Sequence[RolloutPattern] = ()
) -> NamedPatterns:
    """Collect the patterns of a network that have names."""
    pattern = RolloutPattern.named(network, given) if isinstance(given, str) else given
    needs("explore: given", pattern, RolloutPattern, PatternError)
    if tuple(pattern.network.edges) != tuple(network.edges):
        raise PatternError(
            f"pattern {pattern.name or '(unnamed)'}: belongs to network {pattern.network.name}, whose edges are not "
            f"those of {network.name}; make the pattern from the same network"
        )
    pattern = RolloutPattern(network, pattern.values, pattern.name)
    pattern.require_valid()
    pattern.require_binary("explore")
    every = (RolloutPattern.named(network, name) for name in ("streaming", "sequential", *network.patterns))
    known = [found for found in every if not found.bridging_edges]
    names: dict[tuple[int, ...], str] = {}
    for found in known:
        if found.is_valid:
            names.setdefault(found.values, found.name)
    for found in (pattern, *others):
        if found.name:
            names.setdefault(found.values, found.name)
    distinct = {found.values: found for found in (pattern, *others, *known) if found.is_valid}
    return NamedPatterns(pattern, tuple(distinct.values()), names)
