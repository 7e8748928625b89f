"""Programs by hand, small chips, and random networks: what the tests of several rooms share."""

import dataclasses
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.cores.synapse_list.structure import SynapseLists
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.network.build import build_network
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern

INPUTS = ("I", "J")


def network_of_any_names(nodes, edges, *, patterns, name):
    """As ``build_network``, which takes only names that files can hold; a ``Network`` takes all that can be printed."""
    stand_in = {n: f"n{k}" for k, n in enumerate(nodes)}
    plain = build_network(
        {stand_in[n]: spec for n, spec in nodes.items()}, {(stand_in[u], stand_in[v]): w for (u, v), w in edges.items()}
    )
    return Network(
        name,
        {n: replace(plain.nodes[m], name=n) for n, m in stand_in.items()},
        {(u, v): replace(plain.edges[stand_in[u], stand_in[v]], source=u, target=v) for u, v in edges},
        patterns=patterns,
    )


ONES = st.just(1)


def _chip(**changes):
    fields = {
        "name": "tiny", "cores": (8, 8), "chips": (1, 1), "axons": 64, "neurons": 64, "axon_types": 4,
        "weight_bits": 9, "leak_bits": 9, "threshold_bits": 18, "potential_bits": 20, "delay": (1, 3),
        "tick_seconds": 1e-3,
    }  # fmt: skip
    return ChipSpec(**{**fields, **changes})


def _list_chip(**changes):
    """Loihi's core, small: 6 neurons, so that small networks take several cores. Figures of its lists by name too."""
    lists = {
        "output_axons": 64, "synapse_memory_bits": 8192, "synapse_bits": 25, "list_bits": 64, "mixed_sign_step": 2,
    }  # fmt: skip
    fields = {
        "name": "tiny-lists", "axon_types": 0, "axons": 48, "neurons": 6, "leak_bits": 0, "threshold_bits": 17,
        "potential_bits": 24, "targets_per_neuron": 48, "delay": (1, 63),
    }  # fmt: skip
    known = {field.name for field in dataclasses.fields(SynapseLists)}
    lists |= {name: changes.pop(name) for name in list(changes) if name in known}
    return _chip(**{**fields, "core_figures": SynapseLists(**lists), **changes})


def _program(nodes, neurons, axons, synapses, host, period=1, ticks_per_step=1, n_cores=1):
    """A program from lists.

    nodes: (name, size, kind, sample tick); neurons: (core, neuron) -> (node, index, is relay, target or None),
    target (core, axon, delay); axons: number per core; synapses: (core, axon, neuron, weight), the weight being
    that of axon type 0; host: (node, index, core, axon, arrival, first frame).
    """
    size = max(n for _, n in neurons) + 1
    shape = (n_cores, size)

    def table(dtype, fill=0):
        return np.full(shape, fill, dtype=dtype)

    label, index, relay = table(np.int32, -1), table(np.int32), table(np.bool_)
    target_core, target_axon, delay = table(np.int32, -1), table(np.int32), table(np.uint8)
    outputs = []
    for place, (node, k, is_relay, target) in neurons.items():
        label[place], index[place], relay[place] = node, k, is_relay
        if target is not None:
            target_core[place], target_axon[place], delay[place] = target
        elif node >= 0 and nodes[node][2] == "output":
            outputs.append((node, k, *place))
    bits = np.zeros((n_cores, axons, size), dtype=np.uint8)
    weights = np.zeros((*shape, 4), dtype=np.int16)
    for core, axon, neuron, weight in synapses:
        bits[core, axon, neuron] = 1
        weights[core, neuron, 0] = weight
    # the frame neuron of docs/mapping.md with threshold 1
    table_of_neurons = NeuronTable(
        weights=weights, leak=table(np.int16, -1), leak_reversal=table(np.bool_), threshold=table(np.int32),
        negative_threshold=table(np.int32), reset=table(np.int32), reset_mode=table(np.uint8),
        saturate_negative=table(np.bool_), potential=table(np.int32),
    )  # fmt: skip
    rows = np.array(host, dtype=np.int64).reshape(-1, 6).T
    read = np.array(outputs, dtype=np.int32).reshape(-1, 4).T
    return Program(
        name="by hand",
        chip=_chip(axons=axons, neurons=size, delay=(1, 15)),
        coordinates=np.array([(c % 8, c // 8) for c in range(n_cores)], dtype=np.int32),
        axon_types=np.zeros((n_cores, axons), dtype=np.uint8),
        crossbar=np.packbits(bits, axis=-1, bitorder="little"),
        neurons=table_of_neurons,
        target_core=target_core,
        target_axon=target_axon,
        delay=delay,
        neuron_node=label,
        neuron_index=index,
        is_relay=relay,
        nodes=tuple(NodePort(*node) for node in nodes),
        period=period,
        ticks_per_step=ticks_per_step,
        host=HostTable(
            node=rows[0].astype(np.int32), index=rows[1].astype(np.int32), core=rows[2].astype(np.int32),
            axon=rows[3].astype(np.int32), arrival=rows[4], first_frame=rows[5].astype(np.int8),
        ),
        outputs=OutputTable(*(column.copy() for column in read)),
    )  # fmt: skip


@pytest.fixture(scope="session")
def chip():
    return _chip


@pytest.fixture(scope="session")
def list_chip():
    """A small chip with synapse lists; figures by name to change some."""
    return _list_chip


@pytest.fixture(scope="session")
def by_hand():
    return _program


@st.composite
def _networks(draw, weights=ONES, thresholds=ONES, largest=3, self_edges_only=False):
    """Networks of up to 6 nodes, with cycles, self-edges, skips, one or two inputs."""
    inputs = INPUTS[: draw(st.integers(1, 2))]
    inner = [f"N{k}" for k in range(draw(st.integers(1, 4)))]
    edges = []
    for k, v in enumerate(inner):  # every node is reached: from an input or an earlier node
        edges.append((draw(st.sampled_from([*inputs, *inner[:k]])), v))
    for u in inputs:
        if all(a != u for a, _ in edges):
            edges.append((u, draw(st.sampled_from(inner))))
    for a, u in enumerate(inner):
        for b, v in enumerate(inner):
            if (a <= b or not self_edges_only) and (u, v) not in edges and draw(st.integers(0, 3)) == 0:
                edges.append((u, v))
    sizes = {name: draw(st.integers(1, largest)) for name in [*inputs, *inner]}
    nodes = {name: (sizes[name], None) for name in inputs}
    for name in inner:
        nodes[name] = (sizes[name], np.array([draw(thresholds) for _ in range(sizes[name])]))
    matrices = {(u, v): np.array([[draw(weights) for _ in range(sizes[u])] for _ in range(sizes[v])]) for u, v in edges}
    ends = draw(st.sampled_from([(), (inner[-1],), tuple(inner[-2:])]))
    return build_network(nodes, matrices, outputs=ends, name="random")


@st.composite
def _patterns(draw, network):
    """Valid patterns: edges against a random order of the nodes stream, of the others some."""
    order = draw(st.permutations(list(network.nodes)))
    place = {name: k for k, name in enumerate(order)}
    values = [1 if place[u] >= place[v] else draw(st.integers(0, 1)) for u, v in network.edges]
    pattern = RolloutPattern(network, tuple(values), "drawn")
    assert pattern.is_valid
    return pattern


@pytest.fixture(scope="session")
def networks():
    return _networks


@pytest.fixture(scope="session")
def patterns():
    return _patterns


@pytest.fixture(scope="session")
def has_long_cycle():
    def check(network, without=()):
        graph = nx.DiGraph([(u, v) for u, v in network.edges if u != v])
        graph.remove_nodes_from(without)
        return not nx.is_directed_acyclic_graph(graph)

    return check
