"""What fits one core, asked apart from a chip: its potential, and what a neuron lacks there."""

from __future__ import annotations

import numpy as np

from neuromap.mapping.core.core_of import core_of


def test_what_a_neuron_lacks_in_a_core_is_named(chip):
    core = core_of(chip(axons=8, neurons=8, axon_types=2, potential_bits=6))
    ones, one = np.ones((1, 20), np.int64), np.ones(1, np.int64)
    assert core.highest_potential == 31
    assert core.plan(ones, one) is None
    assert core.ample_plan(ones, one).n_axons == 20
    assert core.shortage(2 * ones, one, 3) == ("potential", 40)
    assert core.shortage(np.array([[1, -1, 2, 200]]), one, 3)[0] == "potential"
