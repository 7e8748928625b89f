"""What runs where: reasons are told, and what is asked for and cannot be is an error."""

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
    with pytest.raises(NotSupportedError, match=r"<Ensemble 'a'>: on_chip = True, but its neurons are Tanh.*None"):
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
