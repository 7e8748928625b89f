"""Neurons of a NIR graph as a float network whose solution over a tick is that of the discrete equations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

import networkx as nx
import numpy as np

from neuromap.arrays.array_types import Floats
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import InputError, NetworkError, NotSupportedError, prefixed
from neuromap.exchange.nir.contract import Contracted, Neurons, Signal, Term, spread
from neuromap.files.argument_checks import real_number
from neuromap.files.messages import did_you_mean, show
from neuromap.network.edge import MAX_DELAY
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, FloatSynapses

# Steps: schemes that solve NIR's equations, and the conventions of tools that write NIR files.

Scheme: TypeAlias = Literal["exponential", "euler"]
SCHEMES: tuple[str, ...] = get_args(Scheme)


class Convention(NamedTuple):
    """Step and scheme of a discretisation."""

    dt: float  # seconds of a step, in the unit of the file's time constants
    # ``exponential``: every variable solved exactly over a step in which the others stand still, currents before
    # voltages. ``euler``: forward Euler in that order
    scheme: Scheme


# Bounds of a step in seconds.
STEPS = (1e-20, 1e20)
# Used where neither the caller nor the file says otherwise.
DEFAULT = Convention(1e-3, "exponential")
# Steps of the tools' own exporters: ``docs/nir.md`` has their versions and where each stands. Norse 1.1 multiplies its
# time constants by its step of 1 ms once more; sinabs counts them in steps; Rockpool's step is that of its modules.
TOOLS: Mapping[str, Convention] = ReadOnlyMapping(
    {
        "norse": Convention(1e-6, "euler"),
        "rockpool": DEFAULT,
        "sinabs": Convention(1.0, "exponential"),
        "snntorch": Convention(1e-4, "euler"),
        "spikingjelly": Convention(1e-4, "euler"),
    }
)


def step_given(dt: object) -> float:
    """Check the seconds per step."""
    seconds = float(real_number("dt", dt))
    if not STEPS[0] <= seconds <= STEPS[1]:
        raise InputError(f"dt = {seconds:g} s: must be above 0 and finite, {STEPS[0]:g} to {STEPS[1]:g}")
    return seconds


def convention(dt: float | None, scheme: str | None, tool: str | None, found: Convention | None) -> Convention:
    """Choose a convention: what is given, else the tool's, else the file's, else the default."""
    if tool is not None and (not isinstance(tool, str) or tool not in TOOLS):
        near = did_you_mean(tool, TOOLS) if isinstance(tool, str) else ""
        raise InputError(f"tool {show(tool)}: is not known; known are {', '.join(TOOLS)}{near}")
    base = TOOLS[tool] if tool is not None else found or DEFAULT
    if scheme is not None and scheme not in SCHEMES:
        raise InputError(f"scheme {show(scheme)}: is not known; known are {', '.join(SCHEMES)}")
    return Convention(base.dt if dt is None else step_given(dt), base.scheme if scheme is None else scheme)  # type: ignore[arg-type] # looked up


# Neurons of NIR at a step: v := a v + b q + c, q := k q + spikes.


@dataclass(frozen=True, eq=False)
class Discrete(ReadOnly, Value):
    r"""Neurons of a node at a step; arrays of shape (n,), lists one array per current."""

    # In every step q_c := k_c q_c + sum of weights of spikes; v := a v + sum over c of b_c q_c + added; if v >
    # threshold the neuron spikes and v := reset.

    kept: Floats  # a
    added: Floats  # increase per step by leak and constant inputs
    # threshold, reset: in the unit of v
    threshold: Floats
    reset: Floats
    # current_kept, gains: k and b of every current
    current_kept: tuple[Floats, ...]
    gains: tuple[Floats, ...]
    start: tuple[Floats, ...]  # q in the first step without spikes: constant inputs of currents rise from 0
    scheme_error: float  # greatest difference of a and k from those of the other scheme
    filters: tuple[str, ...]  # leaky integrator that feeds each current; empty if none does


def kept(name: str, key: str, tau: Floats, how: Convention) -> tuple[Floats, Floats, float]:
    """Fractions of a variable that a step leaves and takes, and their greatest difference from the other scheme."""
    # what it takes is no difference of what it leaves: beside 1, of a long tau, nothing would be left of it
    exponential, euler = np.exp(-how.dt / tau), 1 - how.dt / tau
    difference = float(np.abs(exponential - euler).max(initial=0))
    if how.scheme == "exponential":
        return exponential, -np.expm1(-how.dt / tau), difference
    euler = np.where(np.abs(euler) < 1e-9, 0.0, euler)  # dt = tau, but for rounding
    if (euler < 0).any():
        raise NotSupportedError(
            f"node {name}: {key} of {tau.min():g} s is shorter than a step of {how.dt:g} s, over which forward Euler "
            "overshoots; take a shorter dt, or the scheme exponential"
        )
    return euler, np.where(euler == 0, 1.0, how.dt / tau), difference


def discretise(name: str, neurons: Neurons, how: Convention) -> Discrete:
    """Discretise the equations of a node."""
    node, signal = neurons.node, neurons.signal
    n = len(signal.constant)
    one, zero = np.ones(n), np.zeros(n)

    def get(key: str, default: float = 0.0) -> Floats:
        return spread(name, node, key, neurons.shape, default)

    filters = tuple(dict.fromkeys(term.filter.name if term.filter else "" for term in signal.terms)) or ("",)
    leak, threshold, reset = zero, get("threshold" if node.kind == "Threshold" else "v_threshold"), get("v_reset")
    if node.kind in ("LIF", "CubaLIF"):
        key = "tau" if node.kind == "LIF" else "tau_mem"
        a, lost, error = kept(name, key, get(key), how)
        gain, leak = lost * get("r"), lost * get("v_leak")
    elif node.kind == "IF":
        a, error, gain = one, 0.0, how.dt * get("r")
    else:
        a, error, gain = zero, 0.0, one
        reset = np.where(threshold > 0, 0.0, threshold - 1)  # it has no state: any value below the threshold will do
    if node.kind == "CubaLIF":
        if filters != ("",):
            raise NotSupportedError(
                f"node {name} (CubaLIF): tau_syn dI/dt = -I + w_in S: S comes through the leaky integrator "
                f"{filters[-1]}, which would be a second current before it; take an LIF there"
            )
        k, taken, difference = kept(name, "tau_syn", get("tau_syn"), how)
        w, error = get("w_in", 1.0), max(error, difference)
        added = lost * (get("v_leak") + get("r") * w * signal.constant)
        start: tuple[Floats, ...] = (-signal.constant * k / taken,)
        return Discrete(a, added, threshold, reset, (k,), (gain * taken * w,), start, error, filters)
    currents, gains = [], []
    for found in filters:
        taus = [t.filter.tau for t in signal.terms if t.filter and t.filter.name == found]
        k, taken, difference = kept(found, "tau", taus[0], how) if taus else (zero, one, 0.0)
        error = max(error, difference)
        currents.append(k)
        gains.append(gain * taken)
    added, start = leak + gain * signal.constant, (zero,) * len(filters)
    return Discrete(a, added, threshold, reset, tuple(currents), tuple(gains), start, error, filters)


def _by(value: Floats, divisor: Floats) -> Floats:
    found: Floats = value / np.where(divisor == 0, np.inf, divisor)
    return found


# Ticks of edges: which step of a source a node reads, where every edge takes a tick or more.
class Ticks(NamedTuple):
    """Phases of nodes and ticks of edges."""

    # ticks by which the spikes of a node come later than in a tool that passes layer after layer within a step
    phases: dict[str, int]
    delays: dict[tuple[str, str], int]  # ticks of every edge, without delays of its own
    cycles: tuple[tuple[str, ...], ...]  # groups of nodes that read each other: edges within one take a tick each


def find_ticks(nodes: Iterable[str], edges: Iterable[tuple[str, str]], *, is_sequential: bool) -> Ticks:
    """Assign ticks to every edge."""
    # Sequential: edges within cycles are streaming and take one tick; all others take as many as make all paths to a
    # node equally long, so that it reads the same step of all its sources, as in tools that pass layer after layer.
    # Streaming: one tick each.
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    if not is_sequential:
        return Ticks(dict.fromkeys(graph, 0), dict.fromkeys(graph.edges, 1), ())
    parts = nx.condensation(graph)
    level: dict[int, int] = {}
    for part in nx.topological_sort(parts):
        level[part] = max((level[before] + 1 for before in parts.predecessors(part)), default=0)
    member: Mapping[str, int] = parts.graph["mapping"]
    phases = {name: level[member[name]] for name in graph}
    delays = {(u, v): phases[v] - phases[u] or 1 for u, v in graph.edges}
    order = {name: k for k, name in enumerate(graph)}
    cycles = [tuple(sorted(parts.nodes[part]["members"], key=order.__getitem__)) for part in parts]
    return Ticks(phases, delays, tuple(cycle for cycle in cycles if len(cycle) > 1))


# Time constant, in ticks, that leaves nothing after a tick: e**-64.
_SHORT = 1 / 64
# Most by which a voltage starts below its reset, in thresholds: deeper starts would coarsen all integers.
_DEEPEST = 8.0
_MOST = 1e100
_CLOSE = 1e-6


class Parts(NamedTuple):
    """A graph with discretised neurons and ticks of edges."""

    graph: Contracted
    neurons: dict[str, Discrete]  # at the step of ``how``
    ticks: Ticks
    how: Convention


def float_network(name: str, parts: Parts, names: dict[str, str], *, has_pulses: bool = False) -> FloatNetwork:
    """Make the float network of a graph."""
    graph, dt = parts.graph, parts.how.dt
    used = {term.source for neurons in graph.neurons.values() for term in neurons.signal.terms}
    inputs = {names[node]: math.prod(shape) for node, shape in graph.inputs.items() if node in used}
    nodes, synapses = {}, []
    for node, neurons in graph.neurons.items():
        with prefixed(f"node {names[node]}: ", NetworkError):
            nodes[names[node]] = _neuron(parts.neurons[node], dt, parts.ticks.phases[node], has_pulses=has_pulses)
        synapses += _synapses(node, neurons.signal, parts, names)
    return FloatNetwork(name, dt, inputs, nodes, tuple(synapses))


def _neuron(found: Discrete, dt: float, phase: int, *, has_pulses: bool) -> FloatNeuron:
    """Make the continuous neuron whose solution over a tick is a discrete one."""
    forgets = found.kept == 0
    tau = _tau(found.kept, dt, _SHORT / 2)
    taus, gains = [], []
    for k, gain in zip(found.current_kept, found.gains, strict=True):
        if has_pulses and not k.any() and not forgets.any():
            taus.append(np.zeros_like(k))
            gains.append(gain / found.kept)
            continue
        taus.append(_tau(k, dt, _SHORT))
        own = FloatNeuron(len(k), found.reset + 1, found.reset, tau=tau, synapse_taus=(taus[-1],))
        gains.append(gain / own.propagators(dt).coupling[0])
    integrates = found.kept == 1
    voltage, currents = _before(found, phase)
    return FloatNeuron(
        size=len(found.kept),
        threshold=found.threshold,
        reset=found.reset,
        rest=_by(found.added, 1 - found.kept),  # of the rounded part that is kept, so that a tick adds the same
        tau=tau,
        drive=np.where(integrates, found.added / dt, 0.0),
        synapse_taus=tuple(taus),
        gains=tuple(gains),
        voltage=voltage,
        currents=currents,
    )


def _tau(kept: Floats, dt: float, short: float) -> Floats:
    inside = (kept > math.exp(-1 / short)) & (kept < 1)
    tau = -dt / np.log(np.where(inside, kept, 0.5))
    found: Floats = np.where(inside, tau, np.where(kept == 1, np.inf, dt * short))
    return found


def _before(found: Discrete, phase: int) -> tuple[Floats, tuple[Floats, ...]]:
    """Find the initial v and currents that, in the ticks that spikes take to arrive here, become those of step 0."""
    v, currents = np.array(found.reset), [np.array(q) for q in found.start]
    low = found.reset - _DEEPEST * (found.threshold - found.reset)
    with np.errstate(over="ignore"):
        for _ in range(phase):
            pairs = zip(currents, found.current_kept, strict=True)
            currents = [np.where(k > 0, q / np.where(k > 0, k, 1.0), 0.0).clip(-_MOST, _MOST) for q, k in pairs]
            added = found.added + sum(b * q for b, q in zip(found.gains, currents, strict=True))
            v = np.where(found.kept > 0, (v - added) / np.where(found.kept > 0, found.kept, 1.0), found.reset)
            v = v.clip(-_MOST, _MOST)
    return np.clip(v, low, found.threshold), tuple(currents)


def late_starts(parts: Parts) -> dict[str, float]:
    """Errors of voltages in step 1 where no start leads to the reset, as fractions of the threshold."""
    # Such neurons, most with constant inputs, would start above their threshold, or deeper than ``_DEEPEST`` below it.
    distances = {}
    for name, found in parts.neurons.items():
        v, currents = _before(found, parts.ticks.phases[name])
        for _ in range(parts.ticks.phases[name]):
            added = found.added + sum(b * q for b, q in zip(found.gains, currents, strict=True))
            v = found.kept * v + added
            v = np.where(v > found.threshold, found.reset, v)
            currents = tuple(k * q for q, k in zip(currents, found.current_kept, strict=True))
        far = found.kept * np.abs(v - found.reset) / np.abs(found.threshold - found.reset)
        distances[name] = float(far.max(initial=0))
    return {name: distance for name, distance in distances.items() if distance > _CLOSE}


def early_spikes(parts: Parts) -> dict[str, int]:
    """Count the neurons of nodes that spike in the ticks before step 1 because they need no input."""
    counts = {
        name: int(((found.kept == 0) & (found.added > found.threshold)).sum())
        for name, found in parts.neurons.items()
        if parts.ticks.phases[name]
    }
    return {name: count for name, count in counts.items() if count}


def _synapses(node: str, signal: Signal, parts: Parts, names: dict[str, str]) -> list[FloatSynapses]:
    found = []
    for term in signal.terms:
        entries = term.matrix.tocoo()
        if not entries.nnz:
            continue
        ticks = parts.ticks.delays[term.source, node] + term_ticks(node, term, parts.how.dt)
        if ticks > MAX_DELAY:
            raise NotSupportedError(
                f"edge {term.source} -> {node}: takes {ticks} ticks of {parts.how.dt:g} s; at most {MAX_DELAY} are "
                "allowed, take a longer dt"
            )
        filter_name = term.filter.name if term.filter else ""
        found.append(
            FloatSynapses(
                names[term.source],
                names[node],
                entries.col.astype(np.int64),
                entries.row.astype(np.int64),
                entries.data,
                (ticks - 1) * parts.how.dt,  # type: ignore[arg-type] # single numbers become arrays
                parts.neurons[node].filters.index(filter_name),
            )
        )
    return found


def term_ticks(node: str, term: Term, dt: float) -> int:
    """Delay of a term itself in ticks, rounded."""
    ticks = term.delay / dt
    if not ticks <= MAX_DELAY:
        raise NotSupportedError(
            f"edge {term.source} -> {node}: has a delay of {term.delay:g} s, which is {ticks:.3g} ticks of {dt:g} s; "
            f"at most {MAX_DELAY} are allowed, take a longer dt"
        )
    return round(ticks)


def delay_error(parts: Parts) -> float:
    """Greatest error of delays in seconds, as they are whole ticks."""
    dt = parts.how.dt
    errors = [
        abs(term_ticks(node, term, dt) * dt - term.delay)
        for node, neurons in parts.graph.neurons.items()
        for term in neurons.signal.terms
    ]
    return max(errors, default=0.0)
