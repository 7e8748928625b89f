"""User-given phases: put in place of the computed ones, refused where an edge would get less delay than it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from neuromap.arrays.times import Time, whole
from neuromap.errors import InputError
from neuromap.files.argument_checks import mapping_given, whole_number
from neuromap.files.messages import did_you_mean
from neuromap.network.network import Network
from neuromap.rollout.indexed_pattern import IndexedPattern

_FARTHEST = 10**9
"""Farthest phase of one's own from 0, so that no tick leaves 64 bits."""


def changed_phases(network: Network, phases: Mapping[str, Time], given: Mapping[str, Time]) -> tuple[Time, ...]:
    """Put phases of one's own in the place of others."""
    # gives in update steps or ticks
    mapping_given("phases", given, "{'H1': 2}")
    for name in given:
        if name not in network.nodes:
            hint = did_you_mean(str(name), list(network.nodes))
            raise InputError(f"phases: {name!r:.60}: is not a node of network {network.name}; name its nodes{hint}")
    checked: dict[str, Time] = {name: _exact(f"phases: {name}", phase) for name, phase in given.items()}
    for name, phase in checked.items():
        if not -_FARTHEST <= phase <= _FARTHEST:
            raise InputError(f"phases: {name}: found {phase}; allowed are {-_FARTHEST} to {_FARTHEST}")
    return tuple(checked.get(name, phases[name]) for name in network.nodes)


def require_delays(
    network: Network, pattern: IndexedPattern, latencies: Sequence[int], period: Time, phases: Sequence[Time]
) -> None:
    """Refuse phases that leave an edge less than the delay that it asks for, or a part of an update step or tick."""
    # latencies: c, at least 1
    # phases: in update steps or ticks
    if len(phases) != len(network.nodes):
        raise InputError(f"phases: they are of a network of other nodes; give phases for {network.name}")
    if network.is_spiking:
        raise InputError(
            f"phases: network {network.name} is spiking, where all nodes compute in every tick; leave them"
        )
    graph = pattern.graph
    for (u, v), i, j, r, least in zip(
        network.edges, graph.sources, graph.targets, pattern.values, latencies, strict=True
    ):
        delay = phases[j] - phases[i] + r * period
        if delay.denominator != 1:
            raise InputError(
                f"phases: edge {u} -> {v} would have a delay of {delay}, delays are whole numbers; let {v} come "
                f"{delay - delay.numerator // delay.denominator} earlier"
            )
        if delay < least:
            raise InputError(
                f"phases: edge {u} -> {v} would have a delay of {delay}, it asks for {least}; let {v} come "
                f"{least - delay} later, or {u} {least - delay} earlier"
            )


def _exact(path: str, phase: Time) -> Time:
    """Take a phase as it is where it has parts, as at unequal intervals."""
    return whole(phase) if isinstance(phase, Fraction) else whole_number(path, phase)
