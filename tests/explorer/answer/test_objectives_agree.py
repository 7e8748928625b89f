"""An objective has places in many rooms: one that was forgotten, or comes in another order, is red here."""

import inspect
import re
from dataclasses import asdict, fields
from itertools import product

import pytest

import neuromap as nm
from neuromap.cli.commands.explore import explore as explore_command
from neuromap.explorer.answer.advice import list_rows
from neuromap.explorer.answer.exploration import Deadline, Exploration, Gap, TrainedClass
from neuromap.explorer.answer.limits import OBJECTIVES, Candidate, ExploredRow, Limits, value_of
from neuromap.explorer.document import exploration_schema
from neuromap.explorer.search.measurements import N_FIGURES, N_TIMES, Measured, figures_of
from neuromap.explorer.text import exploration_table
from neuromap.network.network import Network
from neuromap.options import options_of
from neuromap.render.quantities import UNITS

NAMES = [objective.name for objective in OBJECTIVES]
MEASURED = Measured(
    "mapped",
    frame_period_ticks=2,
    first_response_ticks=3,
    full_response_ticks=5,
    worst_case_reaction_ticks=7,
    full_response_exact=True,
    cores=11,
    energy_joules=13.0,
    verified=True,
)
TICK = 0.5
ROW = ExploredRow(
    candidate=Candidate((1,), "windowed", "c"),
    pattern="streaming",
    n_patterns=1,
    behaviour_class=1,
    needs_retraining=False,
    tick_seconds=TICK,
    core_bound=10,
    energy_bound=12.0,
    accuracy_bound=0.9,
    accuracy_at_deadline=0.75,
    **asdict(MEASURED),  # every figure that is measured is one of the row, under the same name
)


def test_figures_are_those_of_the_objectives_in_their_order():
    assert len(OBJECTIVES) == N_FIGURES
    assert [objective.bound is None for objective in OBJECTIVES] == [k < N_TIMES for k in range(N_FIGURES)]
    less_is_better = {"sampling_frequency_hz": lambda hertz: 1 / hertz, "accuracy_at_deadline": lambda part: 1 - part}
    for number, objective in zip(figures_of(MEASURED, TICK, 0.75), OBJECTIVES, strict=True):
        value = value_of(ROW, objective)
        assert value.is_exact
        assert (objective.sign < 0) == (objective.name in less_is_better)
        assert number == pytest.approx(less_is_better.get(objective.name, float)(value.number))


def test_every_objective_has_a_bound_a_unit_and_a_limit():
    assert [field.name for field in fields(Limits)] == NAMES
    for objective in OBJECTIVES:
        assert objective.base_unit in (*UNITS, "cores")
        if objective.bound is not None:  # the row cannot be better than its bound
            assert objective.sign * getattr(ROW, objective.bound) < objective.sign * getattr(ROW, objective.name)


def test_the_schema_has_every_objective():
    schema = exploration_schema()
    parts, row = schema["properties"], schema["$defs"]["row"]
    assert parts["objectives"]["items"]["properties"]["name"]["enum"] == NAMES
    best = next(form for form in parts["best"]["anyOf"] if form["type"] == "object")
    assert best["properties"]["objective"]["enum"] == NAMES
    assert list(parts["limits"]["properties"]) == NAMES
    with_deadline = schema["then"]["properties"]  # what format 3 has besides
    assert {*parts["limits"]["required"], *with_deadline["limits"]["required"]} == set(NAMES)
    assert set(NAMES) <= set(row["properties"])
    assert set(NAMES) <= {*row["required"], *with_deadline["rows"]["items"]["required"]}


def test_the_tables_have_a_column_for_every_objective():
    network = Network.from_edges([("I", "O")], name="one edge")
    streaming, chip = nm.RolloutPattern.streaming(network), nm.load_chip("truenorth")
    reached = Deadline(0.003, "digits", "test", 4, 10, 0, (TrainedClass(1, "streaming", "a", None),), 0, ())
    gap = Gap(True, 0, 1.0, 11, 10, "")
    found = Exploration(network, streaming, (chip,), (ROW,), None, None, 1, 1, 1, gap, deadline=reached)
    columns = exploration_table(found, list_rows(found)).columns
    in_text = [" ".join(column.header.split()) for column in columns]
    on_page = [header.lower() for header in re.findall(r"<th>(.*?)</th>", found.to_html())]
    for headers, objective in product((in_text, on_page), OBJECTIVES):
        assert any(header.startswith(objective.title) for header in headers)


def test_the_command_has_an_option_for_every_objective():
    limited = []
    for name, option in options_of(Limits).items():
        ((objective, bound),) = Limits(**{name: option.read("1")})
        assert bound == 1
        assert option.flag.startswith("--max-" if objective.sign > 0 else "--min-")
        limited.append(objective)
    assert sorted(limited) == sorted(OBJECTIVES)
    best = inspect.signature(explore_command).parameters["best"].annotation
    for objective in OBJECTIVES:
        assert objective.title.replace(" ", "-") in best.__metadata__[0].help
