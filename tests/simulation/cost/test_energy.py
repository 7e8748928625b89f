"""Energy: every term apart, absent figures named and never 0, the average in no sum, power by the published fit."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.hardware.chip.chip_document import ENERGY_TERM_KEYS
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.simulation.cost.energy import Counts, bits_off_chip, energy_of, figures_lacking

counts = st.builds(
    Counts,
    ticks=st.integers(0, 1000),
    chips=st.integers(1, 16),
    **dict.fromkeys(
        (
            "neuron_updates",
            "synaptic_events",
            "spikes",
            "hops",
            "crossings",
            "host_spikes",
            "active",
            "fired",
            "arrivals",
        ),
        st.integers(0, 10**12),
    ),
    hops_x=st.just(0),
    seconds=st.floats(0, 1),
)
TIMED = ("neuron_access_joules", "fire_joules", "arrival_joules", "hop_x_joules", "hop_y_joules")
KEYS = [key for key in ENERGY_TERM_KEYS if key not in TIMED]
figures = st.dictionaries(st.sampled_from([*KEYS, "supply_volts", "average_synaptic_event_joules"]), st.floats(0, 1e-3))
included = st.lists(st.sampled_from(KEYS), unique=True)
WIRE = {"boundary_spikes_per_second": 2.0, "boundary_bits_per_second": 68.0}


def by_hand(chip, done, key):
    """Joules of one term, written out once more."""
    each = chip.energy[key]
    return {
        "static_watts": each * chip.tick_seconds * done.ticks * done.chips,
        "tick_joules": each * done.ticks * done.chips,
        "synaptic_event_joules": each * done.synaptic_events,
        "neuron_update_joules": each * done.neuron_updates,
        "spike_joules": each * done.spikes,
        "hop_joules": each * done.hops,
        "off_chip_bit_joules": each * 34 * (done.crossings + done.host_spikes),
    }[key]


@settings(max_examples=200, deadline=None)
@given(done=counts, energy=figures, included=included)
def test_the_sum_is_that_of_known_terms_that_no_other_holds(make_chip, done, energy, included):
    chip = make_chip(energy=energy, energy_included=tuple(included), router=WIRE)
    found = energy_of(chip, done)
    assert sorted(term.key for term in found.terms) == sorted(KEYS)
    for term in found.terms:
        assert (term.included_in is not None) == (term.key in included)
        if term.key in energy:
            assert term.joules == pytest.approx(by_hand(chip, done, term.key))
        else:
            assert term.joules is None
            assert term.joules_each is None
    added = [key for key in KEYS if key in energy and key not in included]
    assert set(found.absent) == set(KEYS) - set(energy) - set(included)
    if not added:
        assert found.joules is found.joules_per_tick is found.watts() is None
        return
    total = sum(by_hand(chip, done, key) for key in added)
    assert found.joules == pytest.approx(total)
    if done.ticks == 0:
        assert found.joules_per_tick is found.joules_per_frame(3) is found.watts() is None
        return
    assert found.joules_per_tick == pytest.approx(total / done.ticks)
    assert found.joules_per_frame(3) == pytest.approx(3 * total / done.ticks)
    assert found.watts() == pytest.approx(total / (done.ticks * chip.tick_seconds))


@settings(max_examples=50, deadline=None)
@given(done=counts, each=st.floats(0, 1e-3))
def test_timed_ticks_tell_access_from_updates_and_hops_by_their_way(make_chip, done, each):
    done = replace(done, hops_x=done.hops // 3)
    energy = dict.fromkeys({*KEYS, *TIMED} - {"hop_joules", "static_watts", "off_chip_bit_joules"}, each)
    found = {
        term.key: term.count for term in energy_of(make_chip(energy=energy), done).terms if term.joules is not None
    }
    assert found == {
        "tick_joules": done.ticks * done.chips,
        "synaptic_event_joules": done.synaptic_events,
        "neuron_access_joules": done.neuron_updates,
        "neuron_update_joules": done.active,
        "fire_joules": done.fired,
        "spike_joules": done.spikes,
        "arrival_joules": done.arrivals,
        "hop_x_joules": done.hops // 3,
        "hop_y_joules": done.hops - done.hops // 3,
    }
    watts = energy_of(make_chip(energy={"static_watts": 2.0}, is_timed=True), done)
    assert watts.joules == pytest.approx(2.0 * done.chips * done.seconds if done.ticks else 0)


@settings(max_examples=50, deadline=None)
@given(done=counts, energy=figures)
def test_the_average_enters_no_sum(make_chip, done, energy):
    energy.pop("average_synaptic_event_joules", None)
    plain = energy_of(make_chip(energy=energy, router=WIRE), done)
    averaged = energy_of(make_chip(energy={**energy, "average_synaptic_event_joules": 5.0}, router=WIRE), done)
    assert (averaged.terms, averaged.joules, averaged.absent) == (plain.terms, plain.joules, plain.absent)
    assert plain.average_joules is None
    assert averaged.average_joules == 5.0 * done.synaptic_events


def test_truenorth_holds_hops_in_its_fit_and_names_what_is_absent():
    done = Counts(ticks=1000, chips=1, neuron_updates=10**6, synaptic_events=10**9, spikes=10**6, hops=10**7)
    found = energy_of(load_chip("truenorth"), done)
    hop = next(term for term in found.terms if term.key == "hop_joules")
    assert (hop.count, hop.included_in, hop.is_added) == (10**7, "fit", False)
    assert hop.joules == pytest.approx(23e-6)
    assert found.joules == pytest.approx(64.4e-3 + 2.30e-3)
    assert found.absent == ("tick_joules", "neuron_update_joules", "spike_joules")
    assert found.average_joules == pytest.approx(26e-3)


def test_a_spike_off_chip_has_the_bits_of_the_wire():
    chip = load_chip("truenorth_ns16e")
    assert bits_off_chip(chip) == pytest.approx(34)
    found = energy_of(chip, Counts(ticks=1, chips=16, crossings=3, host_spikes=7))
    term = next(term for term in found.terms if term.key == "off_chip_bit_joules")
    assert (term.count, term.joules) == (10, pytest.approx(10 * 34 * 26e-12))


@pytest.mark.parametrize("missing", ["boundary_spikes_per_second", "boundary_bits_per_second"])
def test_without_the_bits_of_a_spike_the_energy_off_chip_is_absent(missing):
    chip = load_chip("truenorth")
    chip = replace(chip, router={key: value for key, value in chip.router.items() if key != missing})
    found = energy_of(chip, Counts(ticks=1, chips=1, host_spikes=7))
    assert bits_off_chip(chip) is None
    assert "off_chip_bit_joules" in found.absent
    named = ", ".join(figures_lacking(chip, found.absent))
    assert f"{missing} (needed beside off_chip_bit_joules)" in named  # which the file has
    assert figures_lacking(replace(chip, energy={}), ["off_chip_bit_joules"]) == ("off_chip_bit_joules",)


def test_static_power_counts_every_chip_of_the_board():
    one, board = (
        energy_of(load_chip(name), Counts(ticks=10, chips=chips))
        for name, chips in (("truenorth", 1), ("truenorth_ns16e", 16))
    )
    assert one.watts() == pytest.approx(64.4e-3)
    assert board.watts() == pytest.approx(16 * 64.4e-3)


def test_power_in_another_time_keeps_the_static_power():
    found = energy_of(load_chip("truenorth"), Counts(ticks=1000, chips=1, synaptic_events=10**9))
    assert found.watts(0.5) == pytest.approx(64.4e-3 + 2 * 2.30e-3)
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="above 0"):
            found.watts(seconds)


@pytest.mark.parametrize(("name", "value"), [("ticks", -1), ("chips", 0), ("hops", -2), ("spikes", float("nan"))])
def test_counts_are_counts(name, value):
    with pytest.raises(InputError, match=f"counts: {name} = "):
        Counts(**{"ticks": 1, "chips": 1, name: value})
