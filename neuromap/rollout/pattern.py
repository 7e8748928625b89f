"""``RolloutPattern``: which edges stream and which are sequential, and how a pattern is written as text."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError, PatternError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted, did_you_mean, show
from neuromap.network.edge import EdgeKey, edge_pair
from neuromap.network.network import MOST_BRIDGED, RESERVED_PATTERNS, Network
from neuromap.render.value import Card
from neuromap.rollout.cycles.indexed_network import indexed_network
from neuromap.rollout.cycles.sequential_values import first_sequential_values
from neuromap.rollout.indexed_pattern import IndexedPattern, parent_cycles, walks_along, windowed_phases


def pattern_of_text(network: Network, text: str) -> RolloutPattern:
    """Read a pattern: a name, or streaming edges separated by commas."""
    if "->" in text and text not in network.patterns:
        frames = _read_edges(text)
        label = ", ".join(f"{u} -> {v}" + ("" if r == 1 else f" by {r}") for (u, v), r in frames.items())
        return RolloutPattern.from_streaming_edges(network, frames, label, bridging=frames)
    if not text.strip():
        raise PatternError(
            "pattern: is empty; give a name (streaming, sequential, ...) or streaming edges ('H1 -> O, H2 -> O')"
        )
    return RolloutPattern.named(network, text.strip())


def _read_edges(text: str) -> dict[EdgeKey, int]:
    found: dict[EdgeKey, int] = {}
    for edge, frames in map(_read_edge, text.split(",")):
        if found.setdefault(edge, frames) != frames:
            raise PatternError(
                f"pattern: edge {' -> '.join(edge)} is given twice, by {found[edge]} and by {frames} frames; give it "
                "once"
            )
    return found


def _read_edge(text: str) -> tuple[EdgeKey, int]:
    edge, by, frames = text.partition(" by ")
    parts = [part.strip() for part in edge.split("->")]
    if len(parts) != 2 or not all(parts):
        raise PatternError(
            f"pattern: {text.strip()!r} is not an edge; write edges as 'SOURCE -> TARGET', commas between"
        )
    if by and not re.fullmatch("[1-9][0-9]{0,5}", frames.strip(), re.ASCII):
        raise PatternError(
            f"pattern: {show(text.strip())}: is by {show(frames.strip())} frames; give a whole number from 1 on"
        )
    return (parts[0], parts[1]), int(frames) if by else 1


# Rollout patterns: which edges work inside a frame, which hand their value to the next, and which to a later one.
#
# A *rollout pattern* R maps every edge to 0 (sequential) or 1 (streaming). It is *valid* iff its sequential edges
# form no cycle (Fischer, Köhler, Pfeil 2018, section 2). Beyond the paper an edge may *bridge* frames: R = 2 and more
# is the number of frames by which it hands its value on.


@dataclass(frozen=True, eq=False, repr=False)
class RolloutPattern(Card):
    """A rollout pattern R of a network: 0 on sequential edges, 1 on streaming ones, more on those that bridge frames.

    Two patterns are equal iff they have the same values on the same edges, in the same order; names do not
    matter.

    Attributes
    ----------
    network : Network
        The network whose edges are rolled out.
    values : tuple of int
        R of every edge, in the order of ``network.edges``: 0, 1, or the frames that the edge bridges.
    name : str
        Name of the pattern in reports; may be empty.
    """

    _forms = ("neuromap.report.drawings.draw_network",)

    network: Network
    values: tuple[int, ...]
    name: str = ""

    def __post_init__(self) -> None:
        needs("RolloutPattern", self.network, Network)
        if not isinstance(self.values, Iterable):
            raise PatternError(f"pattern {self._title}: values = {self.values!r:.60}; give R of every edge")
        if isinstance(self.values, Mapping | Set):  # whose keys, or whose order, would be read as R
            raise PatternError(
                f"pattern {self._title}: values = {show(self.values)}; give one value per edge in order, or "
                "RolloutPattern.from_values(network, {edge: R})"
            )
        given = tuple(self.values)
        if len(given) != len(self.network.edges):
            raise PatternError(
                f"pattern {self._title}: has {counted(len(given), 'value')}, network {self.network.name} has "
                f"{counted(len(self.network.edges), 'edge')}; give one value per edge"
            )
        values = tuple(_frames(r) for r in given)
        for key, r, found in zip(self.network.edges, values, given, strict=True):
            if r is None:
                raise PatternError(
                    f"pattern {self._title}: edge {key[0]} -> {key[1]} has R = {found!r:.40}; allowed are 0 "
                    f"(sequential), 1 (streaming) and, for edges that bridge frames, whole numbers up to {MOST_BRIDGED}"
                )
        object.__setattr__(self, "values", values)

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "name": self.name,
            "streaming edges": f"{len(self.streaming_edges)} of {len(self.values)}",
            **({"bridging edges": len(self.bridging_edges)} if self.bridging_edges else {}),
            "valid": "yes" if self.is_valid else f"no, cycle {' -> '.join([*self.cycle, self.cycle[0]])}",
            **({"inference factor": counted(self.inference_factor, "update step")} if self.is_valid else {}),
        }

    @classmethod
    def streaming(cls, network: Network) -> RolloutPattern:
        """R = 1 on every edge: always valid, and the unique pattern with the most streaming edges.

        Raises
        ------
        InputError
            If ``network`` is not a network.
        """
        needs("RolloutPattern.streaming", network, Network)
        return cls(network, (1,) * len(network.edges), "streaming")

    @classmethod
    def sequential(cls, network: Network) -> RolloutPattern:
        """Return the most sequential pattern: valid, with R = 0 on as many edges as possible.

        Of several, it is the first in lexicographic order of R over the file's edges.
        :func:`~neuromap.rollout.sequential.first_most_sequential` also tells whether this is proven.
        """
        values, _ = first_sequential_values(network)
        return cls(network, values, "sequential")

    @classmethod
    def from_streaming_edges(
        cls,
        network: Network,
        edges: Iterable[EdgeKey],
        name: str = "",
        *,
        bridging: Mapping[EdgeKey, int] | None = None,
    ) -> RolloutPattern:
        """R = 1 on the given edges, R = 0 on all others.

        Parameters
        ----------
        network : Network
            The network.
        edges : iterable of (str, str)
            The streaming edges, with or without those that bridge frames.
        name : str
            Name of the pattern in reports.
        bridging : mapping of (str, str) to int, optional
            R of edges that bridge frames.

        Raises
        ------
        PatternError
            If the network has no such edge, or R of an edge is out of range.
        """
        try:
            frames = dict.fromkeys(map(edge_pair, edges), 1)
            frames |= {edge_pair(edge): r for edge, r in (bridging or {}).items()}
        except NetworkError as error:
            raise PatternError(f"pattern {name or 'given by streaming edges'}: {error}") from None
        for u, v in frames.keys() - network.edges.keys():
            raise PatternError(
                f"pattern {name or 'given by streaming edges'}: edge {u} -> {v} does not exist in "
                f"network {network.name}; streaming edges are edges of the network"
            )
        return cls(network, tuple(frames.get(key, 0) for key in network.edges), name)

    @classmethod
    def from_values(
        cls, network: Network, values: Sequence[int] | Mapping[EdgeKey, int], name: str = ""
    ) -> RolloutPattern:
        """R given edge by edge: in the order of ``network.edges``, or as a mapping from edges to their R.

        Raises
        ------
        PatternError
            If an edge is missing or unknown, or a value is not a valid R.
        """
        if isinstance(values, Mapping):
            for label, keys in (
                ("has no value", [k for k in network.edges if k not in values]),
                ("does not exist in the network", [k for k in values if k not in network.edges]),
            ):
                if keys:
                    u, v = keys[0]
                    raise PatternError(
                        f"pattern {name or 'given by values'}: edge {u} -> {v} {label} {network.name}; "
                        "give one value per edge"
                    )
            return cls(network, tuple(values[key] for key in network.edges), name)
        return cls(network, values, name)  # type: ignore[arg-type] # made a tuple there, or refused

    @classmethod
    def named(cls, network: Network, name: str) -> RolloutPattern:
        """Return a pattern by name: ``streaming``, ``sequential`` or one of the network's file.

        The pattern may be invalid.

        Raises
        ------
        PatternError
            If no pattern has this name; the message lists the known names.
        """
        if name == "streaming":
            return cls.streaming(network)
        if name == "sequential":
            return cls.sequential(network)
        if name in network.patterns:
            bridging = network.bridging.get(name)
            return cls.from_streaming_edges(network, network.patterns[name], name, bridging=bridging)
        known = [*RESERVED_PATTERNS, *network.patterns]
        raise PatternError(
            f"pattern {name}: not known in network {network.name}; patterns are {', '.join(known)}"
            f"{did_you_mean(name, known)}"
        )

    @cached_property
    def _by_edge(self) -> dict[EdgeKey, int]:
        return dict(zip(self.network.edges, self.values, strict=True))

    @property
    def _title(self) -> str:
        return self.name or "(unnamed)"

    def __getitem__(self, edge: EdgeKey) -> int:
        try:
            return self._by_edge[edge]
        except (KeyError, TypeError):
            raise PatternError(
                f"pattern {self._title}: {edge!r} is not an edge of network {self.network.name}; "
                "give a pair (source, target)"
            ) from None

    def __iter__(self) -> Iterator[EdgeKey]:
        return iter(self._by_edge)

    def items(self) -> Iterable[tuple[EdgeKey, int]]:
        """Pairs of edge and R, in the order of the file."""
        return self._by_edge.items()

    @cached_property
    def streaming_edges(self) -> tuple[EdgeKey, ...]:
        """The edges with R >= 1, in the order of the file: they pass their value to a later frame."""
        return tuple(key for key, r in self.items() if r)

    @cached_property
    def bridging_edges(self) -> Mapping[EdgeKey, int]:
        """R of the edges with R >= 2, in the order of the file."""
        return ReadOnlyMapping({key: r for key, r in self.items() if r > 1})

    def require_binary(self, what: str) -> None:
        """Raise an error unless R is 0 or 1 on every edge.

        Parameters
        ----------
        what : str
            What requires such a pattern, for the error message.

        Raises
        ------
        PatternError
            If an edge bridges frames.
        """
        for (u, v), r in self.bridging_edges.items():
            raise PatternError(
                f"{what}: pattern {self._title}: edge {u} -> {v} bridges frames, R = {r}; this is for binary patterns, "
                "R of 0 and 1 only; choose one of these"
            )

    @property
    def digits(self) -> str:
        """R of every edge in the order of the file, separated by blanks if any R has several digits."""
        return ("" if max(self.values) < 10 else " ").join(map(str, self.values))

    @cached_property
    def sequential_edges(self) -> tuple[EdgeKey, ...]:
        """The edges with R = 0, in the order of the file."""
        return tuple(key for key, r in self.items() if not r)

    def __repr__(self) -> str:
        # Networks may have 100,000 edges; the first few are enough to tell patterns apart.
        between = "" if max(self.values) < 10 else " "
        shown = between.join(map(str, self.values[:64])) + ("..." if len(self.values) > 64 else "")
        return f"RolloutPattern({self.network.name!r:.40}, R={shown}, name={self.name!r:.40})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RolloutPattern):
            return NotImplemented
        if self.values != other.values:
            return False
        return self.network is other.network or tuple(self.network.edges) == tuple(other.network.edges)

    def __hash__(self) -> int:
        return hash(self.values)

    @cached_property
    def indexed(self) -> IndexedPattern:
        """The pattern with nodes as integers, for algorithms."""
        return IndexedPattern(indexed_network(self.network), self.values)

    @property
    def is_valid(self) -> bool:
        """Whether the sequential edges form no cycle."""
        return not self.cycle

    @cached_property
    def cycle(self) -> tuple[str, ...]:
        """The nodes of a cycle of sequential edges, the first not repeated; empty iff the pattern is valid.

        A sequential self-edge is a cycle of one node. The cycle starts at its first node in file order.
        """
        graph, ordered = self.indexed.graph, set(self.indexed.sequential_order)
        if len(ordered) == graph.n:
            return ()
        # Every other node waits for another one, by the first such edge: a walk against these must repeat a node.
        parents = [-1] * graph.n
        for e in reversed([e for e, r in enumerate(self.values) if not r]):
            if ordered.isdisjoint((graph.sources[e], graph.targets[e])):
                parents[graph.targets[e]] = e
        cycle = [graph.sources[e] for e in parent_cycles(graph, parents)[0]]
        first = cycle.index(min(cycle))
        names = tuple(self.network.nodes)
        return tuple(names[v] for v in cycle[first:] + cycle[:first])

    def require_valid(self) -> None:
        """Raise an error if the pattern is invalid.

        Raises
        ------
        PatternError
            If the pattern is invalid; ``.cycle`` of the error holds the offending cycle.
        """
        if self.cycle:
            shown = self.cycle if len(self.cycle) <= 12 else (*self.cycle[:11], "...")
            way = " -> ".join((*shown, self.cycle[0]))
            raise PatternError(
                f"pattern {self._title}: invalid, its sequential edges form the cycle {way}; "
                "make at least one of these edges streaming",
                self.cycle,
            )

    @cached_property
    def node_order(self) -> tuple[str, ...]:
        """All nodes in topological order of the sequential edges.

        Raises
        ------
        PatternError
            If the pattern is invalid.
        """
        self.require_valid()
        names = tuple(self.network.nodes)
        return tuple(names[v] for v in self.indexed.sequential_order)

    def equally_model_parallel(self, other: RolloutPattern) -> bool:
        """Whether the two patterns are equal on all edges that do not start in an input node.

        Raises
        ------
        PatternError
            If the patterns belong to networks with different edges.
        """
        if self.network is not other.network and set(self.network.edges) != set(other.network.edges):
            raise PatternError(
                f"patterns {self._title} and {other._title}: belong to networks with different edges "
                f"({self.network.name}, {other.network.name}); compare patterns of one network"
            )
        inputs = set(self.network.inputs)
        return all(r == other[key] for key, r in self.items() if key[0] not in inputs)

    def tableau(self, window: int = 1) -> dict[tuple[int, str], int]:
        """Update step at which each node of the window is known: T of PAPER.md.

        T is 0 on frame 0 and on inputs, elsewhere 1 + the maximum over the sources: the longest path that
        ends there and uses no edge inside frame 0.

        Parameters
        ----------
        window : int
            Size W of the rollout window, at least 1; it has W + 1 frames.

        Returns
        -------
        dict of (frame, node) to int
            Update steps, for frames 0 to W.

        Raises
        ------
        PatternError
            If the pattern is invalid or the window smaller than 1.
        """
        check_window(window)
        into: dict[str, list[tuple[str, int]]] = {}
        for (u, v), r in self.items():
            into.setdefault(v, []).append((u, r))
        order = [n for n in self.node_order if n in into]
        found = {(i, n): 0 for i in range(window + 1) for n in self.network.nodes}
        for i in range(1, window + 1):
            for v in order:
                found[i, v] = 1 + max(found[max(i - r, 0), u] for u, r in into[v])
        return found

    @cached_property
    def phases(self) -> Mapping[str, int]:
        """Phase phi(v) = T((1, v)) of every node that is not an input, in update steps.

        Raises
        ------
        PatternError
            If the pattern is invalid.
        """
        self.require_valid()
        inputs, first = set(self.network.inputs), windowed_phases(self.indexed, (1,) * len(self.values))
        return ReadOnlyMapping({n: t for n, t in zip(self.network.nodes, first, strict=True) if n not in inputs})

    @property
    def inference_factor(self) -> int:
        """Inference factor F: the maximum of T over the window of size 1, in update steps.

        Raises
        ------
        PatternError
            If the pattern is invalid.
        """
        return max(self.phases.values())


def _frames(r: object) -> int | None:
    """Convert R of an edge to an integer; ``None`` if it is not a valid R."""
    try:
        number = int(r) if isinstance(r, (float, np.floating)) and r.is_integer() else operator.index(r)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if 0 <= number <= MOST_BRIDGED else None


def check_window(window: int) -> None:
    """Refuse a window size below 1."""
    if isinstance(window, bool) or not hasattr(window, "__index__") or window < 1:
        raise PatternError(f"rollout window: size {window!r}; a window has size 1 or more")


# The first frame of an output that depends on the stimulus.
def first_frame(pattern: RolloutPattern, output: str) -> int:
    """First frame of an output that depends on any input frame, of a window in which frame 0 holds inputs only."""
    # An edge with R = 0 that leaves an input takes frames from 1 on, any other from 0 on.
    roots = pattern.network.roots
    return walks_along(roots, ((u, v, max(1, r) if u in roots else r) for (u, v), r in pattern.items()))[output]
