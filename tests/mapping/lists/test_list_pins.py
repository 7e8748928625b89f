"""Pins of list cores: a table of cores, cores of a node's own, regions; what does not fit is one line."""

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError
from neuromap.mapping.options.options import Pins
from neuromap.mapping.options.pins_file import load_pins, save_tables
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense


@pytest.fixture(scope="module")
def rollout():
    neuron = CurrentNeuron(threshold=640)
    nodes = {
        "I": Node("I", (1, 1, 3)),
        "A": Node("A", (1, 1, 8), neuron=neuron),
        "O": Node("O", (1, 1, 4), neuron=neuron),
    }
    weights = {
        (u, v): 64 * (1 + np.arange(nodes[v].size * nodes[u].size).reshape(nodes[v].size, -1))
        for u, v in (("I", "A"), ("A", "O"))
    }
    edges = {(u, v): Edge(u, v, Dense(nodes[u].shape, nodes[v].shape, weights=w)) for (u, v), w in weights.items()}
    return nm.Rollout(Network("pinned", nodes, edges), "streaming")


def where(program, node):
    """Core on the board, row by row, of every neuron of a node."""
    position = [port.name for port in program.nodes].index(node)
    core, slot = np.nonzero(program.neuron_node == position)
    x, y = program.coordinates[core].T
    found = np.empty(len(core), int)
    found[program.neuron_index[core, slot]] = y * program.chip.columns + x
    return found.tolist()


def test_a_table_says_where_every_neuron_is(rollout):
    table = {"A": [5, 5, 5, 17, 17, 127, 0, 0], "O": [0, 5, 17, 127]}
    program = nm.map_rollout(rollout, "loihi1", pins=Pins(neurons=table))
    assert {node: where(program, node) for node in table} == table
    assert nm.verify(rollout, program, n_frames=30, threads=1).verified


def test_a_table_goes_through_a_file(rollout, tmp_path):
    save_tables(tmp_path / "cores.toml", {"A": np.arange(8), "O": np.zeros(4, int)})
    pins = load_pins(tmp_path / "cores.toml")
    program = nm.map_rollout(rollout, "loihi1", pins=pins)
    assert where(program, "A") == list(range(8))
    assert where(program, "O") == [0] * 4


def test_a_node_has_cores_of_its_own_in_a_region(rollout):
    program = nm.map_rollout(rollout, "loihi1", pins=Pins(cores={"A": 4}, regions={"A": (3, 2, 4, 3)}))
    cores = where(program, "A")
    assert sorted(set(cores)) == [35, 36, 51, 52]
    assert all(cores.count(core) == 2 for core in cores)
    assert not set(cores) & set(where(program, "O"))


@pytest.mark.parametrize(
    ("pins", "message"),
    [
        ({"neurons": {"A": [0] * 8}, "cores": {"A": 2}}, "pins: A: has both cores.A and neurons.A, which says all"),
        ({"neurons": {"A": [0] * 7}}, "pins: neurons.A: holds 7 numbers; the node has 8 neurons, give one for each"),
        ({"neurons": {"A": [0] * 7 + [128]}}, "pins: neurons.A: neuron 7 is in core 128; loihi1 has 0 to 127"),
        ({"neurons": {"I": [0] * 3}}, "pins: neurons.I: is an input"),
        ({"neurons": {"A": [0] * 8}, "regions": {"A": (1, 1, 2, 2)}}, r"core 0 lies at \[0, 0\], outside of regions.A"),
        ({"regions": {"A": (1, 1, 2, 2)}}, "pins: regions.A: .* pin its cores too"),
        (
            {"tiles": {"A": (1, 1, 2)}},
            "tiles are pinned, which the synapse-list cores of loihi1 have not; .* cores, reg",
        ),
    ],
)
def test_pins_that_do_not_fit_are_one_line(rollout, pins, message):
    with pytest.raises(InputError, match=message) as refused:
        nm.map_rollout(rollout, "loihi1", pins=Pins(**pins))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"neurons": 7}, "the pins put 8 neurons into core 3, one of tiny has 7"),
        ({"synapse_memory_bits": 750}, "the pins put 792 bits of synapses into a core, one of tiny has 750"),
    ],
)
def test_a_core_that_holds_too_much_is_named(rollout, list_chip, figures, message):
    with pytest.raises(DoesNotFitError, match=message):
        nm.map_rollout(rollout, list_chip(**figures), pins=Pins(neurons={"A": [3] * 8}))


def test_an_objective_does_not_move_what_is_pinned(rollout):
    with pytest.raises(InputError, match="objective = tick: moves neurons, which pins keep in place"):
        nm.map_rollout(rollout, "loihi1", pins=Pins(neurons={"A": [3] * 8}), objective="tick")


@pytest.mark.parametrize("option", [{"packing": False}, {"splitters": "never"}, {"partitioner": "overlap"}])
def test_options_of_crossbars_are_not_taken_in_silence(rollout, option):
    (name,) = option
    with pytest.raises(InputError, match=f"{name} = .*: is about crossbar cores, and chip loihi1 has synapse-list"):
        nm.map_rollout(rollout, "loihi1", **option)
