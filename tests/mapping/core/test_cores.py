"""What fits one core, asked apart from a chip: margins, and the cores of a board."""

from __future__ import annotations

from neuromap.hardware.chip.chip_spec import Defects
from neuromap.mapping.core.core_of import core_of, cores_of


def test_margins_are_cores_like_any_other(chip):
    core = core_of(chip(axons=8, neurons=8, axon_types=2, potential_bits=6))
    assert core.with_neurons(5).neurons == 5
    assert core.with_ample_axons().axons > 1000 * core.axons
    assert core.with_axon_types(3).axon_types == 3
    assert core.highest_potential == 31
    assert core.without_rails().highest_potential > 2**60
    assert core == core.with_neurons(5).with_neurons(8)


def test_the_cores_of_a_board_are_counted_with_and_without_the_dead(chip):
    spec = chip(cores=(3, 2), defects=Defects(cores=((0, 0),)))
    cores = cores_of(spec)
    assert (cores.number, cores.usable, cores.model) == (6, 5, core_of(spec))
