"""Limits: what people type, which rows keep them, which row is best, and what is said where none does."""

import math
import shlex
import time
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cli.arguments.options import read_pattern
from neuromap.errors import DoesNotFitError, InputError
from neuromap.explorer.answer.advice import advise, map_command, pattern_argument
from neuromap.explorer.answer.exploration import Exploration, Gap
from neuromap.explorer.answer.limits import (
    OBJECTIVES,
    Candidate,
    ClosestRow,
    ExploredRow,
    Limits,
    objective_named,
    parse_bound,
    value_of,
)
from neuromap.network.network import Network
from neuromap.render.quantities import UNITS, parse_quantity, with_unit

NETWORK = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O"), ("A", "A")], name="small")
PATTERNS = [values for values in product((0, 1), repeat=4) if values[3]]
BY_NAME = {objective.name: objective for objective in OBJECTIVES}
CHIP = nm.load_chip("truenorth")


@st.composite
def rows(draw, status=None):
    """One row of any figures; energy is known of all rows or of none."""
    status = status or draw(st.sampled_from(["mapped", "mapped", "mapped", "not mapped", "does not fit", "excluded"]))
    bound, has_energy = draw(st.integers(1, 20)), draw(st.booleans())
    mapped = status == "mapped"
    first = draw(st.integers(1, 6))
    return ExploredRow(
        candidate=Candidate(draw(st.sampled_from(PATTERNS)), draw(st.sampled_from(["windowed", "pipelined:3"])), "c"),
        pattern="drawn",
        n_patterns=draw(st.integers(1, 3)),
        behaviour_class=1,
        needs_retraining=draw(st.booleans()),
        status=status,
        frame_period_ticks=draw(st.integers(1, 6)),
        first_response_ticks=first,
        full_response_ticks=first + draw(st.integers(0, 6)),
        worst_case_reaction_ticks=first + draw(st.integers(0, 6)),
        full_response_exact=True,
        tick_seconds=draw(st.sampled_from([1e-3, 1e-6, 7e-4])),
        core_bound=bound,
        energy_bound=1e-9 * bound if has_energy else None,
        cores=bound + draw(st.integers(0, 9)) if mapped else None,
        energy_joules=1e-9 * (bound + draw(st.integers(0, 9))) if mapped and has_energy else None,
        verified=draw(st.sampled_from([True, True, None, False])) if mapped else None,
        message="refused" if status == "does not fit" else "",
    )


@st.composite
def bounds(draw):
    """Limits that some of the drawn rows keep and others do not."""
    values = {
        "first_response_seconds": st.floats(1e-6, 8e-3),
        "full_response_seconds": st.floats(1e-6, 14e-3),
        "worst_case_reaction_seconds": st.floats(1e-6, 14e-3),
        "sampling_frequency_hz": st.floats(100, 1e6),
        "cores": st.integers(1, 29),
        "energy_joules": st.floats(1e-9, 29e-9),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(values)), max_size=3))
    return Limits(**{name: draw(values[name]) for name in chosen})


def exploration(found, open_rows=0):
    gap = Gap(open_rows == 0, open_rows, 1.0, None, 1, "a statement")
    pattern = nm.RolloutPattern.streaming(NETWORK)
    return Exploration(NETWORK, pattern, (CHIP,), tuple(found), None, None, len(found), len(found), len(found), gap)


def keeps(row, limits):
    """By hand: every limit, on figures or on bounds."""
    cores, energy = (row.cores, row.energy_joules) if row.status == "mapped" else (row.core_bound, row.energy_bound)
    slack = 1 + 1e-9
    return row.status != "does not fit" and all(
        [
            row.first_response_seconds <= (limits.first_response_seconds or math.inf) * slack,
            row.full_response_seconds <= (limits.full_response_seconds or math.inf) * slack,
            row.worst_case_reaction_seconds <= (limits.worst_case_reaction_seconds or math.inf) * slack,
            row.sampling_frequency_hz >= (limits.sampling_frequency_hz or 0) / slack,
            cores <= (limits.cores or math.inf),
            limits.energy_joules is None or (energy is not None and energy <= limits.energy_joules * slack),
        ]
    )


# Quantities.


@given(st.data(), st.floats(1e-3, 1e6), st.sampled_from(["", " "]))
def test_a_quantity_is_its_number_times_its_unit(data, value, blank):
    base = data.draw(st.sampled_from(sorted(UNITS)))
    unit, worth = data.draw(st.sampled_from(sorted(UNITS[base].items())))
    for spelling in {unit, unit.replace("µ", "u"), unit.replace("µ", "μ")}:
        assert parse_quantity(f"{value!r}{blank}{spelling}", base, "--x") == value * worth
    assert parse_quantity(repr(value), base, "--x") == value


@given(st.floats(1e-12, 1e9), st.sampled_from(sorted(UNITS)))
def test_what_is_written_can_be_read(value, unit):
    assert parse_quantity(with_unit(value, unit), unit, "--x") == pytest.approx(value, rel=6e-4)


@pytest.mark.parametrize(
    "text", ["", "ms", "five ms", "-5ms", "0", "nan", "inf", "1e400s", "5 m s", "٥ms", "5;ls", "1e-400"]
)
def test_what_is_no_quantity_is_refused_in_one_line(text):
    with pytest.raises(InputError) as caught:
        parse_quantity(text, "s", "--max-first-response")
    assert str(caught.value).startswith("--max-first-response")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "unit"), [("5Hz", "s"), ("5MS", "s"), ("5 min", "s"), ("5 W", "J"), ("5ms", "Hz")])
def test_another_unit_is_refused_and_the_known_ones_named(text, unit):
    with pytest.raises(InputError) as caught:
        parse_quantity(text, unit, "--x")
    for known in UNITS[unit]:
        assert known in str(caught.value)


# Limits.


@given(bounds())
def test_limits_can_be_written_and_read(limits):
    again = Limits.parse(str(limits))
    for objective in OBJECTIVES:
        one, other = getattr(limits, objective.name), getattr(again, objective.name)
        assert (one is None) == (other is None)
        assert one is None or other == pytest.approx(one, rel=1e-9)
    assert bool(again) == bool(limits)


@pytest.mark.parametrize(
    "text",
    [
        "cores", "cores < 3", "cores >= 3", "cores <= 0", "cores <= 2.5", "cores <= -1", "speed <= 3",
        "sampling frequency <= 3 Hz", "full response <= 5 W", "cores <= 3, cores <= 4", "cores <= 3; energy <= 1 J",
        "cores <= 9999999999999",
    ],
)  # fmt: skip
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(InputError):
        Limits.parse(text)


@pytest.mark.parametrize("text", ["cores" + " " * 10**6, "a -" * 10**6, "9" * 10**6 + "x", "cores <= " + "9" * 10**6])
def test_texts_of_any_length_are_refused_at_once(text):
    began = time.process_time()
    for read in (Limits.parse, lambda text: parse_quantity(text, "s", "--x")):
        with pytest.raises(InputError):
            read(text)
    assert time.process_time() - began < 5  # where the search is quadratic it takes hours


@pytest.mark.parametrize("cores", ["0", "-1", "2.5", "many", "1000000000000", "9" * 20])
def test_bounds_of_cores_are_named(cores):
    assert Limits.parse("cores <= 999999999999").cores == 999_999_999_999
    with pytest.raises(InputError, match=r"a whole number of cores, 1 to 999999999999$"):
        Limits.parse(f"cores <= {cores}")


@pytest.mark.parametrize("wrong", [{"cores": 2.5}, {"cores": 0}, {"energy_joules": math.nan}, {"energy_joules": -1.0}])
def test_wrong_bounds_are_refused(wrong):
    with pytest.raises(InputError):
        Limits(**wrong)


def test_every_objective_has_a_name_a_unit_and_a_limit():
    for objective in OBJECTIVES:
        for text in (objective.title, objective.title.replace(" ", "-"), objective.title.upper()):
            assert objective_named(text) == objective
        assert objective.base_unit
        assert Limits(**{objective.name: parse_bound("1", objective, "--x")})
    with pytest.raises(InputError, match="sampling-frequency"):
        objective_named("speed")


@given(rows("mapped"), st.integers(1, 10**6), st.sampled_from([1e-3, 1e-6, 3.3e-4, 1e-9, 7e-5]))
def test_ticks_that_floating_point_misses_by_a_hair_are_within_the_limit(row, n, tick):
    row = replace(row, first_response_ticks=n, frame_period_ticks=n, tick_seconds=tick)
    for limits in (
        Limits(first_response_seconds=float(f"{n * tick:.12g}")),
        Limits(sampling_frequency_hz=1 / (n * tick)),
    ):
        assert limits.allows(row)
        assert not limits.allows(replace(row, first_response_ticks=n + 1, frame_period_ticks=n + 1))


@given(rows(), bounds())
def test_a_row_is_allowed_as_worked_out_by_hand(row, limits):
    assert limits.allows(row) == keeps(row, limits)


@given(rows("mapped"), bounds(), st.integers(0, 5))
def test_a_row_that_is_not_mapped_is_judged_by_what_it_may_become(row, limits, lower):
    energy = None if row.energy_joules is None else max(0.0, row.energy_joules - 1e-9 * lower)
    before = replace(
        row,
        status="not mapped",
        cores=None,
        energy_joules=None,
        core_bound=max(1, row.cores - lower),
        energy_bound=energy,
    )
    assert limits.allows(before) or not limits.allows(row)


# The best row.


def usable(found, limits, objective):
    return [
        row
        for row in found
        if row.status == "mapped" and row.verified is not False and keeps(row, limits)
        and value_of(row, objective).number is not None
    ]  # fmt: skip


def figures(row):
    values = [(o.sign, value_of(row, o).number) for o in OBJECTIVES]
    return [math.inf if number is None else sign * float(f"{number:.12g}") for sign, number in values]


@given(st.lists(rows(), max_size=8), bounds(), st.sampled_from(OBJECTIVES))
@settings(deadline=None)
def test_no_row_within_the_limits_is_better_than_the_best(found, limits, objective):
    best = limits.best(found, objective)
    others = usable(found, limits, objective)
    assert (best is None) == (not others)
    if best is None:
        return
    assert best in others
    k = OBJECTIVES.index(objective)
    assert figures(best)[k] == min(figures(row)[k] for row in others)
    for row in others:  # it is on their front
        assert figures(row) == figures(best) or any(a > b for a, b in zip(figures(row), figures(best), strict=True))


@given(st.lists(rows(), max_size=8), bounds(), st.sampled_from(OBJECTIVES))
@settings(deadline=None)
def test_advice_counts_the_rows_that_could_be_better_still(found, limits, objective):
    if not usable(found, limits, objective):
        with pytest.raises(DoesNotFitError, match=r"^[^\n]+$"):
            advise(exploration(found), objective, limits)
        return
    advice = advise(exploration(found), objective, limits)
    k = OBJECTIVES.index(objective)
    best = figures(advice.row)
    open_rows = [row for row in found if row.status == "not mapped" and keeps(row, limits)]
    surely = [row for row in open_rows if figures(row)[k] < best[k]]
    perhaps = [row for row in open_rows if figures(row)[k] <= best[k]]
    assert len(surely) <= advice.n_rivals <= len(perhaps)
    assert advice.limits == limits
    assert with_unit(value_of(advice.row, BY_NAME["full_response_seconds"]).number, "s") in advice.lines()[1]


def test_open_rows_beyond_those_that_are_listed_are_rivals_too(a_row):
    advice = advise(exploration([a_row], open_rows=1000), BY_NAME["cores"])
    assert advice.n_rivals == 1000


@pytest.fixture
def a_row():
    return ExploredRow(
        candidate=Candidate((0, 0, 0, 1), "windowed", "c", "anywhere", 2), pattern="the pattern", n_patterns=1,
        behaviour_class=1, needs_retraining=False, status="mapped",
        frame_period_ticks=2, first_response_ticks=3, full_response_ticks=4,
        worst_case_reaction_ticks=4, full_response_exact=True, tick_seconds=1e-3, core_bound=5, energy_bound=None,
        cores=8, verified=True,
    )  # fmt: skip


def test_where_nothing_keeps_the_limits_the_tightest_and_the_closest_are_named(a_row):
    far = replace(a_row, pattern="far", cores=80, first_response_ticks=30)
    with pytest.raises(DoesNotFitError) as caught:
        advise(exploration([far, a_row]), BY_NAME["cores"], Limits.parse("cores <= 7, first response <= 1ms"))
    message = str(caught.value)
    assert "tightest is first response <= 1 ms" in message
    assert "closest is the pattern, windowed on c with 3 ms" in message
    assert caught.value.exit_code == 3


def test_what_there_was_no_time_for_is_said(a_row):
    waiting = replace(a_row, status="not mapped", cores=None, verified=None)
    hurried = replace(a_row, cut_short=("energy",))
    said = {
        "cores": (
            [waiting],
            "no row was tried in the time that was given, and 1 row that might was not mapped; give more time",
        ),
        "energy_joules": ([hurried, waiting], "energy was measured of no row in the time that was given; give more"),
    }
    for objective, (found, message) in said.items():
        with pytest.raises(DoesNotFitError, match=message):
            advise(exploration(found), BY_NAME[objective])


def test_of_rows_that_miss_the_limits_alike_one_of_a_named_pattern_is_the_closest(a_row):
    by_edges = replace(a_row, pattern="A -> B, B -> A")
    for found in ([by_edges, a_row], [a_row, by_edges]):
        assert Limits.parse("cores <= 7").closest(found)[0].pattern == "the pattern"


@given(st.lists(rows(), max_size=8), bounds())
def test_the_closest_of_the_refused_rows_is_remembered(found, limits):
    watched = ClosestRow(limits)
    assert [watched.allows(row) for row in found] == [limits.allows(row) for row in found]
    worst = [
        max(factor for factor, _ in limits.excess(row))
        for row in found
        if row.status != "does not fit" and row.verified is not False and not limits.allows(row)
    ]
    assert len(watched.refused) == bool(worst)
    for row in watched.refused:
        assert max(factor for factor, _ in limits.excess(row)) == min(worst)


@pytest.mark.parametrize(
    ("changes", "limits", "words"),
    [
        ({}, "energy <= 1 J", "no figures of energy"),
        ({"status": "not mapped", "cores": None}, "cores <= 7", "1 row that might"),
        ({"verified": False}, "cores <= 8", "on none the chip equals the reference"),
        ({"status": "does not fit", "cores": None, "message": "too big"}, "", "no row fits: too big"),
    ],
)
def test_why_there_is_no_best_row_is_said(a_row, changes, limits, words):
    with pytest.raises(DoesNotFitError, match=words):
        advise(exploration([replace(a_row, **changes)]), BY_NAME["cores"], Limits.parse(limits))
    with pytest.raises(DoesNotFitError, match="known of no row"):
        advise(exploration([a_row]), BY_NAME["energy_joules"])


# The command that maps a row.


@pytest.mark.parametrize("values", list(product((0, 1), repeat=4)))
def test_the_command_means_the_pattern_of_the_row(a_row, values):
    for name in ("streaming", "sequential", "the edges of it"):  # names may be wrong, values not
        row = replace(a_row, candidate=replace(a_row.candidate, values=values), pattern=name)
        text = pattern_argument(exploration([row]), row)
        if any(values):
            assert read_pattern(NETWORK, text).values == values


def test_the_command_holds_all_that_was_chosen_quoted_for_a_shell(a_row):
    chip = ["chips/c d.toml", "--set=core.axons=8"]
    command = map_command(exploration([a_row]), a_row, "my nets/a'b.toml", {"c": chip})
    assert shlex.split(command) == [
        "neuromap", "map", "my nets/a'b.toml", "--pattern", "A -> A", "--execution", "windowed",
        "--chip", *chip, "--splitters", "anywhere", "--ticks-per-step", "2",
    ]  # fmt: skip


def test_energies_within_the_tolerance_are_equal_and_the_other_objectives_decide(a_row):
    least, close, other = (
        replace(a_row, energy_joules=joules, cores=cores)
        for joules, cores in ((64.448e-9, 9), (64.452e-9, 8), (64.6e-9, 7))
    )
    found = replace(exploration([least, close, other]), energy_tolerance=0.001)
    advice = advise(found, BY_NAME["energy_joules"])
    assert advice.row == close
    assert "1 row more with an energy that is equal within 0.1 %" in advice.lines()[1]
    exact = advise(exploration([least, close, other]), BY_NAME["energy_joules"])
    assert exact.row == least
    assert "equal" not in exact.lines()[1]
    assert advise(found, BY_NAME["cores"]).row == other
