"""Random NIR graphs against an evaluation of NIR's equations that knows primitives and steps, and nothing of ours."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.nir import from_nir
from neuromap.exchange.nir.contract import contract
from neuromap.exchange.nir.float_network import Convention, early_spikes, float_network, late_starts
from neuromap.exchange.nir.import_nir import float_parts
from neuromap.formats.nir import graph_of
from neuromap.quantise.float_steps import float_reference

DT = 2e-3
STEPS = 40


def windows(values, kernel, stride, padding, dilation):
    """Every window of the last two axes, by loops: rows, columns, channels, kernel."""
    padded = np.pad(values, [(0, 0), (padding, padding), (padding, padding)])
    reach = dilation * (kernel - 1) + 1
    rows, columns = ((n - reach) // stride + 1 for n in padded.shape[1:])
    for i in range(rows):
        for j in range(columns):
            here = padded[:, i * stride : i * stride + reach : dilation, j * stride : j * stride + reach : dilation]
            yield i, j, (rows, columns), here


class Evaluation:
    """Primitives step by step, as NIR defines them, at a step of forward or exponential Euler."""

    def __init__(self, nodes, edges, scheme):
        self.nodes, self.edges, self.scheme = nodes, edges, scheme
        self.last = {}
        self.state = {name: {} for name in nodes}

    def kept(self, tau):
        return np.exp(-DT / tau) if self.scheme == "exponential" else 1 - DT / tau

    def step(self, given_spikes):
        now = {}
        for name, node in self.nodes.items():  # in the order in which values pass within a step
            arriving = [now[u] if u in now else self.last.get(u, 0.0) for u, v in self.edges if v == name]
            value = given_spikes[name] if node["type"] == "Input" else sum(np.asarray(a) for a in arriving)
            now[name] = getattr(self, node["type"])(node, value, self.state[name])
        self.last = now
        return now

    def Input(self, node, x, state):
        return x.reshape(node["shape"]).astype(float)

    def Output(self, node, x, state):
        return x

    def Linear(self, node, x, state):
        return node["weight"] @ x

    def Affine(self, node, x, state):
        return node["weight"] @ x + node["bias"]

    def Scale(self, node, x, state):
        return x * node["scale"]

    def Flatten(self, node, x, state):
        return x.ravel()

    def Delay(self, node, x, state):
        history = state.setdefault("history", [])
        history.append(x)
        steps = np.rint(node["delay"] / DT).astype(int)
        past = [history[-1 - k] if k < len(history) else np.zeros_like(x) for k in steps.ravel()]
        return np.array([p.ravel()[k] for k, p in enumerate(past)]).reshape(np.shape(x))

    def Conv2d(self, node, x, state):
        weight, groups = node["weight"], node["groups"]
        out = None
        for i, j, size, here in windows(x, weight.shape[2], node["stride"], node["padding"], node["dilation"]):
            out = np.zeros((len(weight), *size)) if out is None else out
            for f, kernel in enumerate(weight):
                first = f // (len(weight) // groups) * weight.shape[1]
                out[f, i, j] = (kernel * here[first : first + weight.shape[1]]).sum() + node["bias"][f]
        return out

    def SumPool2d(self, node, x, state, mean=False):
        out = None
        for i, j, size, here in windows(x, node["kernel_size"], node["stride"], node["padding"], 1):
            out = np.zeros((len(x), *size)) if out is None else out
            out[:, i, j] = here.mean(axis=(1, 2)) if mean else here.sum(axis=(1, 2))
        return out

    def AvgPool2d(self, node, x, state):
        return self.SumPool2d(node, x, state, mean=True)

    def LI(self, node, x, state):
        k = self.kept(node["tau"])
        state["v"] = k * state.get("v", 0.0) + (1 - k) * (node["v_leak"] + node["r"] * x)
        return state["v"]

    def fire(self, node, state):
        spikes = state["v"] > node["v_threshold"]
        state["v"] = np.where(spikes, node["v_reset"], state["v"])
        return spikes.astype(float)

    def IF(self, node, x, state):
        state["v"] = state.get("v", node["v_reset"]) + DT * node["r"] * x
        return self.fire(node, state)

    def LIF(self, node, x, state):
        a = self.kept(node["tau"])
        state["v"] = a * state.get("v", node["v_reset"]) + (1 - a) * (node["v_leak"] + node["r"] * x)
        return self.fire(node, state)

    def CubaLIF(self, node, x, state):
        k, a = self.kept(node["tau_syn"]), self.kept(node["tau_mem"])
        state["i"] = k * state.get("i", 0.0) + (1 - k) * node["w_in"] * x
        state["v"] = a * state.get("v", node["v_reset"]) + (1 - a) * (node["v_leak"] + node["r"] * state["i"])
        return self.fire(node, state)

    def Threshold(self, node, x, state):
        return (x > node["threshold"]).astype(float)


class Maker:
    """A random graph: neurons in an order, each fed by some before it over chains of maps, and by itself."""

    def __init__(self, rng):
        self.rng, self.nodes, self.edges = rng, {}, []
        self.shapes, self.neurons = {}, []

    def add(self, kind, before=(), shape=None, **numbers):
        name = f"{kind} {len(self.nodes)}"
        self.nodes[name] = {"type": kind, **numbers}
        self.edges += [(u, name) for u in before]
        self.shapes[name] = shape
        return name

    def graph(self):
        rng = self.rng
        for _ in range(rng.integers(1, 3)):
            shape = ((5,), (2, 5, 6))[rng.integers(2)]
            self.neurons.append(self.add("Input", shape=shape))
        for _ in range(rng.integers(1, 5)):
            self.layer()
        self.add("Output", [self.neurons[-1]], self.shapes[self.neurons[-1]])
        for name, node in self.nodes.items():
            if node["type"] in ("Input", "Output"):
                node["shape"] = np.array(self.shapes[name])
        return {"type": "NIRGraph", "nodes": self.nodes, "edges": self.edges}

    def layer(self):
        rng = self.rng
        kind = str(rng.choice(["IF", "LIF", "LIF", "CubaLIF", "CubaLIF", "Threshold"]))
        is_filtered = kind == "LIF" and rng.random() < 0.4  # what it does with constants is no matter of NIR
        sources = [str(u) for u in rng.choice(self.neurons, min(len(self.neurons), rng.integers(1, 4)), replace=False)]
        if len(sources) == 1 and len(self.shapes[sources[0]]) == 3 and not is_filtered:
            before = [self.window(sources[0])]
        else:
            size = int(rng.integers(1, 7))
            before = [self.row(u, size, has_bias=not is_filtered) for u in sources]
        shape = self.shapes[before[0]]
        if is_filtered:
            tau = rng.uniform(4e-3, 2e-2, shape)
            before = [self.add("LI", before, shape, tau=tau, r=rng.uniform(1, 3, shape), v_leak=np.zeros(shape))]
        name = self.add(kind, before, shape, **self.numbers(kind, shape))
        self.neurons.append(name)
        if kind != "Threshold" and len(shape) == 1 and rng.random() < 0.5:
            back = self.add("Linear", [name], shape, weight=rng.normal(0, 0.3, shape * 2))
            self.edges.append((back, name))

    def numbers(self, kind, shape):
        rng = self.rng
        if kind == "Threshold":
            return {"threshold": rng.uniform(0.1, 1.0, shape)}
        v = {"v_threshold": rng.uniform(0.6, 1.5, shape), "v_reset": rng.uniform(-0.3, 0.2, shape)}
        if kind == "IF":
            return {"r": rng.uniform(100, 600, shape), **v}
        leak = {"r": rng.uniform(2, 9, shape), "v_leak": rng.uniform(0, 0.3, shape), **v}
        if kind == "LIF":
            return {"tau": rng.uniform(4e-3, 3e-2, shape), **leak}
        taus = {"tau_mem": rng.uniform(4e-3, 3e-2, shape), "tau_syn": rng.uniform(3e-3, 1e-2, shape)}
        return {**taus, "w_in": rng.uniform(0.5, 2, shape), **leak}

    def row(self, source, size, has_bias=True):
        """A way from a node to a row of values: perhaps delayed, scaled, flat."""
        rng, here, shape = self.rng, source, self.shapes[source]
        if rng.random() < 0.4:
            here = self.add("Delay", [here], shape, delay=DT * rng.choice([0, 1, 4], shape))
        if rng.random() < 0.3:
            here = self.add("Scale", [here], shape, scale=rng.uniform(0.5, 1.5, shape))
        if len(shape) == 3:
            here = self.add("Flatten", [here], (np.prod(shape),), start_dim=0, end_dim=-1)
        n = int(np.prod(shape))
        for n_in, n_out in ((n, 3), (3, size)) if rng.random() < 0.3 else ((n, size),):
            weight = rng.normal(0.6, 1, (n_out, n_in)) / np.sqrt(n_in)
            if has_bias and rng.random() < 0.4:
                here = self.add("Affine", [here], (n_out,), weight=weight, bias=rng.uniform(0, 0.05, n_out))
            else:
                here = self.add("Linear", [here], (n_out,), weight=weight)
        return here

    def window(self, source):
        rng, shape = self.rng, self.shapes[source]
        if shape[1] < 3 or shape[2] < 3:
            return self.row(source, 4)
        if rng.random() < 0.5:
            groups = int(rng.choice([1, shape[0]]))
            stride, padding, dilation = int(rng.integers(1, 3)), int(rng.integers(0, 2)), 1
            dilation = 2 if min(shape[1:]) >= 5 and rng.random() < 0.3 else 1
            out = tuple((n + 2 * padding - dilation * 2 - 1) // stride + 1 for n in shape[1:])
            weight = rng.normal(0.3, 0.6, (2 * groups, shape[0] // groups, 3, 3))
            how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
            bias = rng.uniform(0, 0.1, 2 * groups)
            return self.add("Conv2d", [source], (2 * groups, *out), weight=weight, bias=bias, **how)
        kind, padding = str(rng.choice(["SumPool2d", "AvgPool2d"])), int(rng.integers(0, 2))
        out = tuple((n + 2 * padding - 2) // 2 + 1 for n in shape[1:])
        return self.add(kind, [source], (shape[0], *out), kernel_size=2, stride=2, padding=padding)


def may_differ(parts):
    """Nodes of which the summary says that they begin late or spike early, and all that read them."""
    told = set(late_starts(parts)) | set(early_spikes(parts))
    while more := {target for source, target in parts.ticks.delays if source in told} - told:
        told |= more
    return told


@given(seed=st.integers(0, 2**32 - 1), scheme=st.sampled_from(["exponential", "euler"]))
@settings(deadline=None, max_examples=150)
@example(seed=2286, scheme="exponential")  # a neuron whose start would lie above its threshold
@example(seed=3271, scheme="euler")  # a neuron that spikes before step 1, read by another after delays
def test_random_graphs_spike_as_the_equations_step_by_step(seed, scheme):
    rng = np.random.default_rng(seed)
    tree = Maker(rng).graph()
    nodes = tree["nodes"]
    given_spikes = {k: rng.random((STEPS, np.prod(v["shape"]))) < 0.4 for k, v in nodes.items() if v["type"] == "Input"}
    oracle = Evaluation(nodes, tree["edges"], scheme)
    wanted = [oracle.step({k: v[n] for k, v in given_spikes.items()}) for n in range(STEPS)]

    graph = contract(graph_of(tree))
    parts = float_parts(graph, Convention(DT, scheme), is_sequential=True)
    names = {name: name for name in (*graph.inputs, *graph.neurons)}
    network = float_network("random", parts, names)
    last = max(parts.ticks.phases.values())
    more = {name: np.vstack([given_spikes[name], np.zeros((last, size))]) > 0 for name, size in network.inputs.items()}
    found = float_reference(network, more, STEPS + last)
    told = may_differ(parts)
    event(f"all starts are at the reset: {not told}")
    for name in graph.neurons.keys() - told:
        phase = parts.ticks.phases[name]
        here = found[name][phase : phase + STEPS]
        there = np.array([np.broadcast_to(step[name], graph.neurons[name].shape).ravel() for step in wanted]) > 0
        assert np.array_equal(here, there), name
        event(f"spikes: {min(int(there.sum()) // 20, 5)}")


def node(kind, size=2, **numbers):
    return {"type": kind, **{key: np.full(size, value) for key, value in numbers.items()}}


INPUT = {"type": "Input", "shape": np.array([2])}
LIF = node("LIF", tau=0.02, r=1.0, v_leak=0.0, v_threshold=0.1)
LI = node("LI", tau=0.02, r=1.0, v_leak=0.0)
MIX = {"type": "Linear", "weight": np.ones((2, 2))}
CUBA = node("CubaLIF", tau_syn=0.02, tau_mem=0.02, r=1.0, v_leak=0.0, v_threshold=0.1)
CUBA_LI = node("CubaLI", tau_syn=0.02, tau_mem=0.02, r=1.0, v_leak=0.0)


def chain(*nodes, edges=()):
    names = [f"n{k}" for k in range(len(nodes))]
    pairs = [*pairwise(names), *edges]
    return graph_of({"type": "NIRGraph", "nodes": dict(zip(names, nodes, strict=True)), "edges": pairs})


@pytest.mark.parametrize(
    ("graph", "error", "says"),
    [
        (chain(INPUT, MIX), NotSupportedError, "has no spiking neuron among Input, Linear"),
        (chain(INPUT, LI, LI, LIF), NotSupportedError, r"node n2 \(LI\): tau dv/dt = v_leak - v \+ r I: a neuron"),
        (chain(INPUT, CUBA_LI, LIF), NotSupportedError, r"tau_mem dv/dt = .*CubaLIF is what chips compute"),
        (chain(INPUT, node("I", r=1.0), LIF), NotSupportedError, "dv/dt = r I: a neuron"),
        (chain(INPUT, LI, CUBA), NotSupportedError, "second current"),
        (chain(INPUT, {**LI, "tau": np.array([0.01, 0.02])}, MIX, LIF), NotSupportedError, "several time constants"),
        (chain(INPUT, MIX, MIX, LIF, edges=[("n2", "n1")]), InputError, "node n1: lies on a cycle without a neuron"),
        (chain(INPUT, {**MIX, "weight": np.ones((3, 2))}, LIF), InputError, r"joins values of shape \[3\] and \[2\]"),
        (chain(INPUT, {**MIX, "weight": np.ones((2, 3))}, LIF), InputError, "2 values arrive, so many columns"),
        (chain(INPUT, {**MIX, "weight": np.ones((1, 2, 2))}, LIF), NotSupportedError, r"needs \(values out"),
        (chain(INPUT, {**LIF, "r": np.ones(3)}), InputError, "needs parameters of one shape"),
        (chain(INPUT, {"type": "Delay", "delay": np.full(2, -1.0)}, LIF), InputError, "needs 0 s or more"),
        (chain(INPUT, {"type": "Delay", "delay": np.full(2, 9e9)}, LIF), NotSupportedError, "at most 4096"),
        (
            chain(INPUT, {**LIF, "v_reset": np.full(2, 1.0)}),
            InputError,
            "node n1: neuron: threshold 0.1; must lie above",
        ),
    ],
)
def test_what_no_chip_computes_is_refused_with_its_equation(graph, error, says):
    with pytest.raises(error, match=says) as caught:
        from_nir(graph)
    assert "\n" not in str(caught.value)


def test_graphs_within_graphs_are_taken_apart():
    inner = {"type": "NIRGraph", "nodes": {"in": INPUT, "cell": LIF, "back": MIX, "out": {**INPUT, "type": "Output"}},
             "edges": [("in", "cell"), ("cell", "back"), ("back", "cell"), ("cell", "out")]}  # fmt: skip
    found = from_nir(chain(INPUT, MIX, inner, MIX, LIF, {**INPUT, "type": "Output"}), compare=0).network
    assert set(found.edges) == {("n0", "n2.cell"), ("n2.cell", "n2.cell"), ("n2.cell", "n4")}
    assert found.outputs == ("n4",)


def test_ways_to_a_node_are_equally_late_unless_they_stream():
    graph = chain(INPUT, MIX, LIF, MIX, LIF, {**INPUT, "type": "Output"}, edges=[("n1", "n4")])
    delays = {
        rollout: {key: edge.delay for key, edge in from_nir(graph, rollout=rollout, compare=0).network.edges.items()}
        for rollout in ("sequential", "streaming")
    }
    assert delays["sequential"] == {("n0", "n2"): 1, ("n2", "n4"): 1, ("n0", "n4"): 2}
    assert set(delays["streaming"].values()) == {1}


def test_readouts_and_idle_inputs_are_left_out_and_told():
    outputs = {**INPUT, "type": "Output"}
    graph = chain(INPUT, MIX, LIF, MIX, LI, outputs)
    found = from_nir(graph, compare=0)
    assert found.network.outputs == ("n2",)
    assert [(note.about, note.remedy) for note in found.refused] == [
        ("n4", "compute it on the host from the spikes of n2")
    ]


@pytest.mark.parametrize("scheme", ["exponential", "euler"])
@pytest.mark.parametrize("tau", [1e9, 1e13, 1e17])
def test_neurons_of_very_long_time_constants_integrate(tau, scheme):
    """1 - a is nothing beside 1: they never moved."""

    def spikes(kind, **numbers):
        neuron = node(kind, v_threshold=0.9, **numbers)
        parts = float_parts(contract(chain(INPUT, neuron)), Convention(1e-3, scheme), is_sequential=True)
        found = float_network("long", parts, {"n0": "n0", "n1": "n1"})
        return float_reference(found, {"n0": np.ones((31, 2), bool)}, 31)["n1"].sum()

    assert spikes("LIF", tau=tau, r=250 * tau, v_leak=0.0) == spikes("IF", r=250.0) == 14
    assert spikes("LIF", tau=tau, r=0.0, v_leak=250 * tau) > 0
    cuba = {"tau_syn": 5e-3, "v_leak": 0.0, "w_in": 5.0}
    assert spikes("CubaLIF", tau_mem=tau, r=50 * tau, **cuba) == spikes("CubaLIF", tau_mem=1e6, r=5e7, **cuba) > 0


def test_an_integrator_written_as_a_leak_too_long_for_any_decay_moves_on_a_chip():
    network = from_nir(chain(INPUT, node("LIF", tau=1e17, r=2.5e19, v_leak=0.0, v_threshold=0.9)), compare=0).network
    frames = {"n0": np.arange(31)[:, None] > np.zeros(2)}
    assert np.asarray(nm.reference(nm.Rollout(network, "streaming"), frames)["n1"]).sum() == 14
