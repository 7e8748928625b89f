"""An explorer that cannot be wrong: map everything, compare everything. And networks to hold the real one against."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import build_network
from neuromap.rollout.behaviour import equivalent
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.cost.steady_figures import steady_figures
from neuromap.simulation.cost.tick_times import FrameSeconds
from neuromap.simulation.engine.engine_choice import EngineChoice


class Point(NamedTuple):
    """Figures of one pattern in one execution, less is better; times in ticks, or in seconds where these are timed."""

    first: float
    full: float
    reaction: float
    period: float
    cores: int
    energy: float


class Brute(NamedTuple):
    """All points, those of the front, and those of the front of the given class."""

    points: dict[tuple[tuple[int, ...], str], Point | None]
    front: set[Point]
    class_front: set[Point]


def all_valid(net: nm.Network) -> list[nm.RolloutPattern]:
    """Every choice for every edge, less the invalid ones."""
    patterns = [nm.RolloutPattern(net, values) for values in itertools.product((0, 1), repeat=len(net.edges))]
    return [pattern for pattern in patterns if pattern.is_valid]


def beats(a: Point, b: Point, tolerance: float) -> bool:
    """At least as good in everything and better in one figure, where energies within the tolerance are equal."""
    if any(x > y for x, y in zip(a[:5], b[:5], strict=True)) or a.energy > b.energy * (1 + tolerance):
        return False
    return a[:5] != b[:5] or a.energy < b.energy * (1 - tolerance)


def not_beaten(points: set[Point], tolerance: float) -> set[Point]:
    """The set whose points do not beat each other and beat all others, found by taking it apart from the top."""
    front, left = set(), set(points)
    while left:
        top = {p for p in left if not any(beats(q, p, tolerance) for q in left)}
        assert top, "beaten in a circle"
        front |= top
        left = {p for p in left - top if not any(beats(q, p, tolerance) for q in top)}
    return front


def rounded(energy: float | None) -> float:
    """Sums in another order differ in the last bits."""
    return 0.0 if energy is None else float(f"{energy:.11g}")


def _brute_force(
    net: nm.Network,
    chip: ChipSpec,
    given: nm.RolloutPattern,
    *,
    executions: tuple[str, ...] = ("windowed", "pipelined"),
    n_frames: int = 32,
    n_stimuli: int = 1,
    tolerance: float = 0.0,
    **choices: Any,
) -> Brute:
    stimuli, _ = choose_stimuli(net, None, RandomFrames(n_frames), n_stimuli)
    points: dict[tuple[tuple[int, ...], str], Point | None] = {}
    for pattern in all_valid(net):
        for execution in executions:
            try:
                rollout = nm.Rollout(net, pattern, execution)
            except InputError:  # a period of one's own that the pattern's cycles do not allow
                continue
            try:
                mapping = map_with_stages(rollout, chip, MappingOptions(**choices))
            except DoesNotFitError:
                points[pattern.values, execution] = None
                continue
            rollout, program = mapping.rollout, mapping.program  # splitters may have changed the schedule
            step = 1 if rollout.is_tick_level else program.ticks_per_step
            firsts = {o: rollout.first_response(o) * step for o in net.outputs}
            fulls = {o: rollout.full_response(o) * step for o in net.outputs}
            answers = {u: steps * step for u, steps in answers_of(rollout).items()}
            waited = math.ceil(program.period) - 1
            steady = steady_figures(program, stimuli, EngineChoice(threads=1))
            times = min(firsts.values()), max(fulls.values()), max(answers.values()) + waited, program.period
            if chip.is_timed:
                times = walked(program, steady.seconds, firsts, fulls, answers, waited)
            points[pattern.values, execution] = Point(*times, program.n_cores, rounded(steady.joules_per_frame))
    return fronts(net, points, given, tolerance)


def answers_of(rollout: nm.Rollout) -> dict[str, int]:
    """Least sum of delays over walks from every input to any output that it reaches."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, delay) for (u, v), delay in rollout.delays.items())
    found = {u: nx.single_source_dijkstra_path_length(graph, u) for u in rollout.network.inputs}
    reached = {u: [walks[o] for o in rollout.network.outputs if o in walks] for u, walks in found.items()}
    return {u: min(walks) for u, walks in reached.items() if walks}


def walked(
    program: Any,
    ticks: FrameSeconds,
    firsts: dict[str, int],
    fulls: dict[str, int],
    answers: dict[str, int],
    waited: int,
) -> list[float]:
    """Add up ticks one by one: those up to every output's, and for the slowest reaction those from the sample on."""

    def means(of: dict[str, tuple[int, int]]) -> list[float]:
        found = []
        for port in program.nodes:
            if port.name not in of:
                continue
            spans, (begin, end) = [], of[port.name]
            for stimulus in ticks.measured.tolist():
                for frame in range(ticks.first_frame, ticks.first_frame + ticks.n_frames):
                    here = math.floor(port.sample_tick + frame * program.period) - ticks.first_tick
                    span = range(here + 1 + begin, here + 1 + end)
                    spans.append(math.fsum(stimulus[tick % len(stimulus)] for tick in span))
            found.append(math.fsum(spans) / len(spans))
        return found

    period = ticks.measured.sum() / ticks.measured.size * float(program.period)
    first, full = (means({o: (-t, 0) for o, t in of.items()}) for of in (firsts, fulls))
    reaction = means({u: (-waited, t) for u, t in answers.items()})
    return [rounded(min(first)), rounded(max(full)), rounded(max(reaction)), rounded(period)]


def fronts(
    net: nm.Network,
    points: dict[tuple[tuple[int, ...], str], Point | None],
    given: nm.RolloutPattern,
    tolerance: float = 0.0,
) -> Brute:
    """Front of all points, and of those whose patterns compute what the given one does."""
    own = {
        point
        for (values, _), point in points.items()
        if point is not None and equivalent(given, nm.RolloutPattern(net, values)) is not None
    }
    every = {p for p in points.values() if p is not None}
    return Brute(points, not_beaten(every, tolerance), not_beaten(own, tolerance))


@pytest.fixture(scope="session")
def fronts_of() -> Any:
    """``fronts_of(net, points, given) -> Brute``: the same points for another given pattern."""
    return fronts


def _point_of(row: Any) -> Point:
    if row.is_timed:
        return Point(*map(rounded, row.seconds), row.cores, rounded(row.energy_joules))
    return Point(
        row.first_response_ticks,
        row.full_response_ticks,
        row.worst_case_reaction_ticks,
        row.frame_period_ticks,
        row.cores,
        rounded(row.energy_joules),
    )


@pytest.fixture(scope="session")
def brute_force() -> Any:
    """``brute_force(net, chip, given) -> Brute``: every valid pattern in every execution, mapped one by one."""
    return _brute_force


@pytest.fixture(scope="session")
def point_of() -> Any:
    """``point_of(row) -> Point``."""
    return _point_of


def _chip(**changes: Any) -> ChipSpec:
    figures: dict[str, Any] = {
        "name": "tiny", "cores": (16, 16), "chips": (1, 1), "axons": 256, "neurons": 256, "axon_types": 4,
        "weight_bits": 9, "leak_bits": 9, "threshold_bits": 18, "potential_bits": 20,
        "energy": {"static_watts": 1e-3, "synaptic_event_joules": 1e-6},
    }  # fmt: skip
    return ChipSpec(**(figures | changes))


@pytest.fixture(scope="session")
def chip() -> Any:
    """A chip with any figure changed; a synaptic event costs as much as a tick, so that energy tells rows apart."""
    return _chip


@st.composite
def _networks(
    draw: st.DrawFn, *, most_inner: int = 4, most_extra: int = 3, most_edges: int = 7, biased: bool = True
) -> nm.Network:
    """Cycles, skips, self-edges, one or two inputs, any outputs, thresholds that need bias spikes."""
    inputs = [f"I{k}" for k in range(draw(st.integers(1, 2)))]
    inner = [f"H{k}" for k in range(draw(st.integers(1, most_inner)))]
    edges = {(draw(st.sampled_from(inputs + inner[:k])), v): None for k, v in enumerate(inner)}
    edges |= {(u, draw(st.sampled_from(inner))): None for u in inputs}
    pairs = st.tuples(st.sampled_from(inputs + inner), st.sampled_from(inner))
    for pair in draw(st.lists(pairs, max_size=most_extra)):
        if len(edges) < most_edges:
            edges[pair] = None
    size = {n: draw(st.integers(1, 6)) for n in inputs + inner}
    thetas = st.sampled_from([1, 1, 1, 2, 3, 0, 300] if biased else [1, 1, 2, 3])
    nodes: dict[str, Any] = {n: ((1, 1, size[n]), None) for n in inputs}
    nodes |= {n: ((1, 1, size[n]), draw(thetas)) for n in inner}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrices = {(u, v): rng.integers(-1, 3, (size[v], size[u])) for u, v in edges}
    outputs = draw(st.lists(st.sampled_from(inner), unique=True))
    return build_network(nodes, matrices, outputs=outputs)


@pytest.fixture(scope="session")
def networks() -> Any:
    """Strategy of small random networks with weights."""
    return _networks


@pytest.fixture(scope="session")
def slow_path() -> nm.Network:
    """The network of docs/time.md whose long path a longer frame period does not wait for; one neuron per node."""
    one = np.ones((1, 1), int)
    nodes: dict[str, Any] = {"I": ((1, 1, 1), None)} | dict.fromkeys(("A", "B", "O"), ((1, 1, 1), 1))
    return build_network(nodes, {("I", "O"): one, ("I", "A"): one, ("A", "B"): one, ("B", "O"): one})
