"""Energies of several chips are compared only where they are sums of the same terms."""

from pathlib import Path

import neuromap as nm
from neuromap.explorer.candidates.asked import asked_for
from neuromap.explorer.candidates.options import ExploreOptions


def energies(*chips):
    asked = asked_for(ExploreOptions(list(chips), executions=["windowed"], ticks_per_step=[None]))
    return {chip.name: bool(chip.energy) for chip in asked.chips}


def test_figures_of_different_terms_are_left_out_of_all_chips():
    assert energies("truenorth", "truenorth_ns16e") == {"truenorth": True, "truenorth_ns16e": True}
    assert energies("truenorth", "ranc") == {"truenorth": True, "ranc": False}
    assert energies("loihi1") == {"loihi1": True}
    assert energies("truenorth", "loihi1") == {"truenorth": False, "loihi1": False}


def test_the_front_of_two_kinds_of_cores_says_why_it_has_no_energy():
    network = nm.load_network(Path(__file__).resolve().parents[3] / "examples" / "digits" / "ff.toml")
    found = nm.explore(network, chips=["truenorth", "loihi1"], executions=["windowed"], processes=1)
    assert all(row.energy_joules is None for row in found.rows)
    assert "the chips have no figures of the same terms to compare" in str(found)
