"""Integer networks go to NIR and come back as they were; NIR's own package reads what is written."""

import numpy as np
import pytest
from graded_networks import graded_network
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.exchange.nir import from_nir, nir_graph, to_nir
from neuromap.formats.nir import read_nir
from neuromap.network import Conv, Dense, EdgeTerm, Identity, Pool
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron

nir = pytest.importorskip("nir", reason="pip install 'neuromap-rollouts[nir]'")


def leak_neuron(rng, size):
    leak = rng.integers(-300, 300, size) if rng.random() < 0.5 else int(rng.integers(-1, 2))
    threshold, floor = rng.integers(1, 2**18, size), rng.integers(0, 30, size)
    return LeakNeuron(
        threshold=threshold, leak=leak, floor=floor, potential=rng.integers(-floor, threshold),
        subtract=int(rng.integers(2)),
    )  # fmt: skip


def current_neuron(rng, size):
    bits = int(rng.choice([4, 12, 16]))
    decays = [0, 1, 3, 1 << bits, (1 << bits) - 1]
    subtract = int(rng.integers(2))
    options = {"subtract": subtract, "reset": 0 if subtract else rng.integers(-7, 8, size)}
    options |= {"floor": rng.choice([rng.integers(7, 2**31 - 1), 2**31 - 1], size), "sum_wraps": int(rng.integers(2))}
    options |= {"accumulator_bits": int(rng.integers(2, 33))}
    return CurrentNeuron(
        threshold=rng.integers(0, 2**31, size),
        current_decay=rng.choice(decays, size) if rng.random() < 0.7 else 1 << bits,
        voltage_decay=rng.choice(decays, size),
        bias=rng.integers(-(2**31), 2**31, size) if rng.random() < 0.7 else 0,
        refractory=rng.choice([0, 255], size) if rng.random() < 0.5 else 0,
        current=rng.integers(-8, 8, size),
        voltage=rng.integers(-7, 8, size),
        more_current_decays=tuple(rng.choice(decays, size) for _ in range(rng.choice([0, 0, 1, 3]))),
        decay_bits=bits,
        current_bits=int(rng.integers(4, 33)),
        voltage_bits=int(rng.integers(4, 33)),
        **(options if rng.random() < 0.5 else {"floor": 7} if rng.random() < 0.5 else {}),
    )


SIDES = ((4, 6, 2), (1, 1, 5), (4, 6, 2), (2, 3, 2))


@st.composite
def networks(draw, kinds=("leak", "current", "frame")):
    """Cycles and self-edges, spatial nodes and rows, all transforms; several terms and delays where nodes spike."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(kinds))
    names = ["I", "J", *(f"N.{k}" for k in range(rng.integers(1, 5)))]
    shapes = {name: SIDES[rng.integers(4)] for name in names}
    pairs = {(str(rng.choice(["I", "J", *names[2:k]])), v) for k, v in enumerate(names) if k > 1}
    pairs |= {(u, v) for u in names for v in names[2:] if rng.random() < 0.3} | {("I", names[2]), ("J", names[2])}
    nodes = {name: Node(name, shapes[name]) for name in names}
    for name in names[2:]:
        size = nodes[name].size
        make = {"leak": leak_neuron, "current": current_neuron}.get(kind)
        threshold = None if make else rng.integers(-(2**20), 2**20, size)
        nodes[name] = Node(name, shapes[name], threshold, make(rng, size) if make else None)

    def transform(u, v):
        source, target = shapes[u], shapes[v]
        options = [Dense(source, target, weights=rng.integers(-(2**20), 2**20, (nodes[v].size, nodes[u].size)))]
        if source == target:
            groups = int(rng.integers(1, 3)) if source[2] == 2 else 1
            kernel = (3, int(rng.choice([2, 3])))
            weights = rng.integers(-9, 9, (*kernel, source[2] // groups, target[2]))
            options += [Identity(source, target), Conv(source, target, kernel, groups=groups, weights=weights)]
        if (source, target) == (SIDES[0], SIDES[3]):
            weights = rng.integers(-9, 9, (2, 2, 2, 2))
            options.append(Conv(source, target, (2, 2), (2, 2), "valid", weights=weights))
            options.append(Conv(source, target, (3, 3), (2, 2), weights=rng.integers(-9, 9, (3, 3, 2, 2))))
            if kind != "frame":
                options += [Pool(source, target, (2, 2)), Pool(source, target, (3, 3), (2, 2), "same")]
        return options[rng.integers(len(options))]

    def current(v):
        return int(rng.integers(nodes[v].neuron.n_currents))

    edges = {}
    for u, v in sorted(pairs):
        if kind == "frame":
            edges[u, v] = Edge(u, v, transform(u, v))
        else:
            more = [
                EdgeTerm(transform(u, v), int(rng.integers(1, 60)), current(v)) for _ in range(rng.choice([0, 0, 2]))
            ]
            edges[u, v] = Edge(u, v, transform(u, v), int(rng.choice([1, 1, 9])), current(v), more)
    patterns = {} if kind != "frame" else {"mine": tuple(sorted(pairs)[::2])}
    bridging = {} if kind != "frame" else {"mine": {sorted(pairs)[0]: 3}}
    tables = {"training": {"epochs": 3}}
    return Network("random", nodes, edges, (names[-1],), patterns, tables, bridging)


def terms(edge):
    """Matrix by delay and current; those that share both add up."""
    found = {}
    for matrix, delay, current in edge.terms:
        found[delay, current] = found.get((delay, current), 0) + matrix.toarray()
    return found


def assert_equal(found, wanted):
    for name in ("name", "outputs", "patterns", "bridging", "tables", "inputs"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert list(found.nodes) == list(wanted.nodes)
    assert list(found.edges) == list(wanted.edges)
    for name, node in wanted.nodes.items():
        other = found.nodes[name]
        assert other.shape == node.shape
        assert type(other.neuron) is type(node.neuron)
        if node.threshold is not None:
            assert np.array_equal(other.threshold, node.threshold)
        if node.neuron is not None:
            assert other.neuron.stated == node.neuron.stated
            assert {k: getattr(other.neuron, k) for k in node.neuron.settings} == {
                k: getattr(node.neuron, k) for k in node.neuron.settings
            }
            assert list(other.neuron.arrays) == list(node.neuron.arrays)
            for key, array in node.neuron.arrays.items():
                assert np.array_equal(other.neuron.arrays[key], array), (name, key)
    for key, edge in wanted.edges.items():
        here, there = terms(found.edges[key]), terms(edge)
        assert here.keys() == there.keys()
        for part, matrix in there.items():
            assert np.array_equal(here[part], matrix), (key, part)


@given(network=networks(), dt=st.sampled_from([1e-3, 1e-4, 1.0]))
@settings(deadline=None, max_examples=60)
def test_networks_come_back_as_they_were(network, dt):
    found = from_nir(nir_graph(network, dt=dt))
    assert_equal(found.network, network)
    assert not found.approximated


@given(network=networks())
@settings(deadline=None, max_examples=12)
def test_files_are_those_of_nir_which_its_package_reads_and_checks(tmp_path_factory, network):
    path = tmp_path_factory.mktemp("nir") / "net.nir"
    to_nir(network, path)
    assert_equal(from_nir(path).network, network)
    theirs = nir.read(path)  # infers and checks all types
    assert set(theirs.nodes) >= set(read_nir(path).nodes)  # it puts outputs behind all last nodes
    assert {name for name, node in theirs.nodes.items() if isinstance(node, nir.Input)} == set(network.inputs)
    assert_equal(from_nir(theirs).network, network)


def test_transforms_of_images_come_back_as_they_were():
    rng = np.random.default_rng(0)
    shapes = {"I": (6, 6, 1), "A": (6, 6, 2), "B": (3, 3, 2), "C": (3, 3, 2), "D": (1, 1, 2), "O": (1, 1, 3)}
    nodes = {name: (shape, None if name == "I" else 1) for name, shape in shapes.items()}
    edges = {
        ("I", "A"): Conv(shapes["I"], shapes["A"], (3, 3), weights=rng.integers(-1, 2, (3, 3, 1, 2))),
        ("A", "B"): Pool(shapes["A"], shapes["B"], (2, 2)),
        ("B", "C"): Identity(shapes["B"], shapes["C"]),
        ("C", "D"): Conv(shapes["C"], shapes["D"], (3, 3), (1, 1), "valid", weights=rng.integers(-1, 2, (3, 3, 2, 2))),
        ("D", "O"): Dense(shapes["D"], shapes["O"], weights=rng.integers(-1, 2, (3, 2))),
    }
    network = nm.build_network(nodes, edges, name="image")
    graph = nir_graph(network)
    kinds = [node.kind for node in graph.nodes.values()]
    assert [kinds.count(kind) for kind in ("Conv2d", "SumPool2d", "Linear", "Flatten", "Threshold")] == [2, 1, 1, 1, 5]
    found = from_nir(graph).network
    assert_equal(found, network)
    given_kinds = [type(edge.transform).__name__ for edge in network.edges.values()]
    assert [type(edge.transform).__name__ for edge in found.edges.values()][:4] == given_kinds[:4]


def odd_networks():
    """Networks for whose edges or neurons NIR has no primitive of their own."""
    image, rng = (4, 4, 1), np.random.default_rng(0)
    kernels = [Conv(image, image, (3, 3), weights=rng.integers(-2, 3, (3, 3, 1, 1))) for _ in range(2)]
    twice = Edge("I", "O", kernels[0], also=(EdgeTerm(kernels[1]),))
    nodes = {"I": Node("I", image), "O": Node("O", image, neuron=LeakNeuron(threshold=3))}
    yield "two kernels at one delay", Network("odd", nodes, {("I", "O"): twice}, ("O",))
    taller = (6, 4, 1)
    edge = Edge("I", "O", Pool(image, taller, (1, 1), (1, 1), padding=(1, 0, 1, 0)))
    nodes = {"I": Node("I", image), "O": Node("O", taller, neuron=LeakNeuron(threshold=1))}
    yield "windows in the padding", Network("odd", nodes, {("I", "O"): edge}, ("O",))
    for name, neuron in (
        ("a source with a leak", LeakNeuron(threshold=3, leak=1)),
        ("a source of two currents", CurrentNeuron(threshold=9, bias=4, more_current_decays=(np.array(100),))),
    ):
        parts = {"I": (2, None), "S": (3, neuron), "O": (2, LeakNeuron(threshold=1))}
        yield name, nm.build_network(parts, {("S", "O"): np.ones((2, 3), int), ("I", "O"): np.eye(2, dtype=int)})


@pytest.mark.parametrize(("name", "network"), odd_networks())
def test_what_has_no_primitive_comes_back_too(tmp_path, name, network):
    to_nir(network, tmp_path / "net.nir")
    nir.read(tmp_path / "net.nir")
    assert_equal(from_nir(tmp_path / "net.nir").network, network)


def test_what_other_tools_wrote_in_whole_numbers_becomes_frame_neurons():
    weights = np.array([[1.0, -1.0], [2.0, 2.0], [0.0, 1.0]])
    nodes = [nir.Input(np.array([2])), nir.Affine(weights, np.array([0.0, 0.5, -0.25])), nir.Threshold(np.ones(3))]
    found = from_nir(nir.NIRGraph.from_list(*nodes))
    node = found.network.nodes["threshold"]
    assert node.threshold.tolist() == [2, 1, 2]  # w x + b > 1: above 1, above 0.5, above 1.25
    assert not found.network.is_spiking
    assert found.quantisation is None


def small():
    return nm.build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})


def edited(head=None, **changed):
    """The graph of a small network, with parameters of any of its nodes changed by hand."""
    graph = nir_graph(small())
    tree = {
        "type": "NIRGraph",
        "nodes": {
            k: {"type": n.kind, **{key: changed.get(key, value) for key, value in n.parameters.items()}}
            for k, n in graph.nodes.items()
        },
        "edges": list(graph.edges),
        "metadata": dict(graph.metadata) if head is None else {"neuromap": head},
    }
    return nm.formats.nir.graph_of(tree)


HEAD = str(nir_graph(small()).metadata["neuromap"])


@pytest.mark.parametrize(
    ("head", "says"),
    [
        ("{", "is not JSON; remove it"),
        ("[" * 100_000, "is not JSON; remove it"),
        ('{"format": "neuromap nir 2"}', "is not of the format"),
        (HEAD.replace('"dt": 0.001', '"dt": "soon"'), "lacks a part"),
        (HEAD.replace('"name": "I"', '"name": "X"'), "node 'X' is none of the graph"),
        (HEAD.replace("[1, 0]", "[7, 0]"), "has no synapses of delay 7"),
        (HEAD.replace('"shape": [1, 1, 2]', '"shape": [1, 1, 3]'), "has 2 values, and its metadata say 3"),
        (HEAD.replace('"shape": [1, 1, 1]', '"shape": [1, 1, 1], "neuron": {"model": "leak"}'), "is Threshold, and"),
        (HEAD.replace('"outputs": ["O"]', '"outputs": ["I"]'), "node I is an input node"),
        (HEAD.replace('"tables": {}', '"tables": {"shadow": {}}'), "table 'shadow': is unknown"),
    ],
)
def test_heads_that_do_not_fit_are_refused(head, says):
    assert head != HEAD
    with pytest.raises(InputError, match=says) as caught:
        from_nir(edited(head))
    assert "\n" not in str(caught.value)


def test_weights_that_were_changed_to_fractions_are_refused():
    with pytest.raises(NetworkError, match=r"edge I -> O: found the weight .*remove the metadata"):
        from_nir(edited(weight=np.array([[0.5, 1.0]])))


def spiking(kind):
    """Two neurons of each kind, written; as tables that may be changed, with neuromap's metadata."""
    neuron = {
        "leak": LeakNeuron(threshold=[5, 6], leak=[1, -1], floor=9),
        "one": CurrentNeuron(threshold=[5, 6], voltage_decay=1024, current_decay=512),
        "two": CurrentNeuron(threshold=[5, 6], voltage_decay=1024, current_decay=512, more_current_decays=(100,)),
    }[kind]
    nodes = {"I": Node("I", (1, 1, 2)), "A": Node("A", (1, 1, 2), neuron=neuron)}
    edge = Edge("I", "A", Dense((1, 1, 2), (1, 1, 2), weights=np.array([[3, 1], [2, 5]])))
    graph = nir_graph(Network("small", nodes, {("I", "A"): edge}, ("A",)))
    held = {k: {"type": n.kind, **n.parameters, "metadata": dict(n.metadata)} for k, n in graph.nodes.items()}
    return {"type": "NIRGraph", "nodes": held, "edges": list(graph.edges), "metadata": dict(graph.metadata)}


def changed_number(node, key):
    def change(tree):
        tree["nodes"][node][key] = np.array([0.25, 0.0]) + tree["nodes"][node][key]

    return change


def more_parts(edges, **nodes):
    def change(tree):
        tree["nodes"] |= {name: {**tree["nodes"].get(node, {}), **more} for name, (node, more) in nodes.items()}
        tree["edges"] += edges

    return change


SYNAPSES = more_parts([("A", "A")])
BIAS = more_parts([], **{"I -> A": ("I -> A", {"type": "Affine", "bias": np.array([0.5, 0.0])})})


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        *((kind, SYNAPSES, "edge A -> A: has synapses of 0 s") for kind in ("leak", "one", "two")),
        *((kind, BIAS, "node A: a bias of") for kind in ("leak", "one", "two")),
        ("one", more_parts([("A", "B")], B=("A", {})), "node 'B': is in the graph"),
        ("one", more_parts([("I", "D"), ("D", "A")], D=("", {"type": "Delay", "delay": 0.005})), "synapses of 0.005 s"),
        ("one", lambda tree: tree["edges"].remove(("A", "A output")), "node A: is an output in one of"),
        *((kind, changed_number("A", key), f"node A .*: {key}: found") for kind, key in
          [("leak", "r"), ("leak", "v_reset"), ("one", "w_in"), ("one", "v_leak"), ("one", "tau_mem"),
           ("two", "v_reset")]),
        ("two", changed_number("A current 1", "r"), "node A current 1 .*: r: found"),
    ],
)  # fmt: skip
def test_changes_that_the_metadata_do_not_say_are_refused(kind, change, says):
    """They were read as if nobody had made them; without the metadata, what the equations say is read."""
    tree = spiking(kind)
    from_nir(nm.formats.nir.graph_of(tree))
    change(tree)
    with pytest.raises(InputError, match=f"{says}.*, which the metadata of neuromap do not say; remove them"):
        from_nir(nm.formats.nir.graph_of(tree))


@pytest.mark.parametrize("kind", ["leak", "one", "two"])
def test_a_threshold_is_written_between_two_whole_voltages(kind):
    """It was one that voltages reach: a reader's rounding decided. Files written so are still read."""
    tree = spiking(kind)
    written = tree["nodes"]["A"]["v_threshold"]
    assert (written % 1 == 0.5).all()
    for within in (-0.5, 0.0, 0.4):
        tree["nodes"]["A"]["v_threshold"] = written + within
        found = from_nir(nm.formats.nir.graph_of(tree)).network.nodes["A"].neuron
        assert found.threshold.tolist() == [5, 6]


@pytest.mark.parametrize("real", [np.float64, np.float32])
def test_a_voltage_that_reaches_its_threshold_does_not_spike_in_nir_either(real):
    """40 neurons without leak, computed as NIR defines them at the step that the notes name; several stop there."""
    rng = np.random.default_rng(0)
    neuron = CurrentNeuron(threshold=np.arange(40) % 9 + 3, bias=np.arange(40) % 3 - 1, voltage_decay=0)
    weights, spikes = rng.integers(-2, 5, (40, 2)), rng.random((31, 2)) < 0.5
    nodes = {"I": Node("I", (1, 1, 2)), "A": Node("A", (1, 1, 40), neuron=neuron)}
    network = Network("n", nodes, {("I", "A"): Edge("I", "A", Dense((1, 1, 2), (1, 1, 40), weights=weights))}, ("A",))
    wanted = np.asarray(nm.reference(nm.Rollout(network, "streaming"), {"I": spikes})["A"])[1:]
    given = {key: array.astype(real) for key, array in nir_graph(network).nodes["A"].parameters.items()}
    v, kept = given["v_reset"], np.exp(real(-1e-3) / given["tau"])
    for n in range(30):
        v = kept * v + (1 - kept) * (given["v_leak"] + given["r"] * (weights @ spikes[n]).astype(real))
        fired = v > given["v_threshold"]
        assert np.array_equal(fired, wanted[n])
        v = np.where(fired, given["v_reset"], v)


def test_the_step_and_other_starts_than_the_reset_are_told(tmp_path):
    neuron = CurrentNeuron(threshold=6, reset=-9)
    nodes = {"I": Node("I", (1, 1, 1)), "A": Node("A", (1, 1, 1), neuron=neuron)}
    edge = Edge("I", "A", Dense((1, 1, 1), (1, 1, 1), weights=np.array([[3]])))
    network = Network("n", nodes, {("I", "A"): edge}, ("A",))
    told = {note.about: note.text for note in to_nir(network, tmp_path / "net.nir", dt=2e-3)}
    assert "scheme exponential at a step of 2 ms" in told["step"]
    assert "voltages do not begin at the reset" in told["A"]
    assert "begin" not in str(to_nir(small(), tmp_path / "net.nir"))


def test_what_nir_has_no_room_for_is_refused():
    with pytest.raises(NetworkError, match="node I has no shape"):
        nir_graph(Network.from_edges([("I", "O")]))
    with pytest.raises(NotSupportedError, match=r"node \.\.: HDF5 has no group"):
        nir_graph(nm.build_network({"I": (2, None), "..": (1, 1)}, {("I", ".."): [[1, 1]]}))
    odd = {"I": Node("I", (1, 1, 1)), "I -> O": Node("I -> O", (1, 1, 1), np.ones(1, int))}
    edge = Edge("I", "I -> O", Dense((1, 1, 1), (1, 1, 1), weights=np.ones((1, 1), int)))
    with pytest.raises(NetworkError, match="found the name 'I -> O'"):  # as a map is called there
        nir_graph(Network("n", odd, {("I", "I -> O"): edge}))
    with pytest.raises(NotSupportedError, match=r"nodes are graded.*neuromap export NET.toml --to onnx") as caught:
        nir_graph(graded_network(1))
    assert "\n" not in str(caught.value)
    big = Dense((1, 1, 2**14), (1, 1, 2**13), weights=nm.SeededWeights(1, (0, 1)))
    with pytest.raises(NotSupportedError, match="NIR has dense ones"):
        nir_graph(nm.build_network({"I": (2**14, None), "O": (2**13, 1)}, {("I", "O"): big}))
