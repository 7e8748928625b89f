"""Placement of a Nengo network on chip and host, with reasons, decided before anything is built."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import nengo
import networkx as nx
import numpy as np
from nengo import Ensemble, Network
from nengo.base import ObjView
from nengo.connection import LearningRule
from nengo.ensemble import Neurons
from nengo.neurons import LIF, SpikingRectifiedLinear
from nengo.params import BoolParam
from nengo.transforms import Dense, NoTransform, Sparse
from nengo.utils.builder import find_all_io, full_transform, remove_passthrough_nodes
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.backends.nengo.crossbar_plan import CODE_SIZE, ChipNeuron
from neuromap.cores.synapse_list.structure import SynapseLists
from neuromap.errors import NotSupportedError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.render.value import Card

Where = Literal["chip", "host"]
# Probeable attributes of ensembles on the chip and of their neurons.
_PROBED = ("output", "spikes", "rates", "voltage", "decoded_output", "scaled_encoders")
# Most time constants of an ensemble's links: each may take two currents, besides those of the bias and the host.
_MOST_TAUS = 7
# Most connections that replace those out of a node: 64 ensembles to 64 others, all to all.
_MOST_LINKS = 4096


@dataclass(frozen=True)
class Placed(Card):
    """Where an object of the network runs."""

    object: Any  # an ensemble, node or connection
    where: Where  # "chip" or "host"
    why: str  # the reason it is not on the chip; empty if it is
    name: str  # path: labels of the enclosing networks and its own

    def _facts(self) -> dict[str, object]:
        return {"object": self.name, "where": self.where, "why": self.why}


@dataclass(frozen=True, eq=False)
class Placement(Card):
    """Where all objects of a network run."""

    # ensembles, then nodes, then connections, in the order of the network; connections via passthrough nodes between
    # ensembles on the chip are replaced by connections that bypass these nodes
    places: Mapping[Any, Placed]
    origins: Mapping[Any, Any]  # for bypass connections: the original connection whose decoders they have
    replaced: frozenset[Any]  # original connections not computed, because others bypass their node

    def __iter__(self) -> Iterator[Placed]:
        return iter(self.places.values())

    def _facts(self) -> dict[str, object]:
        kinds = {"ensembles": nengo.Ensemble, "nodes": nengo.Node, "connections": nengo.Connection}
        return {
            f"{name} on the {where}": sum(p.where == where and isinstance(p.object, kind) for p in self)
            for name, kind in kinds.items()
            for where in ("chip", "host")
        }

    def is_on_chip(self, thing: Any) -> bool:
        """Return whether an object runs on the chip; objects outside the network run on the host."""
        return thing in self.places and self.places[thing].where == "chip"

    def name(self, thing: Any) -> str:
        """Return the path of an object; objects outside the network have Nengo's name."""
        return self.places[thing].name if thing in self.places else str(thing)

    @property
    def connections(self) -> tuple[Any, ...]:
        """Connections to compute, on the chip or the host."""
        return tuple(p.object for p in self if isinstance(p.object, nengo.Connection))

    @property
    def ensembles(self) -> tuple[Any, ...]:
        """Ensembles on the chip."""
        return tuple(p.object for p in self if p.where == "chip" and isinstance(p.object, nengo.Ensemble))

    @property
    def boundary(self) -> tuple[Any, ...]:
        """Connections between host and chip: those on the host with an end on the chip."""
        links = [p.object for p in self if p.where == "host" and isinstance(p.object, nengo.Connection)]
        return tuple(c for c in links if any(map(self.is_on_chip, (owner(c.pre_obj), owner(c.post_obj)))))


def place_network(network: nengo.Network, dt: float, chip: ChipSpec) -> Placement:
    """Decide which objects of a network run on the chip."""
    # Ensembles run on the chip unless something prevents it, and so do connections between two of them. Dependencies
    # within a step matter too: the chip computes a step at once, so if a path without a synapse leads from the chip via
    # the host back to the chip, the ensemble at its end is moved to the host.
    reasons: dict[Any, str] = {}
    names = _paths(network)
    probed = {probe.obj for probe in network.all_probes}

    def move(ensemble: Any, reason: str) -> None:
        if asked_place(network, ensemble):
            raise NotSupportedError(
                f"ensemble {names[ensemble]}: on_chip = True, but {reason}; change that, or leave on_chip at None to "
                "run it on the host"
            )
        reasons[ensemble] = reason

    for ensemble in network.all_ensembles:
        reason = _against(network, names, ensemble, dt, chip)
        if reason:
            move(ensemble, reason)
    connections, origins = _past_nodes(network, probed, {e for e in network.all_ensembles if e not in reasons})
    mine = [e for e in network.all_ensembles if e not in reasons]
    while mine and _demanded_cores(mine, connections, dt, chip) > 0.8 * chip.n_usable_cores:
        move(mine.pop(), f"the ensembles before it fill the {chip.n_usable_cores} cores of {chip.name}")
    while True:
        links = {c: _against_ends(c, names, reasons) or _against_link(c, probed, dt, chip) for c in connections}
        if chip.kind.computes(CurrentNeuron):
            _refuse_more_taus(links)
        late = _within_a_step(links, reasons)
        if late is None:
            break
        move(late, "its input of a step needs what the chip computes in that step; no synapse lies between")
    whys = {e: reasons.get(e, "") for e in network.all_ensembles}
    whys |= dict.fromkeys(network.all_nodes, "nodes run on the host")
    whys |= links
    places = {x: Placed(x, "host" if why else "chip", why, _name(x, names)) for x, why in whys.items()}
    return Placement(
        ReadOnlyMapping(places), ReadOnlyMapping(origins), frozenset(network.all_connections) - links.keys()
    )


def _paths(network: nengo.Network) -> dict[Any, str]:
    """Return paths of labels for ensembles and nodes; objects without a unique label get their index in their list."""
    names: dict[Any, str] = {}
    for word in ("ensembles", "nodes", "networks"):
        things = getattr(network, word)
        labels = [thing.label for thing in things]
        for i, thing in enumerate(things):
            is_clear = thing.label and labels.count(thing.label) == 1
            names[thing] = thing.label if is_clear else f"{thing.label or word}[{i}]"
    for part in network.networks:
        names |= {thing: f"{names[part]}/{name}" for thing, name in _paths(part).items()}
    return names


def _name(thing: Any, names: Mapping[Any, str]) -> str:
    """Return the name of an object, its neurons, a slice of it, a connection or a learning rule."""
    if isinstance(thing, nengo.Connection):
        computes = re.search(r" computing '.*'(?=>$)", str(thing))
        ends = f"{_name(thing.pre, names)} -> {_name(thing.post, names)}"
        return str(thing.label or ends + (computes[0] if computes else ""))
    if isinstance(thing, ObjView):
        return _name(thing.obj, names) + str(thing).removeprefix(str(thing.obj))
    if isinstance(thing, Neurons):
        return f"{_name(thing.ensemble, names)}.neurons"
    if isinstance(thing, LearningRule):
        return f"learning of {_name(thing.connection, names)}"
    return names.get(thing, str(thing))


def _past_nodes(network: nengo.Network, probed: set[Any], chip: set[Any]) -> tuple[list[Any], dict[Any, Any]]:
    """Bypass passthrough nodes between ensembles on the chip, which the host would run."""
    # Returns the connections to compute, and the original connection of each new one. Probes and connections that
    # cannot bypass such a node still read it on the host.
    connections = network.all_connections
    inputs, outputs = find_all_io(connections)
    nodes = {n for n in network.all_nodes if n.output is None}
    graph: nx.DiGraph[Any] = nx.DiGraph(
        [(c.pre_obj, c.post_obj) for c in connections if {c.pre_obj, c.post_obj} <= nodes]
    )
    graph.add_nodes_from(nodes)
    cycles = [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
    graph.remove_nodes_from({*nx.nodes_with_selfloops(graph)}.union(*cycles))
    order = list(nx.topological_sort(graph))
    matrices = {c: _matrix_of(c, probed) for n in order for c in (*inputs[n], *outputs[n])}

    # Forward from the chip: which parts of a node's value each outside connection contributes, and whether a filter is
    # on the path; two filters in a row are not one.
    made: dict[Any, NDArray[np.bool_]] = {}
    filtered: set[Any] = set()
    passing: set[Any] = set()
    for node in order:
        mine = inputs[node]
        before = {c.pre_obj for c in mine if c in passing}
        if any(matrices[c] is None for c in mine) or not (before or any(owner(c.pre_obj) in chip for c in mine)):
            continue
        parts = [matrices[c] @ made[c.pre_obj] if c in passing else matrices[c].any(axis=1)[:, None] for c in mine]
        made[node] = np.hstack(parts)
        if before & filtered or any(c.synapse is not None for c in mine):
            filtered.add(node)
        outs = [c for c in outputs[node] if matrices[c] is not None and (c.synapse is None or node not in filtered)]
        if sum(np.count_nonzero((matrices[c] @ made[node]).any(axis=0)) for c in outs) <= _MOST_LINKS:
            passing.update(outs)

    # Backward from the chip: connections that lead there, and those that the host still reads.
    led: set[Any] = set()
    gone: set[Any] = set()
    for node in reversed([n for n in order if n in made]):
        led |= {
            c
            for c in outputs[node]
            if c in passing and (owner(c.post_obj) in chip or not led.isdisjoint(outputs[c.post_obj]))
        }
        gone |= {c for c in led.intersection(outputs[node]) if c.post_obj not in made}
        if node not in probed and outputs[node] and gone.issuperset(outputs[node]):
            gone.update(inputs[node])

    origins: dict[Any, Any] = {}

    def lead(before: Any, after: Any) -> Any:
        # Nengo's own version loses the decoders' points and solver, and the slice that a function reads
        transform = full_transform(after, allow_scalars=False) @ full_transform(
            before, slice_pre=False, allow_scalars=False
        )
        rows = np.flatnonzero(transform.any(axis=1))
        if not len(rows):
            return None
        new = nengo.Connection(
            before.pre,
            after.post_obj if len(rows) == len(transform) else after.post_obj[rows.tolist()],
            synapse=after.synapse if before.synapse is None else before.synapse,
            function=before.function,
            transform=transform[rows],
            solver=before.solver,
            learning_rule_type=None,
            eval_points=before.eval_points,
            scale_eval_points=before.scale_eval_points,
            add_to_container=False,
        )
        origins[new] = origins.get(before, before)
        return new

    arrived: dict[Any, list[Any]] = {}
    for node in order:
        if outs := [c for c in outputs[node] if c in led]:
            ins = [*(c for c in inputs[node] if c not in led), *arrived.pop(node, [])]
            for new in remove_passthrough_nodes([node], [*ins, *outs], lead)[1]:
                arrived.setdefault(new.post_obj, []).append(new)
    new = [c for led_to in arrived.values() for c in led_to]
    return [*(c for c in connections if c not in gone), *new], {c: origins[c] for c in new}


def _matrix_of(connection: Any, probed: set[Any]) -> Any:
    """Return which values of its source, or function, each target value depends on; None if a connection does more."""
    transform = connection.transform
    is_known = isinstance(transform, NoTransform) or (
        type(transform) is Dense and isinstance(transform.init, np.ndarray)
    )
    if not is_known or connection.learning_rule_type is not None or connection in probed or _adds_up(connection):
        return None
    return full_transform(connection, allow_scalars=False) != 0


def _adds_up(connection: Any) -> bool:
    """Return whether repeated indices put several values into one entry of the matrix; full_transform keeps one."""
    if connection.function is None:
        columns = np.arange(connection.pre_obj.size_out)[connection.pre_slice].tolist()
    else:
        columns = list(range(connection.size_mid))
    rows = np.arange(connection.post_obj.size_in)[connection.post_slice].tolist()
    if isinstance(connection.transform, Dense) and connection.transform.init.ndim == 2:
        return len({*rows}) < len(rows) or len({*columns}) < len(columns)
    return len({*zip(rows, columns, strict=True)}) < len(rows)


def _against(network: nengo.Network, names: Mapping[Any, str], ensemble: Any, dt: float, chip: ChipSpec) -> str:
    """Return why an ensemble cannot run on the chip, regardless of the others; empty if it can."""
    if asked_place(network, ensemble) is False:
        return "on_chip = False"
    if chip.kind.computes(CurrentNeuron):
        reason = why_not(ensemble.neuron_type, dt, chip.lists)
    elif chip.kind.computes(LeakNeuron):
        reason = against_ensemble(network, ensemble, chip)
    else:
        reason = f"neurons of {chip.name} forget from tick to tick"
    if reason:
        return reason
    for probe in network.all_probes:
        if probe.obj in (ensemble, ensemble.neurons) and probe.attr not in _PROBED:
            return f"its {probe.attr} is probed, which the chip does not tell"
    for connection in network.all_connections:
        if connection.post_obj is ensemble and "encoders" in _modified(connection):
            return f"{_name(connection, names)} learns its encoders"
    return ""


def _modified(connection: Any) -> set[str]:
    rules = connection.learning_rule_type
    if rules is None:
        return set()
    rules = rules.values() if isinstance(rules, dict) else rules if isinstance(rules, Iterable) else [rules]
    return {str(rule.modifies) for rule in rules}


def _demanded_cores(ensembles: list[Any], connections: list[Any], dt: float, chip: ChipSpec) -> float:
    """Estimate the cores that ensembles and the links among them take."""
    here = set(ensembles)
    links = [c for c in connections if c.learning_rule_type is None and {owner(c.pre_obj), owner(c.post_obj)} <= here]
    if not chip.kind.computes(CurrentNeuron):
        return demanded_cores(ensembles, links, dt, chip)
    feeds = sum(e.n_neurons * max(1, e.dimensions) * CODE_SIZE for e in ensembles)
    pairs = sum(owner(c.pre_obj).n_neurons * owner(c.post_obj).n_neurons for c in links)
    neurons = sum(3 * e.n_neurons for e in ensembles)
    bits = (feeds + pairs) * chip.lists.synapse_bits
    return float(bits / chip.lists.synapse_memory_bits + neurons / chip.neurons)


def _against_ends(connection: Any, names: Mapping[Any, str], reasons: Mapping[Any, str]) -> str:
    """Return which end keeps a connection off the chip; empty if none."""
    for name, end in (("source", owner(connection.pre_obj)), ("target", owner(connection.post_obj))):
        if not isinstance(end, nengo.Ensemble):
            return f"its {name} runs on the host"
        if end not in names:
            return f"its {name}, {end}, is not in the network"
        if end in reasons:
            return f"its {name}, {names[end]}, runs on the host"
    return ""


def _against_link(connection: Any, probed: set[Any], dt: float, chip: ChipSpec) -> str:
    """Return why a connection between ensembles on the chip cannot run there; empty if it can."""
    if connection.learning_rule_type is not None:
        return "it learns"
    if not isinstance(connection.transform, (Dense, NoTransform, Sparse)):
        return f"its transform is {type(connection.transform).__name__}; the chip has Dense and Sparse"
    if isinstance(connection.transform, Sparse) and isinstance(connection.pre_obj, nengo.Ensemble):
        return "its transform is Sparse, and it is decoded"
    if connection in probed:
        return "it is probed"
    synapse = connection.synapse
    if synapse is not None and type(synapse) is not nengo.Lowpass:
        return f"its synapse is {type(synapse).__name__}; the chip has Lowpass"
    if synapse is not None and not (synapse.analog and synapse.method == "zoh"):
        found = f"method = {synapse.method!r}" if synapse.analog else "analog = False"
        return f"its synapse has {found}; the chip has Lowpass with analog = True and method = 'zoh'"
    if not chip.kind.computes(CurrentNeuron):
        return against_link(connection, dt, chip)
    if synapse is not None and synapse.tau > dt * 2**chip.lists.decay_bits:  # the least decay forgets faster
        return f"its synapse of {synapse.tau:g} s is too long for decays of {chip.lists.decay_bits} bits"
    return ""


def _refuse_more_taus(links: dict[Any, str]) -> None:
    """Route connections via the host if their target has no currents left for their time constants."""
    taus: dict[Any, set[float]] = {}
    for connection in [c for c, why in links.items() if not why]:
        mine, tau = taus.setdefault(owner(connection.post_obj), set()), tau_of(connection)
        if tau not in mine and len(mine) == _MOST_TAUS:
            links[connection] = f"its target has {_MOST_TAUS} other time constants on the chip"
        mine |= set() if links[connection] else {tau}


def owner(thing: Any) -> Any:
    """Return the ensemble of neurons; other objects unchanged."""
    return thing.ensemble if isinstance(thing, Neurons) else thing


def tau_of(connection: Any) -> float:
    """Return the time constant of a connection's Lowpass in seconds; 0 without a synapse."""
    return 0.0 if connection.synapse is None else float(connection.synapse.tau)


def _within_a_step(links: Mapping[Any, str], reasons: Mapping[Any, str]) -> Any:
    """Find an ensemble on the chip at the end of a path without a synapse from the chip via the host."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    for connection, why in links.items():
        if not why or connection.synapse is not None or isinstance(connection.post_obj, LearningRule):
            continue
        u, v = owner(connection.pre_obj), owner(connection.post_obj)
        source = ("sends", u) if _is_on_chip(u, reasons) else u
        graph.add_edge(source, ("asks", v) if _is_on_chip(v, reasons) else v)
    senders = [n for n in graph if isinstance(n, tuple) and n[0] == "sends"]
    for sender in senders:
        for found in nx.descendants(graph, sender):
            if isinstance(found, tuple) and found[0] == "asks":
                return found[1]
    return None


def _is_on_chip(thing: Any, reasons: Mapping[Any, str]) -> bool:
    return isinstance(thing, nengo.Ensemble) and thing not in reasons


# The user's choice of what runs on the chip: ``on_chip`` in the configuration of a network.
def add_params(network: Network) -> None:
    """Add ``on_chip`` to the configuration of a network, to choose what runs on the chip."""
    # Afterwards ``network.config[ensemble].on_chip`` is None (on the chip if it can be), True (an error if it cannot
    # be) or False (on the host); ``network.config[nengo.Ensemble].on_chip`` is the default of all ensembles.
    config = network.config[Ensemble]
    if "on_chip" not in config._extra_params:
        config.set_param("on_chip", BoolParam("on_chip", default=None, optional=True))


def asked_place(network: Network, ensemble: Ensemble) -> bool | None:
    """Return ``on_chip`` of an ensemble; None if not set."""
    if "on_chip" not in network.config[Ensemble]._extra_params:
        return None
    asked: Any = network.config[ensemble].on_chip
    return None if asked is None else bool(asked)


# Objects of a Nengo network that a chip with crossbar cores supports, with reasons if not.
# Longest time constant in ticks: the latest line takes a few times as long, in relays of at most 15.
LONGEST_TICKS = 1000
# Approximate lines per link and dimension.
_LINES = 40


def against_ensemble(network: nengo.Network, ensemble: Any, chip: ChipSpec) -> str:
    """Return why an ensemble cannot run on the chip; empty if it can."""
    if type(ensemble.neuron_type) is LIF:
        return (
            f"its neurons leak, tau_rc dv/dt = J - v; a neuron of {chip.name} adds a constant leak, V := V + leak; "
            "loihi1 computes it, or take nengo.SpikingRectifiedLinear()"
        )
    if type(ensemble.neuron_type) is not SpikingRectifiedLinear:
        return f"its neurons are {type(ensemble.neuron_type).__name__}; {chip.name} computes SpikingRectifiedLinear"
    if ensemble.dimensions > chip.axon_types:
        return (
            f"it has {ensemble.dimensions} dimensions; a dimension takes an axon type, of which {chip.name} has "
            f"{chip.axon_types}"
        )
    if ensemble.noise is not None or any(feeds_neurons(c, ensemble) for c in network.all_connections):
        return f"its neurons are fed one by one; axons of {chip.name} carry values, from which all its neurons are fed"
    return ""


def feeds_neurons(connection: Any, ensemble: Any) -> bool:
    """Return whether a connection adds to J of an ensemble's neurons directly, bypassing their encoders."""
    post = connection.post_obj
    if isinstance(post, Neurons):
        return bool(post.ensemble is ensemble)
    return post is ensemble and isinstance(connection.pre_obj, nengo.Ensemble) and bool(connection.solver.weights)


def against_link(connection: Any, dt: float, chip: ChipSpec) -> str:
    """Return why a connection between ensembles on the chip cannot run there; empty if it can."""
    if isinstance(connection.pre_obj, Neurons):
        return f"it comes from neurons, not decoded; lines of {chip.name} carry values"
    synapse = connection.synapse
    if synapse is not None and synapse.tau > LONGEST_TICKS * dt:
        return f"its synapse of {synapse.tau:g} s takes more than {LONGEST_TICKS} ticks of delays"
    return ""


def demanded_cores(ensembles: list[Any], links: list[Any], dt: float, chip: ChipSpec) -> float:
    """Estimate the crossbar cores that ensembles and the links among them take."""
    neurons = float(sum(e.n_neurons for e in ensembles))
    for link in links:
        tau = getattr(link.synapse, "tau", 0.0)
        size = getattr(link.pre_obj, "n_neurons", link.pre_obj.size_out)
        lines = _LINES * (1 + size / 200)
        neurons += link.size_out * (4 * size + lines * (2 + tau / dt / chip.delay[1]))
    return neurons / chip.neurons


# Nengo neuron types that a chip with synapse lists computes, and their conversion.


# Range below 0, in thresholds, that is as good as unbounded.
_DEEPEST = 64.0
# Most relative error of a leak rounded to whole units, by which rates are off too; 5 units and more keep within it.
_LEAK_ERROR = 0.1


def why_not(neuron: Any, dt: float, lists: SynapseLists) -> str:
    """Return why the chip cannot compute a type of neurons; empty if it can."""
    if type(neuron) not in (LIF, SpikingRectifiedLinear):
        return f"its neurons are {type(neuron).__name__}; the chip computes LIF and SpikingRectifiedLinear"
    most = lists.greatest_refractory
    if type(neuron) is LIF and (rest := _rest(neuron, dt)) > most:
        return f"tau_ref = {neuron.tau_ref:g} s takes {rest} ticks; the chip's neurons rest for {most}"
    if type(neuron) is LIF:
        leak = 2**lists.decay_bits * -np.expm1(-dt / neuron.tau_rc)
        if abs(np.rint(leak) - leak) > _LEAK_ERROR * leak:
            return (
                f"tau_rc = {neuron.tau_rc:g} s is too long for decays of {lists.decay_bits} bits at dt = {dt:g} s: a "
                f"leak of {leak:.2f} units would be {np.rint(leak):.0f}"
            )
    state = neuron.initial_state or {}
    if "refractory_time" in state:
        return "initial_state sets refractory_time; neurons of the chip do not rest at the beginning"
    return ""


def as_chip_neuron(neuron: Any, dt: float, decay_bits: int, ticks_per_step: int) -> ChipNeuron:
    """Convert a type of neurons, LIF or SpikingRectifiedLinear, for the chip."""
    # ticks_per_step: ticks of a step, in which Nengo's LIF spikes at most once
    amplitude = float(neuron.amplitude)
    if not isinstance(neuron, LIF):
        return ChipNeuron(float(dt), 0, decay_bits, 0, amplitude, 1.0)
    decay = int(np.rint(-np.expm1(-dt / neuron.tau_rc) * 2**decay_bits))
    rest = max(_rest(neuron, dt), ticks_per_step - 1)
    return ChipNeuron(float(dt), decay, decay_bits, rest, amplitude, float(np.clip(-neuron.min_voltage, 1, _DEEPEST)))


def _rest(neuron: Any, dt: float) -> int:
    """Return the refractory ticks: tau_ref minus half a tick, the mean wait of a spike for the end of its tick."""
    return max(0, int(np.ceil(neuron.tau_ref / dt - 1 - 1e-9)))
