"""What runs where: reasons are told, and what is asked for and cannot be is an error."""

import numpy as np
import pytest

from neuromap.errors import InputError, NotSupportedError

nengo = pytest.importorskip("nengo", reason="Nengo is an extra: pip install 'neuromap-rollouts[nengo]'")


def place(network):
    """Place a network on Loihi's chip, at ticks of half a millisecond."""
    from neuromap.backends.nengo.placement import place_network
    from neuromap.hardware.chip.chip_file import load_chip

    return place_network(network, 0.0005, load_chip("loihi1"))


def host(network, thing=None):
    """Give the reasons of what is on the host, of ensembles and connections; or of one."""
    placement = place(network)
    if thing is not None:
        return placement.places[thing].why
    return {placed.object: placed.why for placed in placement if placed.where == "host"}


def test_all_fits_if_nothing_speaks_against_it(loop):
    found = host(loop)
    assert not any(isinstance(thing, nengo.Ensemble) for thing in found)
    from_the_node = loop.all_connections[0]
    assert [thing for thing in found if isinstance(thing, nengo.Connection)] == [from_the_node]
    assert place(loop).boundary == (from_the_node,)


@pytest.mark.parametrize(
    ("neurons", "reason"),
    [
        (nengo.Direct(), "Direct"),
        (nengo.LIFRate(), "LIFRate"),
        (nengo.AdaptiveLIF(), "AdaptiveLIF"),
        (nengo.LIF(tau_ref=0.1), "rest for 63"),
        (nengo.LIF(tau_rc=1e4), "decays of 12 bits"),
        (nengo.LIF(tau_rc=3.5), "a leak of 0.59 units would be 1"),
        (nengo.LIF(initial_state={"refractory_time": [0.0]}), "refractory_time"),
    ],
)
def test_neurons_that_the_chip_does_not_have_run_on_the_host(loop, neurons, reason):
    loop.a.neuron_type = neurons
    assert reason in host(loop, loop.a)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"synapse": nengo.Alpha(0.01)}, "Alpha"),
        ({"synapse": 3.0}, "its synapse of 3 s is too long for decays of 12 bits"),  # at most 4096 ticks of 0.5 ms
        ({"synapse": nengo.Lowpass(0.01, method="euler")}, "its synapse has method = 'euler'"),
        ({"synapse": nengo.Lowpass(0.01, analog=False)}, "its synapse has analog = False"),
        ({"learning_rule_type": nengo.PES()}, "learns"),
    ],
)
def test_links_that_the_chip_does_not_have_go_over_the_host(loop, change, reason):
    with loop:
        link = nengo.Connection(loop.a, loop.b[0], **change)
    assert reason in host(loop, link)
    assert loop.b not in host(loop)


def test_a_way_over_the_host_within_a_step_moves_its_end_to_the_host():
    with nengo.Network() as network:
        a, b, c = (nengo.Ensemble(10, 1) for _ in range(3))
        node = nengo.Node(lambda t, x: x, size_in=1)
        nengo.Connection(a, node, synapse=None)
        nengo.Connection(node, b, synapse=None)
        nengo.Connection(node, c, synapse=0.01)
    found = host(network)
    assert "no synapse" in found[b]
    assert a not in found
    assert c not in found


def test_time_constants_beyond_the_currents_of_a_neuron_go_over_the_host(simulator):
    with nengo.Network(seed=1) as network:
        a, b = nengo.Ensemble(5, 1), nengo.Ensemble(5, 1)
        links = [nengo.Connection(a, b, synapse=0.05 + 0.01 * k) for k in range(9)]
    found = host(network)
    assert [link in found for link in links] == [False] * 7 + [True] * 2
    with simulator(network) as sim:
        sim.step()


def test_what_is_asked_for_and_cannot_be_is_an_error_that_names_it(loop):
    from neuromap.backends.nengo import add_params

    add_params(loop)
    add_params(loop)
    loop.a.neuron_type = nengo.Tanh()
    loop.config[loop.a].on_chip = True
    with pytest.raises(NotSupportedError, match=r"ensemble a: on_chip = True, but its neurons are Tanh.*None"):
        host(loop)


def test_more_than_a_chip_holds_goes_to_the_host():
    with nengo.Network() as network:
        small, large = nengo.Ensemble(10, 1), nengo.Ensemble(60000, 1)
    assert host(network) == {large: "the ensembles before it fill the 128 cores of loihi1"}
    assert small not in host(network)


def test_impossible_ticks_and_errors_are_refused(loop, simulator):
    with pytest.raises(InputError, match="decoder_error"):
        simulator(loop, chip="truenorth", decoder_error=2)
    with pytest.raises(InputError, match="ticks_per_step"):
        simulator(loop, ticks_per_step=0)


def drive(network):
    """Two arrays of two, the second with a product of what the first holds; give what the host reads."""
    with network:
        source = nengo.Node(lambda t: (np.sin(9 * t), 0.6), label="source")
        held = nengo.networks.EnsembleArray(30, 2, label="held")
        product = nengo.networks.Product(40, 1, label="product")
        out = nengo.Ensemble(40, 1, label="out")
        nengo.Connection(source, held.input)
        nengo.Connection(held.output[0], product.input_a)
        nengo.Connection(held.output[1:], product.input_b)
        nengo.Connection(product.output, out, transform=0.8, synapse=0.01)
        return [nengo.Probe(thing, synapse=0.03) for thing in (held.output, product.output, out)]


def test_arrays_and_products_stay_on_the_chip(simulator, monkeypatch):
    with nengo.Network(seed=2) as network:
        probes = drive(network)
    placement = place(network)
    ways = [p for p in placement if isinstance(p.object, nengo.Connection)]
    inner = {p.name for p in ways if p.where == "chip"}
    assert inner == {
        *(f"held/held_{k} -> product/networks[{n}]/0" for k in (0, 1) for n in (0, 1)),
        *(f"product/networks[{n}]/0 -> out computing 'square'" for n in (0, 1)),
    }
    assert all("runs on the host" in p.why for p in ways if p.where == "host")

    with simulator(network) as sim:
        sim.run_steps(250)
    past = [sim.data[probe] for probe in probes]
    monkeypatch.setattr("neuromap.backends.nengo.placement._MOST_LINKS", 0)
    with simulator(network) as sim:
        sim.run_steps(250)
    assert (len(ways), len(placement.boundary)) == (17, 8)  # two feed, four are for probes, two end where nobody reads
    assert not any(sim.placement.is_on_chip(link) for link in sim.placement.connections)
    assert len(sim.placement.connections) == 20
    for here, there in zip(past, probes, strict=True):
        assert np.sqrt(np.mean((here - sim.data[there])[100:] ** 2)) < 0.05


def test_host_reads_and_filters_of_a_node_stay():
    with nengo.Network() as network:
        a, b, c = (nengo.Ensemble(10, 1, label=name) for name in "abc")
        nodes = [nengo.Node(size_in=1, label=name) for name in ("first", "second")]
        plain = nengo.Connection(a, nodes[0], synapse=0.01)
        filtered = nengo.Connection(nodes[0], b, synapse=0.01)  # two filters are not one
        passed = nengo.Connection(nodes[0], nodes[1], synapse=None)
        last = nengo.Connection(nodes[1], c, synapse=None)
        nengo.Probe(nodes[1])
    placement = place(network)
    assert placement.replaced == {last}
    assert {plain, filtered, passed} < set(placement.connections)
    (new,) = placement.origins
    assert placement.origins[new] is plain
    assert placement.places[new].name == "a -> c"
    assert placement.is_on_chip(new)
    assert new.synapse.tau == 0.01


def test_nodes_in_a_circle_that_learn_or_draw_their_matrix_stay():
    with nengo.Network() as network:
        a, b = nengo.Ensemble(10, 1), nengo.Ensemble(10, 1)
        for extra in ("circle", "learns", "drawn"):
            node = nengo.Node(size_in=1)
            drawn = {"transform": nengo.dists.Uniform(0, 1)} if extra == "drawn" else {}
            learns = {"learning_rule_type": nengo.PES()} if extra == "learns" else {}
            nengo.Connection(a, node, **drawn, **learns)
            nengo.Connection(node, b, synapse=None)
            if extra == "circle":
                nengo.Connection(node, node)
    placement = place(network)
    assert not placement.replaced
    assert not placement.origins


@pytest.mark.parametrize(("source", "matrix"), [([0, 0], 1.0), ([0, 1], [[0.5, 0.0], [0.0, 0.5]])])
def test_a_node_that_is_sent_two_values_for_one_dimension_stays(source, matrix):
    """Nengo adds them; the matrix of a connection past the node would hold the last."""
    with nengo.Network() as network:
        a, node, b = nengo.Ensemble(10, 2), nengo.Node(size_in=2), nengo.Ensemble(10, 2)
        nengo.Connection(a[source], node[[1, -1]], transform=matrix, synapse=None)
        nengo.Connection(node, b, synapse=0.02)
        once = nengo.Node(size_in=1)
        nengo.Connection(a[0], once, synapse=None)
        to_both = nengo.Connection(once[[0, 0]], b, synapse=0.02)
    assert place(network).replaced >= {to_both}
    assert node in {c.post_obj for c in place(network).connections}


def test_a_function_keeps_its_slice_points_and_solver_past_a_node(simulator):
    points = np.linspace(-1, 1, 50)[:, None] * np.ones(2)
    solver = nengo.solvers.LstsqL2(reg=0.02)
    with nengo.Network(seed=1) as network:
        a, b = nengo.Ensemble(30, 2), nengo.Ensemble(30, 3)
        node = nengo.Node(size_in=2)
        first = nengo.Connection(
            a, node[1], function=lambda x: x[1] ** 2, eval_points=points, solver=solver, synapse=None
        )
        second = nengo.Connection(a[1], node[0], function=np.square, synapse=None)
        nengo.Connection(node, b[[2, 0]], transform=[[0.2, 0.0], [0.0, 0.5]], synapse=0.02)
    new, other = sorted(place(network).origins, key=lambda c: c.pre is not a)
    assert (new.solver, new.function) == (first.solver, first.function)
    assert np.array_equal(new.eval_points, first.eval_points)
    assert new.post_slice == [0]
    assert new.transform.init.tolist() == [[0.5]]
    assert (other.pre_slice, other.function, other.post_slice) == (second.pre_slice, np.square, [2])
    with simulator(network) as sim:
        sim.run_steps(3)
