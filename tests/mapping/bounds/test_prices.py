"""Prices of mixed cores: never above what a mapping takes, and where they say more than the other bounds."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NeuromapError
from neuromap.mapping.bounds.lower_bounds import Mixture, Part, core_bound, cores_by_prices
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import build_network
from neuromap.network.transforms import Conv


def part(population, neurons, axons, feeds):
    """100 neurons, each of which takes one neuron of a core."""
    return Part(population, 100, 1, np.array(neurons), np.array(axons), feeds, np.array(axons).sum(axis=1))


def test_a_feed_that_two_populations_read_is_paid_once_where_they_share_a_core(chip):
    # each of two populations of 100 neurons takes 6 axons of one feed for 10 neurons, 6 of one of its own: a core of
    # 18 axons holds 10 of both, and no more than 10 of either
    parts = (part(0, [10], [[6, 6, 0]], (0, 1)), part(1, [10], [[6, 0, 6]], (0, 2)))
    mixture = Mixture(parts, np.zeros(3, bool), np.zeros(2, int), np.array([100, 100, *[0] * 6], float))
    assert cores_by_prices(mixture, chip(axons=18, neurons=64)) == 10
    assert cores_by_prices(mixture, chip(axons=17, neurons=64)) == 20
    assert cores_by_prices(mixture, chip(axons=18, neurons=10)) == 20


def test_copies_that_count_need_cores_of_their_population(chip):
    # 100 neurons with 5 copies each, 10 in a core of 20 places, 3 copies of one counted at most
    demand = np.array([100, 500, 0, 0], float)
    mixture = Mixture((part(0, [10], [[8]], (0,)),), np.zeros(1, bool), np.array([3]), demand)
    assert cores_by_prices(mixture, chip(axons=8, neurons=20)) == 25
    assert cores_by_prices(mixture, chip(axons=8, neurons=40)) == 17


def test_prices_see_what_shares_do_not(chip):
    # O reads itself, so its cores hold few of its neurons, and H has so many copies that these need cores of their own
    shape, ones = (16, 16, 24), np.ones((3, 3, 8, 24), int)
    conv = Conv(shape, shape, (3, 3), groups=3, weights=ones)
    edges = {("I", "H"): conv, ("O", "O"): conv, ("H", "O"): conv}
    net = build_network({n: (shape, None if n == "I" else 1) for n in "IHO"}, edges, outputs=("O",))
    network = legalise(nm.Rollout(net, "streaming"), chip())
    plain, priced = (core_bound(network, chip(), priced=priced).total for priced in (False, True))
    assert plain < priced <= nm.map_rollout(nm.Rollout(net, "streaming"), chip()).n_cores


kernels = st.sampled_from([[1], [-1, 1], [0, 1], [-1, 0, 1], [-2, 0, 1, 3]])


@given(st.data(), st.integers(0, 2**32), kernels, st.integers(4, 40), st.integers(2, 32), st.integers(1, 4))
@settings(deadline=None, max_examples=30)
def test_no_mapping_of_convolutions_with_skips_and_holes_has_fewer_cores(
    chip, data, seed, values, axons, neurons, types
):
    draw = np.random.default_rng(seed)
    groups, channels = int(draw.integers(1, 3)), int(draw.integers(1, 4))
    shape = (int(draw.integers(3, 8)), int(draw.integers(1, 8)), groups * channels)
    names = ["I", "A", "B"]
    edges = {}
    for u, v in (("I", "A"), ("A", "B"), ("I", "B"), ("A", "A"), ("B", "B")):
        if v == "ABC"["IAB".index(u)] or draw.random() < 0.4:
            kernel = tuple(draw.integers(1, 4, 2).tolist())
            weights = draw.choice(values, (*kernel, channels, shape[2]))
            edges[u, v] = Conv(shape, shape, kernel, groups=groups, weights=weights)
    net = build_network({n: (shape, None if n == "I" else 1) for n in names}, edges, outputs=("B",))
    spec = chip(axons=axons, neurons=neurons, axon_types=types, delay=(1, data.draw(st.sampled_from([1, 2, 15]))))
    pattern = nm.RolloutPattern(net, tuple(1 if u == v else data.draw(st.integers(0, 1)) for u, v in net.edges))
    rollout = nm.Rollout(net, pattern, data.draw(st.sampled_from(["windowed", "pipelined"])))
    options = MappingOptions(
        packing=data.draw(st.booleans()), splitters=data.draw(st.sampled_from(["slack", "never", "anywhere"]))
    )
    try:
        mapping = map_with_stages(rollout, spec, options)
    except NeuromapError:
        assume(False)
    found = core_bound(mapping.network, spec, priced=True)
    assert found.total <= mapping.program.n_cores
    assert found.neurons <= np.count_nonzero(mapping.program.neuron_node >= 0)
