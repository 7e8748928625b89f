"""``Rollout``: a network, a pattern and an execution, and the times that follow from them.

All times are in update steps, or in ticks if edges have latencies (``docs/time.md``). Frame i of node v is known at
time (i - 1) P + phi(v), with P the frame period and phi the phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Never, TypeVar

from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, largest_gap, tick_of_frame, whole
from neuromap.errors import InputError, NetworkError, PatternError
from neuromap.files.argument_checks import mapping_given, needs, whole_number
from neuromap.files.messages import counted, did_you_mean
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.indexed_pattern import IndexedPattern, longest_paths, shortest_walks, windowed_phases
from neuromap.rollout.pattern import RolloutPattern, first_frame
from neuromap.rollout.schedule.execution import BEST, chosen_period
from neuromap.rollout.schedule.node_times import edge_latencies, indexed_cycle_ratio, kept_latencies, pipelined_period
from neuromap.rollout.schedule.phases import FrameShifts, least_mean_period, pipelined_phases, sample_late

# User-given phases: replace the computed ones, refused if an edge would get less delay than it needs.


_FARTHEST = 10**9
"""Greatest absolute value of a user-given phase, so that ticks stay within 64 bits."""


def require_delays(
    network: Network, pattern: IndexedPattern, latencies: Sequence[int], period: Time, phases: Sequence[Time]
) -> None:
    """Refuse phases that give an edge less than the delay it asks for, or a delay that is not a whole number."""
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


_T = TypeVar("_T")


@dataclass(frozen=True, eq=False, init=False)
class Rollout(Card):
    """A network rolled out over time.

    Parameters
    ----------
    network : Network
        The network.
    pattern : RolloutPattern or str
        A valid pattern of this network; or its name: ``"streaming"``, ``"sequential"`` or one of the network's file.
    execution : {"windowed", "pipelined", "pipelined:P", "pipelined:best"}
        *Windowed*: windows of size 1 one after the other, as in Fischer, Köhler, Pfeil 2018. *Pipelined*:
        frames follow each other at equal intervals, as closely as the cycles of the network allow; with a number P,
        every P update steps, or as closely as latencies allow if they ask for more; with ``best``, as closely on
        average as fixed delays allow, at unequal intervals if necessary (``docs/time.md``).
    latencies : mapping of (str, str) to int, optional
        Makes the schedule *tick-level*: its unit of time is a tick, and every edge carries its value for at
        least its latency c(e) >= 1 in ticks (1 for edges not named). Without latencies the unit is an update
        step and every edge asks for one.
    least_period : int
        Lower bound on the frame period: update steps or ticks for which some node is busy with a frame.

    Attributes
    ----------
    network, pattern, execution
        As given; the pattern as a value.
    is_tick_level : bool
        Whether latencies were given, so that all times are ticks instead of update steps.

    Raises
    ------
    PatternError
        If the pattern is invalid (the message names the cycle) or unknown, or belongs to another network.
    InputError
        If the execution is unknown or its period too short for the cycles of the network, an edge with a latency is
        unknown, a latency is no integer or out of range, or ``least_period`` is below 1.

    Examples
    --------
    >>> net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
    >>> r = Rollout(net, "sequential")
    >>> r.frame_period, r.first_response("O"), r.full_response("O")
    (2, 2, 2)
    >>> ticks = r.with_latencies({("A", "O"): 3})
    >>> ticks.is_tick_level, ticks.frame_period, dict(ticks.delays)
    (True, 4, {('I', 'A'): 1, ('A', 'O'): 3, ('I', 'O'): 4})
    """

    network: Network = field(repr=False)
    pattern: RolloutPattern
    execution: str
    is_tick_level: bool
    least_period: int = field(repr=False)
    _latencies: tuple[int, ...] = field(repr=False)
    _own_phases: tuple[Time, ...] | None = field(repr=False)

    def __init__(
        self,
        network: Network,
        pattern: RolloutPattern | str | None = None,
        execution: str = "windowed",
        latencies: Mapping[EdgeKey, int] | None = None,
        least_period: int = 1,
        _own_phases: tuple[Time, ...] | None = None,
        **kept: Never,
    ) -> None:
        needs("Rollout", network, Network)
        if kept and latencies is None:
            latencies = kept_latencies(network, **kept)
        period = chosen_period(execution)
        if pattern is None:
            names = ", ".join(["streaming", "sequential", *network.patterns])
            raise PatternError(
                f"Rollout: no pattern is given; give one of network {network.name}: {names}, or your own"
            )
        if isinstance(pattern, str):
            pattern = RolloutPattern.named(network, pattern)
        needs("Rollout: pattern", pattern, RolloutPattern, PatternError)
        if pattern.network is not network and tuple(pattern.network.edges) != tuple(network.edges):
            raise PatternError(
                f"pattern {pattern.name or '(unnamed)'}: its network {pattern.network.name} has other edges than "
                f"network {network.name}; make the pattern from the same network"
            )
        if list(pattern.network.nodes) != list(network.nodes):
            pattern = RolloutPattern(network, pattern.values, pattern.name)  # so that both number the nodes alike
        pattern.require_valid()
        if network.is_spiking and set(pattern.values) != {1}:
            edge, r = next(pair for pair in pattern.items() if pair[1] != 1)
            raise PatternError(
                f"pattern {pattern.name or '(unnamed)'}: edge {' -> '.join(edge)} "
                f"{'bridges frames' if r else 'is sequential'}, but nodes of network {network.name} are spiking, where "
                "every spike takes a tick or more; choose streaming"
            )
        if network.is_spiking and period not in (None, 1):
            raise InputError(
                f"execution {execution}: network {network.name} is spiking, so a frame is a tick and its frame "
                "period 1; choose windowed"
            )
        object.__setattr__(self, "network", network)
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "execution", execution)
        object.__setattr__(self, "is_tick_level", latencies is not None)
        object.__setattr__(self, "least_period", whole_number("Rollout: least_period", least_period))
        if self.least_period < 1:
            raise InputError(f"Rollout: least_period = {least_period}: must be 1 or more; leave it out for 1")
        object.__setattr__(self, "_latencies", edge_latencies(network, latencies))
        if period is not None and not self.is_tick_level and period < (least := pipelined_period(self.cycle_ratio)):
            raise InputError(
                f"execution {execution}: network {network.name} under pattern {pattern.name or '(unnamed)'} needs a "
                f"frame period of {counted(least, 'update step')} for its cycles, {least - period} more; ask "
                f"for pipelined:{least}"
            )
        object.__setattr__(self, "_own_phases", _own_phases)
        if _own_phases is not None:
            require_delays(network, self._indexed, self._latencies, self.frame_period, _own_phases)

    def _facts(self) -> dict[str, object]:
        unit = "tick" if self.is_tick_level else "update step"
        return {
            "network": self.network.name,
            "pattern": self.pattern.name,
            "execution": self.execution,
            "frame period": counted(self.frame_period, unit),
            **{f"first response of {o}": counted(self.first_response(o), unit) for o in self.network.outputs},
        }

    def with_latencies(self, latencies: Mapping[EdgeKey, int], least_period: int = 1) -> Rollout:
        """Schedule the same network, pattern and execution in ticks.

        Parameters
        ----------
        latencies : mapping of (str, str) to int
            Latency c(e) >= 1 in ticks; 1 for edges not named. Latencies of this rollout are not kept.
        least_period : int
            Ticks for which some node is busy with a frame.

        Returns
        -------
        Rollout
            A tick-level rollout.

        Raises
        ------
        InputError
            If an edge is unknown, a latency is no integer or out of range, or ``least_period`` is below 1.
        """
        return Rollout(self.network, self.pattern, self.execution, latencies, least_period)

    def with_phases(self, phases: Mapping[str, Time]) -> Rollout:
        """Change the phases of some nodes; all else stays, and responses follow from the new delays.

        Parameters
        ----------
        phases : mapping of str to int or Fraction
            Update step or tick at which frame 1 of a node is known; nodes not named keep theirs. Rollouts made from
            the new one by :meth:`with_latencies` compute their own phases again.

        Returns
        -------
        Rollout
            One with the same frame period.

        Raises
        ------
        InputError
            If a node is unknown, a phase is not a number, or an edge would get less delay than it asks for, or a
            delay that is not a whole number.

        Examples
        --------
        >>> net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "B"), ("B", "C"), ("C", "O")])
        >>> r = Rollout(net, "sequential", "pipelined")
        >>> r.delays["A", "O"], r.with_phases({"A": 2}).delays["A", "O"]
        (2, 1)
        """
        mapping_given("phases", phases, "{'H1': 2}")
        nodes = self.network.nodes
        checked: dict[str, Time] = {}
        for name, phase in phases.items():
            if name not in nodes:
                hint = did_you_mean(str(name), list(nodes))
                raise InputError(
                    f"phases: {name!r:.60}: is not a node of network {self.network.name}; name its nodes{hint}"
                )
            # fractions, as at unequal intervals, are allowed
            exact = whole(phase) if isinstance(phase, Fraction) else whole_number(f"phases: {name}", phase)
            if not -_FARTHEST <= exact <= _FARTHEST:
                raise InputError(f"phases: {name}: found {exact}; allowed are {-_FARTHEST} to {_FARTHEST}")
            checked[name] = exact
        return replace(self, _own_phases=tuple(checked.get(name, self.phases[name]) for name in nodes))

    @cached_property
    def latencies(self) -> Mapping[EdgeKey, int]:
        """Least delay that every edge asks for: c(e) in ticks, or 1 in update steps."""
        return ReadOnlyMapping(dict(zip(self.network.edges, self._latencies, strict=True)))

    @cached_property
    def _indexed(self) -> IndexedPattern:
        return self._delayed(0)

    def _delayed(self, which: int) -> IndexedPattern:
        """With the least (0) or the greatest (1) delay of every edge."""
        indexed = self.pattern.indexed
        if not self.network.is_spiking:
            return indexed
        return IndexedPattern(indexed.graph, tuple(edge.delays[which] for edge in self.network.edges.values()))

    @cached_property
    def cycle_ratio(self) -> Fraction | None:
        """Exact maximum cycle ratio: latencies over streaming edges; ``None`` without cycles."""
        return indexed_cycle_ratio(self._indexed, self._latencies)

    @cached_property
    def frame_period(self) -> Time:
        """P: update steps, or ticks, between two frames of a node; a fraction is a mean over unequal intervals."""
        if self.execution == "windowed":
            return max(*self._known, self.least_period)
        if self.execution == BEST:
            return least_mean_period(self.cycle_ratio, FrameShifts(self._indexed).streams, self.least_period)
        return max(pipelined_period(self.cycle_ratio), chosen_period(self.execution) or 1, self.least_period)

    @cached_property
    def _known(self) -> list[int]:
        """Windowed execution: time inside a frame at which each node is known."""
        return windowed_phases(self._indexed, self._latencies)

    @property
    def largest_gap(self) -> int:
        """Greatest number of update steps or ticks between two frames of a node: P, rounded up."""
        return largest_gap(self.frame_period)

    @cached_property
    def _phases(self) -> list[Time]:
        indexed, period = self._indexed, self.frame_period
        if self.network.is_spiking:
            return [1] * indexed.graph.n  # all nodes compute in every tick, and delays are those of the edges
        if self._own_phases is not None:
            return list(self._own_phases)
        windowed = self.execution == "windowed"
        phases: list[Time] = [*self._known] if windowed else pipelined_phases(indexed, self._latencies, period)
        sample_late(indexed, self._latencies, period, phases)
        return phases

    @cached_property
    def phases(self) -> Mapping[str, Time]:
        """Update step or tick at which frame 1 of each node is known (sampled, for inputs); may be negative.

        If P is a fraction, phases may be fractions too: frame i of v is known at floor(phi(v) + (i - 1) P).
        """
        return ReadOnlyMapping(dict(zip(self.network.nodes, self._phases, strict=True)))

    @cached_property
    def delays(self) -> Mapping[EdgeKey, int]:
        """Time for which every edge carries its value: d = phi(v) - phi(u) + R P, at least its latency."""
        graph, phases, period = self._indexed.graph, self._phases, self.frame_period
        steps = (
            int(phases[v] - phases[u] + r * period)
            for u, v, r in zip(graph.sources, graph.targets, self._indexed.values, strict=True)
        )
        return ReadOnlyMapping(dict(zip(self.network.edges, steps, strict=True)))

    @cached_property
    def first_responses(self) -> Mapping[str, int]:
        """First response of every output, in update steps or ticks."""
        return self._of_outputs(self._first_steps(self._onsets))

    @cached_property
    def full_responses(self) -> Mapping[str, FullResponse]:
        """Full response of every output, in update steps or ticks, and whether it is exact."""
        known, q = self._known_parts, self.frame_period.denominator
        bounds = longest_paths(
            self._delayed(1), self._onsets, self.frame_period.numerator
        )  # upper ones, and paths found
        steps = {v: [(known[v] + sums[v]) // q for sums in bounds] for v in self._outputs.values()}
        return self._of_outputs({v: FullResponse(most, most == found) for v, (most, found) in steps.items()})

    def first_response(self, output: str) -> int:
        """Time from stimulus onset to the first output frame that depends on it.

        The least sum of delays over all inputs and all walks from them to the output; each input has its own
        onset, its sampling step.

        Raises
        ------
        InputError
            If ``output`` is not an output of the network.
        """
        return self.first_responses[self._known_output(output)]

    def first_inputs(self, output: str) -> tuple[str, ...]:
        """Find the inputs that the output answers first: those with a walk that takes the first response.

        Parameters
        ----------
        output : str
            The output.

        Returns
        -------
        tuple of str
            In the network's order; one or more.

        Raises
        ------
        InputError
            If ``output`` is not an output of the network.
        """
        first = self.first_response(output)
        return tuple(source for source, steps in self.responses_of_inputs.items() if steps.get(output) == first)

    @cached_property
    def responses_of_inputs(self) -> Mapping[str, Mapping[str, int]]:
        """First response of every output that an input reaches, input by input, in update steps or ticks."""
        nodes = tuple(self.network.nodes)
        each = {nodes[u]: self._first_steps({u: onset}) for u, onset in self._onsets.items()}
        return ReadOnlyMapping({name: self._of_outputs(steps) for name, steps in each.items()})

    @cached_property
    def _known_parts(self) -> list[int]:
        """Phases of all nodes, in parts of a step."""
        found: list[int] = in_parts(self._phases, self.frame_period).tolist()
        return found

    @property
    def _onsets(self) -> dict[int, int]:
        """Start values of paths: minus the sampling step of every input, in parts of a step."""
        return {u: -self._known_parts[u] for u in self._indexed.graph.inputs}

    def _first_steps(self, onsets: Mapping[int, int]) -> dict[int, int]:
        """Time from the given onsets to the first dependent frame, for every node that they reach."""
        graph, values, p = self._indexed.graph, self._indexed.values, self.frame_period.numerator
        least = shortest_walks(onsets, lambda u: ((graph.targets[e], p * values[e]) for e in graph.outgoing[u]))
        return {v: (self._known_parts[v] + parts) // self.frame_period.denominator for v, parts in least.items()}

    def _of_outputs(self, of_nodes: Mapping[int, _T]) -> Mapping[str, _T]:
        return ReadOnlyMapping({name: of_nodes[v] for name, v in self._outputs.items() if v in of_nodes})

    @cached_property
    def answers(self) -> Mapping[str, int]:
        """First response of the first output that depends on an input, for every input that reaches an output."""
        return ReadOnlyMapping({u: min(steps.values()) for u, steps in self.responses_of_inputs.items() if steps})

    def full_response(self, output: str) -> int:
        """Time from stimulus onset to the first output that the longest path has reached.

        The greatest sum of delays over all inputs and all paths that visit no node twice; an upper bound
        where :meth:`full_response_is_exact` is false.

        Raises
        ------
        InputError
            If ``output`` is not an output of the network.
        """
        return self.full_responses[self._known_output(output)].steps

    def full_response_is_exact(self, output: str) -> bool:
        """Whether the search for the longest path was completed; otherwise the full response is an upper bound.

        Raises
        ------
        InputError
            If ``output`` is not an output of the network.
        """
        return self.full_responses[self._known_output(output)].is_exact

    def slowest_response(self, output: str | None = None, source: str | None = None) -> int:
        """First response to the input that is answered last; :meth:`first_response` is to the one answered first.

        Parameters
        ----------
        output : str, optional
            The output; by default, for every input, the output that answers it first (:attr:`answers`).
        source : str, optional
            An input, to return the response to it instead.

        Returns
        -------
        int
            Update steps or ticks. Inputs that do not reach the output are ignored.

        Raises
        ------
        InputError
            If there is no such output or input, or no path between them.
        """
        found = self.answers
        if output is not None:
            self._known_output(output)
            found = {u: steps[output] for u, steps in self.responses_of_inputs.items() if output in steps}
        if source is None:
            return max(found.values())
        if source not in found:
            where = "an output" if output is None else f"output {output}"
            fault = f"does not reach {where}" if source in self.network.inputs else "is not an input"
            raise InputError(
                f"input {source}: {fault} of network {self.network.name}; choose one of {', '.join(found)}"
            )
        return found[source]

    def worst_case_reaction(self, output: str | None = None, ticks_per_step: int = 1, source: str | None = None) -> int:
        """Time from an event that just missed a sample to the first output that depends on it.

        With several inputs, the event is at the one answered last; :meth:`best_input_reaction` takes the first.

        In ticks of the finished schedule: first response plus the largest gap between frames (the frame period, at
        equal intervals) minus one tick, the last in which the event could still come too late. For events at any
        moment, also between ticks, the supremum is first response plus that gap; it is not attained.

        Parameters
        ----------
        output : str, optional
            The output; by default whichever answers the event first.
        ticks_per_step : int
            Ticks per unit of the schedule. The default gives the reaction in that unit, for a unit of one tick.
        source : str, optional
            The input of the event; by default the worst of those that reach the output.

        Returns
        -------
        int
            Ticks.

        Raises
        ------
        InputError
            If there is no such output or input, or no path between them.

        Examples
        --------
        >>> net = Network.from_edges([("I1", "O"), ("I2", "A"), ("A", "B"), ("B", "O")])
        >>> r = Rollout(net, "streaming")
        >>> r.worst_case_reaction("O"), r.worst_case_reaction("O", source="I1"), r.best_input_reaction("O")
        (3, 1, 1)
        """
        return self._after_a_gap(self.slowest_response(output, source), ticks_per_step)

    def best_input_reaction(self, output: str, ticks_per_step: int = 1) -> int:
        """As :meth:`worst_case_reaction`, for an event at the best input, one of :meth:`first_inputs`."""
        return self._after_a_gap(self.first_response(output), ticks_per_step)

    def _after_a_gap(self, response: int, ticks_per_step: int) -> int:
        return response * ticks_per_step + largest_gap(self.frame_period * ticks_per_step) - 1

    def sampling_frequency(self, step_seconds: float) -> float:
        """Input frames per second (on average), at ``step_seconds`` per update step or tick."""
        return 1.0 / (self.frame_period * step_seconds)

    def sample_ticks(self, output: str, n_frames: int, ticks_per_step: int = 1) -> tuple[int, ...]:
        """Ticks at which the frames of the input are sampled, counted from stimulus onset.

        One frame of the input is sampled every frame period. The onset, from which all responses are counted, is the
        sampling of the first frame that an answer starts from: frame 0 if the quickest walk to the output leaves the
        input over an edge that bridges frames, else frame 1. A frame 0 before the onset has a negative tick.

        Parameters
        ----------
        output : str
            The output whose response starts at the onset.
        n_frames : int
            Number of frames of the input, including frame 0.
        ticks_per_step : int
            Ticks per unit of the schedule; with the default, times are in that unit.

        Returns
        -------
        tuple of int, length n_frames

        Raises
        ------
        InputError
            If ``output`` is not an output of the network.
        NetworkError
            If the network has several inputs, each with an onset of its own.

        Examples
        --------
        >>> net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
        >>> Rollout(net, "streaming").sample_ticks("O", 4), Rollout(net, "sequential").sample_ticks("O", 4)
        ((0, 1, 2, 3), (-2, 0, 2, 4))
        """
        if len(self.network.inputs) > 1:
            raise NetworkError(
                f"network {self.network.name}: has the inputs {', '.join(self.network.inputs)}, each with an onset of "
                "its own; sample times are those of a network with one input"
            )
        response, source = self.first_response(output), self.network.inputs[0]
        start, period = self.phases[source] * ticks_per_step, self.frame_period * ticks_per_step
        onset = 0
        if not self.network.is_spiking:
            streaming = (response - self.phases[output] + self.phases[source]) / Fraction(self.frame_period)
            onset = first_frame(self.pattern, output) - int(streaming)
        ticks = [tick_of_frame(start, period, frame - 1) for frame in range(max(n_frames, onset + 1))]
        return tuple(tick - ticks[onset] for tick in ticks[:n_frames])

    @cached_property
    def _outputs(self) -> Mapping[str, int]:
        """Outputs with their node indices; the network of the pattern may have other outputs."""
        number = {name: v for v, name in enumerate(self.network.nodes)}
        return {name: number[name] for name in self.network.outputs}

    def _known_output(self, output: str) -> str:
        if output not in self._outputs:
            raise InputError(
                f"output {output}: is not an output of network {self.network.name}; "
                f"outputs are {', '.join(self.network.outputs)}"
            )
        return output


# First and full response of output nodes; definitions in ``docs/time.md``.
#
# Times are in the schedule's unit: update steps, or ticks if edges have latencies. Neither search depends on it:
# latencies are part of the phases.
#
# Along a path the delays add up to phi(output) - phi(input) + P times the streaming edges on it. The sampling step of
# every input is its own onset, so each input starts at -phi(input); inputs that do not reach an output are ignored.
# All sums are in parts of a step (``arrays/times.py``), so that they are integers at unequal intervals too; responses
# are whole numbers, as delays are.


@dataclass(frozen=True)
class FullResponse:
    """Full response of one output."""

    # update steps (ticks of a tick-level schedule) from stimulus onset to the first output that the longest path has
    # reached, or an upper bound
    steps: int
    is_exact: bool  # false if ``steps`` is an upper bound
