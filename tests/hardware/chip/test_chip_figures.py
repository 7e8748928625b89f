"""A chip with other figures is the chip of a file that has them; what a chip has already changes nothing."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.core_kind import core_kind
from neuromap.errors import ChipError, NotSupportedError
from neuromap.hardware.chip.chip_document import chip_document, chip_from_document, keys_of_tables
from neuromap.hardware.chip.chip_file import MOST_CHIPS, chips_with_figures, with_figures

FIGURES = [f"{table}.{key}" for table, keys in keys_of_tables(core_kind("crossbar")).items() for key in keys]

TEXTS = ("name", "description", "source")


def known(chip):
    """Names and values of all figures that the chip has."""
    tables = {table: keys for table, keys in chip_document(chip).items() if isinstance(keys, dict)}
    return {f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()}


@pytest.mark.parametrize("chip", nm.list_chips(), ids=lambda chip: chip.name)
def test_its_own_figures_change_nothing(chip):
    assert set(known(chip)) <= set(FIGURES)
    for name, value in known(chip).items():
        assert with_figures(chip, {name: value}) is chip
    assert with_figures(chip, known(chip)) is chip


OTHERS = {
    "core.axons": [1, 256, 1000], "core.neurons": [7, 256, 512], "core.weight_bits": [2, 9],
    "grid.cores": [(64, 64), (1, 9)], "grid.reach": [(3, 4)],
    "time.tick_seconds": [1, 1e-3, 1e-4], "energy.hop_joules": [0.0, 2.3e-12],
    "energy.spike_joules": [1e-12], "neuron.overflow": ["wrap", "saturate"], "neuron.signed_threshold": [True, False],
}  # fmt: skip


@given(st.lists(st.sampled_from([(name, value) for name, values in OTHERS.items() for value in values]), max_size=6))
def test_the_chip_is_that_of_a_file_with_the_figures(chosen):
    figures = dict(chosen)
    base = nm.load_chip("truenorth")
    document = chip_document(base)
    for name, value in figures.items():
        table, key = name.split(".")
        document[table][key] = list(value) if isinstance(value, tuple) else value
    of_file, made = chip_from_document(document, "file"), nm.load_chip("truenorth", figures)
    plain = [{k: v for k, v in chip_document(chip).items() if k not in TEXTS} for chip in (made, of_file)]
    assert plain[0] == plain[1]
    assert (made is base) == (made.name == base.name) == (known(made) == known(base))
    assert nm.load_chip(made) is made


def test_a_board_has_a_router_for_every_tile():
    board = with_figures(nm.load_chip("truenorth"), {"grid.cores": (6, 8), "grid.chips": (2, 1)})
    assert board.routers == (12, 8)
    assert dataclasses.replace(board, tile=(3, 4)).routers == (4, 2)


def test_names_say_what_is_other_and_differ_where_chips_do():
    base = nm.load_chip("truenorth")
    other = with_figures(base, {"core.axons": 512})
    assert other.name == "truenorth with core.axons = 512"
    assert with_figures(base, {"core.axons": np.int64(512), "core.neurons": 256}) == other
    names = ("core.axons", "core.neurons", "core.weight_bits", "core.leak_bits", "core.axon_types")
    found = {with_figures(base, dict.fromkeys(names, number)).name for number in (7, 8)}
    found |= {with_figures(base, {"time.tick_seconds": 2e-3 + part}).name for part in (0, 1e-12)}
    assert len(found) == 4
    assert all(len(name) <= 100 and name.startswith("truenorth with ") for name in found)
    assert sum(name.startswith("truenorth with 5 other figures (") for name in found) == 2
    assert "core.axons = 512" in other.description
    assert other.source.startswith("set for a trial: core.axons = 512; all others: ")


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"axons": 8}, "did you mean 'core.axons'?"),
        ({"core.axon": 8}, "did you mean 'core.axons'?"),
        ({"cores.axons": 8}, "of the tables grid, core, time"),
        ({"name": "x"}, "figure 'name'"),
        ({"core.axons": 0}, "core.axons: found 0; allowed are integers from 1 to 65536"),
        ({"core.axons": 1.5}, "core.axons: found 1.5"),
        ({"core.axons": 65536, "core.neurons": 65536}, "synapses per core"),
        ({"core.output_axons": 8}, "unknown key of a crossbar core"),
        ({"core.model": "synapse-list"}, "unknown key of a synapse-list core"),
        ({"time.delay": [3, 2]}, "needs the least delay first"),
        ({"defects.cores": [[64, 0]]}, "core"),
        (["core.axons"], "needs a mapping"),
    ],
)
def test_a_chip_that_no_file_may_hold_is_refused(figures, message):
    with pytest.raises(ChipError) as caught:
        nm.load_chip("truenorth", figures)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_kind_of_core_that_is_not_mapped_to_is_not_supported():
    with pytest.raises(NotSupportedError, match="targets_per_neuron"):
        nm.load_chip("truenorth", {"core.targets_per_neuron": 2})


def test_every_combination_is_a_chip_the_last_figure_first():
    base = nm.load_chip("truenorth")
    points = chips_with_figures(base, {"core.axons": [256, 128, 256], "time.delay": [(1, 15), (1, 7)]})
    assert [point.values for point in points] == [(a, d) for a in (256, 128) for d in ([1, 15], [1, 7])]
    assert points[0].chip is base
    assert len({point.chip.name for point in points}) == 4
    assert [point.chip.axons for point in points] == [256, 256, 128, 128]


def test_the_number_of_chips_is_bounded_before_any_is_made():
    base = nm.load_chip("truenorth")
    assert len(chips_with_figures(base, {"core.axons": range(1, MOST_CHIPS + 1)})) == MOST_CHIPS
    with pytest.raises(ChipError, match="make 9000000 chips; at most 256"):
        chips_with_figures(base, {"core.axons": range(3000), "core.neurons": range(3000)})
    for wrong in ([], 8, "256"):
        with pytest.raises(ChipError, match=r"core\.axons"):
            chips_with_figures(base, {"core.axons": wrong})
