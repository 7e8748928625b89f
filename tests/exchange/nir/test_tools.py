"""Files of other tools' own exporters, against the spikes of those tools' own runs (examples/nir/make_files.py)."""

from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.exchange.nir import TOOLS, from_nir, nir_graph
from neuromap.exchange.nir.contract import contract
from neuromap.exchange.nir.float_network import float_network
from neuromap.exchange.nir.import_nir import distances, float_parts
from neuromap.formats.nir import read_nir
from neuromap.network import Dense
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.quantise.float_steps import float_reference

pytest.importorskip("h5py", reason="pip install 'neuromap-rollouts[nir]'")

FILES = Path(__file__).parents[3] / "examples" / "nir"
EXACT = ("norse", "sinabs", "snntorch", "spikingjelly")
"""Rockpool takes the threshold off where NIR, and its own file, say that v is set to 0."""


class Run:
    """A tool's file and its own run; plain names of nodes, and the steps by which each comes later here."""

    def __init__(self, tool):
        self.path = FILES / f"{tool}.nir"
        self.parts = float_parts(contract(read_nir(self.path)), TOOLS[tool], is_sequential=True)
        graph = self.parts.graph
        self.network = float_network(tool, self.parts, {name: name for name in (*graph.inputs, *graph.neurons)})
        with np.load(self.path.with_suffix(".npz"), allow_pickle=False) as held:
            arrays = dict(held)
        given = arrays.pop("input")
        self.input = {next(iter(self.network.inputs)): given}
        self.late = {name: self.parts.ticks.phases[name] for name in arrays}
        self.own = {name: np.vstack([np.zeros((k, arrays[name].shape[1]), bool), arrays[name]])[: len(given)]
                    for name, k in self.late.items()}  # fmt: skip


@pytest.fixture(scope="module", params=TOOLS)
def run(request):
    return request.param, Run(request.param)


def test_files_are_small(run):
    assert run[1].path.stat().st_size < 60_000


def test_the_equations_give_the_tools_own_spikes_one_by_one(run):
    tool, here = run
    found = float_reference(here.network, here.input, 100)
    assert set(here.own) == set(here.network.nodes)
    for name, own in here.own.items():
        assert own.sum() >= 10
        wrong = int((found[name] != own).sum())
        assert (wrong == 0) == (tool in EXACT), (name, wrong)


def compared(array, report):
    """Spikes of the neurons that a report compares, evenly over the node."""
    return int(array[:, np.unique(np.linspace(0, array.shape[1] - 1, report.neurons).astype(int))].sum())


def furthest(report):
    """Spikes by which counts of trains of this distance differ at most, over 100 steps of a tenth of its time constant.

    The filtered trains differ by f; the counts by the integral of f over the time constant, whose square is at most the
    length times the integral of f squared, which is half the squared distance.
    """
    return report.neurons * report.distance * np.sqrt((10 + 10) / 2)


def test_the_chip_spikes_as_often_as_the_report_says(run):
    """What the import reports of the tool's own input is what the chip does, and the original is the tool's own run."""
    tool, here = run
    found = from_nir(here.path, tool=tool, compare=here.input)
    frames = {name: np.vstack([np.zeros((1, array.shape[1]), bool), array]) for name, array in here.input.items()}
    on_chip = nm.simulate(nm.map_rollout(nm.Rollout(found.network, "streaming"), "loihi1"), frames, engine="numpy")
    assert {report.node for report in found.quantisation.distances} == set(here.own)
    for report in found.quantisation.distances:
        if report.node in found.network.outputs:
            assert compared(on_chip.frames(report.node), report) == report.spikes
        if tool in EXACT:
            assert compared(here.own[report.node], report) == report.original_spikes
        assert abs(report.spikes - report.original_spikes) <= furthest(report)
        assert report.distance < report.of_silence / 2


def test_the_distance_from_a_run_of_rockpool_is_told_too():
    here = Run("rockpool")
    found = from_nir(here.path, tool="rockpool", compare=0)
    for report in distances(here.network, found.network, here.input, here.own):
        assert report.original == "other run"
        assert report.original_spikes == compared(here.own[report.node], report)
        assert abs(report.spikes - report.original_spikes) <= furthest(report)
        assert report.distance < report.of_silence


def written():
    """Integrate-and-fire neurons of whole weights, as SpikingJelly's IFNode computes them."""
    rng = np.random.default_rng(0)
    shapes = {"I": (1, 1, 6), "A": (1, 1, 8), "B": (1, 1, 3)}
    neurons = {"I": None, "A": LeakNeuron(threshold=7, floor=10**6), "B": LeakNeuron(threshold=9, floor=10**6)}
    nodes = {name: Node(name, shape, neuron=neurons[name]) for name, shape in shapes.items()}
    weights = {("I", "A"): rng.integers(-2, 5, (8, 6)), ("A", "B"): rng.integers(-2, 5, (3, 8))}
    edges = {(u, v): Edge(u, v, Dense(shapes[u], shapes[v], weights=w)) for (u, v), w in weights.items()}
    return Network("written", nodes, edges, ("B",))


def test_a_tool_runs_what_we_wrote_with_the_same_spikes(tmp_path):
    """SpikingJelly's own import of written.nir, step by step; its layers pass spikes on within a step."""
    network, path = written(), FILES / "written.nir"
    graph, held = nir_graph(network, dt=1e-4), read_nir(path)
    assert set(graph.edges) == set(held.edges)
    for name, node in graph.nodes.items():
        assert {k: v.tolist() for k, v in node.parameters.items()} == {
            k: v.tolist() for k, v in held.nodes[name].parameters.items()
        }
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as found:
        given, theirs = found["input"], found["B"]
    frames = {"I": np.vstack([np.zeros((1, 6), bool), given])}
    ours = np.asarray(nm.reference(nm.Rollout(from_nir(path).network, "streaming"), frames)["B"])[1:]
    assert theirs.sum() >= 20
    assert np.array_equal(ours[2:], theirs[:-2])
