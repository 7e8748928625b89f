"""Lower bounds on synapse-list cores: no mapping takes fewer, and the counts are those of programs."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_no_mapping_of_any_pattern_takes_fewer_cores(networks, patterns, list_chip, data):
    network = data.draw(networks(st.integers(-1, 1), largest=4))
    limits = st.sampled_from([{"neurons": 2}, {"axons": 20, "neurons": 20}, {"synapse_memory_bits": 2000}])
    chip = list_chip(delay=data.draw(st.sampled_from([(1, 2), (1, 63)])), **data.draw(limits))
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(st.sampled_from(["windowed", "pipelined"])))
    program, bound = map_rollout(rollout, chip), core_bound(legalise(rollout, chip), chip)
    assert bound.total <= program.n_cores
    assert bound.neurons == ((program.neuron_node >= 0) & ~program.is_relay).sum()
    streaming = Rollout(network, RolloutPattern.streaming(network))
    assert core_bound(legalise(streaming, chip), chip) == bound


def test_each_resource_can_be_the_one_that_gives_the_bound(list_chip):
    """Six neurons read ten inputs with all weights, in one core's worth of two figures and several of the third."""
    network = build_network({"I": (10, None), "O": (6, np.ones(6, int))}, {("I", "O"): np.ones((6, 10), int)})
    rollout = Rollout(network, "streaming")
    for changes, total, by in [
        ({"neurons": 4}, 2, "neurons"),
        ({"axons": 4}, 3, "axons"),
        ({"synapse_memory_bits": 10 * 64 + 30 * 25}, 2, "synapses"),
    ]:
        chip = list_chip(**{"neurons": 6, "axons": 10, **changes})
        found = core_bound(legalise(rollout, chip), chip)
        assert (found.total, found.by, found.neurons, found.axons) == (total, by, 6, 10)
        assert found.per_population == (("O", total, by),)
