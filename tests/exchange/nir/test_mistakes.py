"""Graphs and options that say something impossible get a line; what an import does not do is told."""

import sys
from itertools import pairwise

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError, NeuromapError
from neuromap.exchange.nir import from_nir, nir_graph
from neuromap.exchange.nir.export_nir import to_nir
from neuromap.formats.nir import graph_of

pytest.importorskip("nir", reason="pip install 'neuromap-rollouts[nir]'")

ONE = np.ones(2)


def lif(**changes):
    return {"type": "LIF", "tau": 0.02 * ONE, "r": ONE, "v_leak": 0 * ONE, "v_threshold": 0.5 * ONE} | changes


def graph(edges, **nodes):
    """The chain i -> w -> a -> o, with nodes changed or added; edges are more."""
    ends = {"i": {"type": "Input", "shape": [2]}, "o": {"type": "Output", "shape": [2]}}
    held = {**ends, "w": {"type": "Linear", "weight": np.array([[0.5, 0.25], [0.1, 0.9]])}, "a": lif(), **nodes}
    return graph_of({"type": "NIRGraph", "nodes": held, "edges": [("i", "w"), ("w", "a"), ("a", "o"), *edges]})


@pytest.mark.parametrize(
    ("edges", "nodes", "says"),
    [
        ([("a", "i")], {}, "edge a -> i: leads to an Input"),
        ([], {"w": {"type": "Linear", "weight": np.zeros((0, 2))}, "a": lif(tau=np.zeros(0))}, "broadcast|shape"),
        ([], {"w": {"type": "Linear", "weight": np.zeros((0, 2))}}, r"node w: has values of shape \[0\]"),
        ([], {"a": lif(v_threshold=1e300 * ONE)}, "found 1e.300; needs finite numbers"),
        ([], {"a": lif(tau=1e-320 * ONE)}, "needs numbers above 0, 1e-40"),
        ([], {"a": lif(v_reset=ONE)}, "must lie above the reset"),
        ([("w", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "s4"), ("s4", "s5"), ("s5", "s6"), ("s6", "s7"),
          ("s7", "s8"), ("s8", "a")],
         {f"s{k}": {"type": "Scale", "scale": 1e40 * ONE} for k in range(1, 9)}, "multiply to numbers without end"),
    ],
)  # fmt: skip
def test_impossible_graphs_are_refused_in_one_line(edges, nodes, says):
    with pytest.raises(NeuromapError, match=says) as caught:
        from_nir(graph(edges, **nodes), compare=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        *(({"tool": tool}, "is not known; known are norse") for tool in (3, [], {})),
        *(({"compare": compare}, "compare = ") for compare in ("x", None, 0.5, True, -1)),
        ({"compare": {"i": [[1, 0]]}}, "input i: needs an array"),
        ({"compare": {"i": np.ones((3, 2), bool), "j": np.ones((3, 2), bool)}}, "'j' is not an input node"),
        ({"dt": 1e-200}, "dt = 1e-200 s: must be above 0 and finite"),
    ],
)  # fmt: skip
def test_options_of_another_kind_are_refused_in_one_line(options, says):
    with pytest.raises(InputError, match=says):
        from_nir(graph([]), **options)


def test_spikes_that_readouts_need_leave_the_chip():
    """The remedy of a readout is to compute it on the host from these spikes."""
    li = {"type": "LI", "tau": 0.02 * ONE, "r": ONE, "v_leak": 0 * ONE}
    edges = [("a", "w2"), ("w2", "b"), ("b", "o2"), ("a", "li"), ("li", "o3")]
    more = {"w2": {"type": "Linear", "weight": np.eye(2)}, "li": li}
    more |= {name: {"type": "Output", "shape": [2]} for name in ("o", "o2", "o3")}
    for neurons in (lif(), {"type": "Threshold", "threshold": 0.5 * ONE}):
        whole = {"w": {"type": "Linear", "weight": np.eye(2)}, "a": neurons, "b": neurons}
        found = from_nir(graph([e for e in edges if e != ("a", "o")], **more, **whole), compare=0)
        assert found.network.outputs == ("a", "b")
        assert any(note.about == "li" for note in found.refused)


def test_a_graph_without_inputs_has_nothing_to_compare_on():
    nodes = {"a": lif(v_leak=ONE), "o": {"type": "Output", "shape": [2]}}
    found = from_nir(graph_of({"type": "NIRGraph", "nodes": nodes, "edges": [("a", "o")]}))
    assert found.network.outputs == ("a",)


def deep(bias, depth):
    """Integrate-and-fire neurons in a chain, whose last node hears a constant."""
    nodes, edges = {"n0": {"type": "Input", "shape": [1]}}, []
    for k in range(1, depth + 1):
        affine = {"type": "Affine", "weight": np.array([[0.9]]), "bias": np.array([bias if k == depth else 0.0])}
        neuron = {"type": "IF", "r": np.array([1e3]), "v_threshold": np.array([1.0])}
        nodes |= {f"w{k}": affine, f"n{k}": neuron}
        edges += [(f"n{k - 1}", f"w{k}"), (f"w{k}", f"n{k}")]
    return graph_of({"type": "NIRGraph", "nodes": nodes, "edges": edges})


@pytest.mark.parametrize(("bias", "depth"), [(-0.3, 2), (-0.3, 6), (-0.9, 3), (0.3, 6)])
def test_a_start_that_no_voltage_leads_to_is_told_with_its_error(bias, depth):
    """Spikes of node n come n ticks late: v would fall to 0 from so many times the bias, but begins at 1 at most."""
    notes = [note for note in from_nir(deep(bias, depth), compare=0).approximated if "beside its reset" in note.text]
    wrong = -bias * depth - 1
    assert [note.error for note in notes] == pytest.approx([wrong] * (wrong > 0))


def test_what_comes_back_as_it_was_takes_no_step_and_says_so(tmp_path):
    network = nm.build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})
    to_nir(network, tmp_path / "net.nir")
    assert not from_nir(tmp_path / "net.nir").refused
    (note,) = from_nir(tmp_path / "net.nir", dt=3, tool="sinabs").refused
    assert note.about == "dt, tool"
    assert note.text.startswith("not used")


def test_tables_that_no_text_holds_are_told_as_left_out(tmp_path):
    table = {"I": {"code": "layer", "encoder": np.ones((1, 1, 1, 2), np.float32),
                   "encoder.threshold": np.ones(2, np.float32)}}  # fmt: skip
    plain = nm.build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})
    network = nm.Network("n", plain.nodes, plain.edges, tables={"inputs": table, "training": {"epochs": 2}})
    notes = to_nir(network, tmp_path / "net.nir")
    assert "table inputs" in [note.about for note in notes]
    assert dict(from_nir(nir_graph(network)).network.tables) == {"training": {"epochs": 2}}


@pytest.mark.parametrize("compare", [5, {"i": np.ones((5, 2), bool)}])
def test_without_elephant_trains_are_not_compared_and_a_line_says_so(compare, monkeypatch):
    monkeypatch.setitem(sys.modules, "elephant", None)
    found = from_nir(graph([]), compare=compare)
    (note,) = [note for note in found.refused if note.about == "spike trains"]
    assert "Elephant, which is not installed; pip install 'neuromap-rollouts[distances]'" in note.remedy
    assert not found.quantisation.distances
    assert not [note for note in from_nir(graph([]), compare=0).refused if note.about == "spike trains"]


def test_a_file_remembers_the_chip_that_its_integers_were_made_for(tmp_path):
    made = from_nir(graph([]), chip="loihi1", compare=0).network
    made.save(tmp_path / "net.toml")
    to_nir(nm.load_network(tmp_path / "net.toml"), tmp_path / "net.nir")
    found = from_nir(tmp_path / "net.nir", chip="loihi1")
    assert found.network.tables["made_for"]["chip"] == "loihi1"
    (said,) = [note.text for note in found.kept if note.about == "chip"]
    assert "loihi1" in said
    assert not found.refused
    (note,) = from_nir(tmp_path / "net.nir", chip="loihi2").refused
    assert note.about == "chip"
    assert "not used" in note.text


def lif_of(*shape):
    return {"type": "LIF"} | {key: np.full(shape, value) for key, value in
                              (("tau", 0.02), ("r", 20.0), ("v_leak", 0.0), ("v_threshold", 0.5))}  # fmt: skip


def conv(channels, kernel, **more):
    """A convolution of one channel."""
    numbers = {"weight": np.ones((channels, 1, kernel, kernel)), "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    return {"type": "Conv2d", **numbers, "bias": np.zeros(channels), **more}


def flatten_of(*shape):
    return {"type": "Flatten", "start_dim": 0, "end_dim": -1, "input_type": np.array(shape)}


def chain(source, *nodes, output):
    """An input of a shape, nodes, an output of a shape."""
    ends = {"type": "Input", "shape": np.array(source)}, {"type": "Output", "shape": np.array(output)}
    held = {f"n{k}": node for k, node in enumerate((ends[0], *nodes, ends[1]))}
    return graph_of({"type": "NIRGraph", "nodes": held, "edges": list(pairwise(held))})


def inner(*shape):
    nodes = {"in": {"type": "Input", "shape": np.array(shape)}, "a": lif_of(2, 2, 4),
             "out": {"type": "Output", "shape": np.array((2, 2, 4))}}  # fmt: skip
    return {"type": "NIRGraph", "nodes": nodes, "edges": [("in", "a"), ("a", "out")]}


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        (chain((1, 4, 4), conv(2, 2), lif_of(3, 3, 2), output=(3, 3, 2)), r"n1 -> n2: joins .*\[2, 3, 3\] and \[3, 3"),
        (chain((4, 4, 2), {"type": "Scale", "scale": np.ones((2, 4, 4))}, lif_of(32), output=[32]), "one order"),
        (chain((1, 2, 8), conv(2, 1, input_shape=np.array([4, 4])), lif_of(2, 2, 8), output=[32]), r"and \[1, 4, 4\]"),
        (chain((2, 4, 4), flatten_of(4, 4, 2), lif_of(32), output=[32]), r"n0 -> n1: .*put a Flatten between"),
        (chain((2, 4, 4), flatten_of(2, 4, 5), lif_of(32), output=[32]), "have as many"),
        (chain((2, 4, 4), lif_of(2, 4, 4), output=(4, 4, 2)), r"n1 -> n2: joins"),
        (chain([3], lif_of(3), output=[7]), r"joins values of shape \[3\] and \[7\]; they must have as many"),
        (chain([3], lif_of(3), output=[1]), "have as many"),
        (chain([3], lif_of(1), output=[7]), "have as many"),
        (chain((4, 2, 2), inner(2, 2, 4), output=(2, 2, 4)), r"n0 -> n1.in: joins"),
        (chain((2, 2, 4), inner(2, 2, 4), output=(4, 2, 2)), r"n1.out -> n2: joins"),
        (chain((1, 5, 5), conv(1, 2, stride=2, padding="same"), lif_of(1, 3, 3), output=(1, 3, 3)),
         r'found "same" with a stride of \[2, 2\]'),
        (graph_of({"type": "NIRGraph", "nodes": {"i": {"type": "Input", "shape": [16]}, "g": inner(2, 2, 4)},
                   "edges": [("i", "g"), ("i", "g.in")]}), "edge i -> g.in: is listed twice"),
    ],
)  # fmt: skip
def test_shapes_and_windows_that_contradict_each_other_are_refused(graph, says):
    """Values were joined in the order in which they lie, whatever their axes."""
    with pytest.raises(NeuromapError, match=says) as caught:
        from_nir(graph, compare=0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "graph",
    [
        chain((2, 4, 4), {"type": "Linear", "weight": np.ones((5, 32))}, lif_of(5), output=(1, 5)),
        chain((1, 1, 3), lif_of(3), output=(3, 1)),
        chain([3], lif_of(1), output=[1]),
        chain([16], conv(2, 2, input_shape=np.array([4, 4])), lif_of(18), output=(2, 3, 3)),
        chain((1, 1, 16), conv(2, 2, input_shape=np.array([4, 4])), lif_of(2, 3, 3), output=(2, 3, 3)),
        chain((2, 2, 4), inner(2, 2, 4), output=[16]),
        chain((1, 5, 5), conv(1, 2, padding="same"), lif_of(1, 5, 5), output=(1, 5, 5)),
    ],
)
def test_rows_and_axes_of_one_fit_any_shape_of_as_many_values(graph):
    assert from_nir(graph, compare=0).network.outputs


def with_step(dt):
    held = graph([])
    return graph_of({"type": "NIRGraph", "edges": list(held.edges), "metadata": {"dt": dt}, "nodes": {
        name: {"type": node.kind, **node.parameters} for name, node in held.nodes.items()}})  # fmt: skip


@pytest.mark.parametrize("dt", ["1e-4", "0.1 ms", 0.0, -1e-4, np.nan, [1e-4, 1e-4], {"value": 1e-4}, ["1e-4"], None])
def test_a_step_in_the_metadata_that_is_none_is_refused_unless_another_is_given(dt):
    """It was taken for 1 ms."""
    with pytest.raises(InputError, match=r"metadata: dt: found .*give dt=... \(--dt\) or tool"):
        from_nir(with_step(dt), compare=0)
    for options in ({"dt": 2e-3}, {"tool": "rockpool"}):
        assert from_nir(with_step(dt), compare=0, **options).network
    (note,) = [note for note in from_nir(with_step(2e-3), compare=0).kept if note.about == "step"]
    assert note.text.startswith("a tick is 2 ms")


def test_an_output_that_several_feed_is_told_as_their_sum():
    for neurons in (lif(), {"type": "Threshold", "threshold": 0.5 * ONE}):
        whole = {"w": {"type": "Linear", "weight": np.eye(2)}, "a": neurons, "b": neurons}
        found = from_nir(graph([("w", "b"), ("b", "o")], **whole), compare=0)
        assert set(found.network.outputs) == {"a", "b"}
        (note,) = [note for note in found.refused if note.about == "o"]
        assert note.text.startswith("sum behind the last spikes is left out")
    assert not from_nir(graph([]), compare=0).refused
