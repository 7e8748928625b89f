"""Patterns served by trained networks, and classes without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.errors import InputError, NetworkError, PatternError
from neuromap.explorer.candidates.named_patterns import NamedPatterns
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.candidates.schedules import graph_of
from neuromap.files.messages import show
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.class_numbers import ClassNumbers
from neuromap.rollout.pattern import RolloutPattern

MOST_NAMED = 4
"""Most classes without trained weights that are named."""


def trained_spaces(space: PatternSpace, trained: Sequence[TrainedNetwork]) -> list[PatternSpace]:
    """Pattern space of every trained network: the patterns of its class."""
    return [replace(space.of_class(one.pattern), graph=graph_of(one.network)) for one in trained]


def untrained_classes(
    space: PatternSpace, numbers: ClassNumbers, names: NamedPatterns, trained: Sequence[int]
) -> tuple[tuple[int, str], ...]:
    """Name some classes without trained weights, those of named patterns first."""
    found: dict[int, str] = {}
    for pattern, number in zip(names.patterns, numbers.of_patterns(names.patterns), strict=True):
        found.setdefault(number or 0, names.name_of(pattern.values))
    values = next(space.chunks())
    values = values[np.argsort(-values.sum(axis=1, dtype=np.int64), kind="stable")]
    of_all, first = np.unique(numbers.of(values), return_index=True)
    for number, k in zip(of_all.tolist(), first.tolist(), strict=True):
        found.setdefault(number, names.name_of(tuple(values[k].tolist())))
    return tuple((number, text) for number, text in found.items() if number and number not in trained)[:MOST_NAMED]


# Networks of one graph, each trained under a pattern: the weights of the rows of its behaviour class.


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network with the pattern under which it was trained."""

    pattern: RolloutPattern  # of this network
    network: Network  # with weights; nodes and edges in the order of the network that is explored
    file: str | None  # file it was read from


def trained_networks(network: Network, trained: Any) -> tuple[TrainedNetwork, ...]:
    """Read and check the trained networks of an exploration."""
    pairs = trained.items() if isinstance(trained, Mapping) else trained
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise InputError(f"trained: found {show(trained)}; give patterns with networks, {{'streaming': 'a.toml'}}")
    found = [_read(network, pattern, given) for pattern, given in pairs]
    if not found:
        raise InputError("trained: none given; name at least one pattern with the network that was trained under it")
    for first, second in pairwise(sorted(found, key=lambda one: class_key(one.pattern))):
        if class_key(first.pattern) == class_key(second.pattern):
            one, other = _title(first.pattern), _title(second.pattern)
            told = f"pattern {one} is given twice" if one == other else f"patterns {one} and {other} are of one"
            rest = ", with weights each" if one == other else " behaviour class, which takes the same weights"
            raise InputError(f"trained: {told}{rest}; give one of them")
    return tuple(found)


def _read(network: Network, pattern: RolloutPattern | str, given: Network | str | Path) -> TrainedNetwork:
    """Read one network, in the node and edge order of the explored one, with its pattern."""
    loaded = given if isinstance(given, Network) else load_network(given)
    called = f"trained {_title(pattern)}: network {loaded.name}"
    require_weights(loaded)
    for difference in _differences(network, loaded):
        raise NetworkError(f"{called}: {difference}; give networks of one graph")
    ordered = replace(
        loaded,
        nodes={name: loaded.nodes[name] for name in network.nodes},
        edges={key: loaded.edges[key] for key in network.edges},
        outputs=network.outputs,
    )
    return TrainedNetwork(_pattern(network, ordered, pattern), ordered, None if loaded is given else str(given))


def _pattern(network: Network, ordered: Network, pattern: RolloutPattern | str) -> RolloutPattern:
    """Read the pattern for a trained network; names refer to the explored network."""
    if isinstance(pattern, str):
        digits = bool(pattern) and set(pattern) <= set("01") and pattern not in network.patterns
        if digits and len(pattern) != len(network.edges):
            raise PatternError(
                f"trained: pattern {show(pattern)} has R of {len(pattern)} edges, network {network.name} has "
                f"{len(network.edges)} edges; give one digit for each"
            )
        values = tuple(map(int, pattern)) if digits else None
        pattern = RolloutPattern(network, values) if values else RolloutPattern.named(network, pattern)
    if not isinstance(pattern, RolloutPattern) or tuple(pattern.network.edges) != tuple(network.edges):
        raise PatternError(
            f"trained: {show(pattern)} is not a pattern of network {network.name}; give one, its name, or R of every "
            "edge as digits"
        )
    pattern.require_valid()
    return RolloutPattern(ordered, pattern.values, pattern.name)


def _differences(network: Network, other: Network) -> Iterator[str]:
    """Describe the differences of two networks: nodes, edges, outputs, then given shapes and transforms."""
    yield from _missing("node", network.nodes, other.nodes, network.name)
    edges, others = ([f"{u} -> {v}" for u, v in found.edges] for found in (network, other))
    yield from _missing("edge", edges, others, network.name)
    if set(network.outputs) != set(other.outputs):
        yield f"its outputs are {', '.join(other.outputs)}, those of {network.name} {', '.join(network.outputs)}"
    for name, node in network.nodes.items():
        shape = other.nodes[name].shape
        if node.shape is not None and node.shape != shape:
            yield f"node {name} has the shape {list(shape or ())}, in {network.name} {list(node.shape)}"
    for key, edge in network.edges.items():
        mine, its = _settings(edge.transform), _settings(other.edges[key].transform)
        if edge.transform is not None and mine != its:
            yield f"edge {edge.label} is {_told(its)}, in {network.name} {_told(mine)}"


def _missing(what: str, mine: Iterable[str], its: Iterable[str], name: str) -> Iterator[str]:
    mine, its = list(mine), list(its)
    yield from (f"has no {what} {one}, which {name} has" for one in mine if one not in set(its))
    yield from (f"has {what} {one}, which {name} has not" for one in its if one not in set(mine))


def _settings(transform: object) -> dict[str, Any]:
    """Collect the settings of a transform, not its weights or groups (chosen in training); matrices count as dense."""
    names = ("kernel", "stride", "padding")
    kind = getattr(transform, "kind", None)
    found = {"transform": "dense" if kind == "matrix" else kind}
    return found | {name: getattr(transform, name) for name in names if hasattr(transform, name)}


def _told(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {list(value) if isinstance(value, tuple) else value}" for name, value in settings.items())


def _title(pattern: object) -> str:
    if isinstance(pattern, RolloutPattern):
        return pattern.name or "".join(map(str, pattern.values))
    return show(pattern).strip("'")
