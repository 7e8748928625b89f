"""What a report says at the edge: equal or not, static or not, the best accuracy and why it falls, one row or two."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.accuracy.accuracy import Accuracy, FrameAccuracy
from neuromap.explorer.explore import UNMEASURED
from neuromap.network import GradedNeuron, build_network
from neuromap.render.numbers import ALIKE
from neuromap.report.findings import findings
from neuromap.report.text import distinct_rows

NAMES = ["streaming", "hybrid", "sequential"]


@pytest.fixture(scope="module")
def report():
    one = np.ones((1, 1), dtype=int)
    edges = {("I", "A"): one, ("A", "O"): one, ("I", "O"): one}
    network = build_network({"I": (1, None), "A": (1, 1), "O": (1, 1)}, edges)
    patterns = [nm.RolloutPattern.from_values(network, (k > 0,) * 3, name) for k, name in enumerate(NAMES)]
    return nm.latency_report(network, patterns=patterns, executions=["windowed"], n_frames=6)


def with_energies(report, energies, shares=(0.25, 0.25, 0.25)):
    rows = []
    for row, energy, share in zip(report.rows, energies, shares, strict=True):
        terms = dict(row.figures.energy.terms)
        terms["static_watts"] = replace(terms["static_watts"], joules_per_frame=share * energy)
        found = replace(row.figures.energy, joules_per_frame=energy, terms=terms)
        rows.append(replace(row, figures=replace(row.figures, energy=found)))
    return replace(report, rows=tuple(rows))


def about_energy(report):
    (text,) = [found.text for found in findings(report) if found.kind == "cost" and "J a frame" in found.text]
    return text


@pytest.mark.parametrize(
    ("energies", "said"),
    [
        ((64.448e-9, 64.452e-9, 64.450e-9), "every pattern needs 64.4 nJ a frame, equal within 0.1 %"),
        (
            (64.452e-9, 64.448e-9, 80e-9),
            "streaming and hybrid need the least energy: 64.4 nJ a frame, equal within 0.1 %; sequential 80 nJ a frame",
        ),
        ((64e-9, 64e-9, 64e-9), "every pattern needs 64 nJ a frame"),
        (
            (64e-9, 65e-9, 65.01e-9),
            "streaming needs the least energy: 64 nJ a frame; hybrid and sequential 65 nJ a frame",
        ),
        ((100.0e-9, 100.3e-9, 100.2e-9), "every pattern needs 100 nJ a frame, equal in three digits"),
    ],
)
def test_energies_that_another_draw_of_stimuli_could_turn_round_are_equal(report, energies, said):
    assert about_energy(with_energies(report, energies)) == f"{said}; 25 % of it is static"


@given(st.floats(1e-9, 1e-3), st.floats(0, 0.02), st.floats(0, 0.02))
def test_the_least_energy_is_least_by_more_than_the_tolerance(report, energy, one, other):
    energies = (energy, energy * (1 + one), energy * (1 + other))
    said = about_energy(with_energies(report, energies))
    least, *others = sorted(energies)
    if others[-1] <= least * (1 + ALIKE):
        assert said.startswith("every pattern needs")
    if others[0] > least * 1.006:  # beyond the tolerance, and beyond what three digits can hide
        assert said.startswith(f"{NAMES[energies.index(least)]} needs the least energy: ")
    if said.startswith("every"):
        assert others[-1] <= least * 1.01
        assert ("equal within 0.1 %" in said) == (least < others[-1] <= least * (1 + ALIKE))


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((0.9994, 0.9996, 0.9999), "99.9 % of it is static"),  # never rounded up to all of it
        ((1.0, 1.0, 1.0), "100 % of it is static"),
        ((0.6, 0.8024, 0.7), "60 % to 80.2 % of it is static"),
        ((0.0, 0.0009, 0.0), "less than 0.1 % of it is static"),
        ((0.0, 0.0, 0.0), "none of it is static"),
    ],
)
def test_energy_says_how_much_of_it_is_static(report, shares, said):
    assert (
        about_energy(with_energies(report, (1e-6, 1e-6, 1e-6), shares)) == f"every pattern needs 1 µJ a frame; {said}"
    )


def test_the_report_and_the_explorer_have_one_tolerance():
    assert ALIKE == UNMEASURED


def with_accuracies(report, curves):
    rows = []
    for row, curve in zip(report.rows, curves, strict=True):
        frames = tuple(
            FrameAccuracy(k, None, tick, round(1000 * share), share) for k, (tick, share) in enumerate(curve, 1)
        )
        found = Accuracy(
            "n",
            row.pattern,
            row.execution,
            "truenorth",
            "digits",
            "test",
            "O",
            1000,
            10,
            0,
            frames,
            1,
            1,
            1.0,
            1,
            0.0,
            0.0,
            None,
            voters=1,
            n_frames=len(frames),
        )
        rows.append(replace(row, accuracy=found))
    return replace(report, rows=tuple(rows))


@pytest.mark.parametrize(
    ("curves", "said"),
    [
        (
            [[(3, 0.6), (6, 0.887), (9, 0.86)], [(6, 0.8), (9, 0.865)], [(9, 0.85)]],
            "88.7 %, of streaming at tick 6 and falls to 86 % at tick 9; at tick 9 the best is 86.5 %, of hybrid",
        ),
        (
            [[(3, 0.6), (6, 0.7)], [(3, 0.5), (6, 0.9)], [(3, 0.4), (6, 0.9)]],
            "90 %, of hybrid and sequential at tick 6",
        ),
        (
            [[(3, 0.9), (6, 0.7)], [(3, 0.5), (6, 0.9)], [(3, 0.4), (6, 0.8)]],
            ", the best at any time; it falls to 70 % at tick 6; at tick 6 the best is 90 %, of hybrid",
        ),
        (  # only a slow pattern is as good, after the last tick of the table
            [[(3, 0.6), (6, 0.7)], [(3, 0.5), (6, 0.7)], [(3, 0.4), (12, 0.9)]],
            "90 %, of sequential at tick 12",
        ),
    ],
)
def test_the_best_accuracy_is_told_with_its_tick(report, curves, said):
    (text,) = [found.text for found in findings(with_accuracies(report, curves)) if found.kind == "accuracy"]
    assert text.endswith(said if said.startswith(",") else f"; the best is {said}")


@pytest.mark.parametrize(("trained", "why"), [(1, False), (2, True), (3, False), (None, False)])
def test_a_fall_is_put_down_to_training_only_after_the_frames_that_were_trained(report, trained, why):
    curve = [(3, 0.8), (6, 0.9), (9, 0.7)]  # the best is the second frame, the third falls
    tables = {} if trained is None else {"training": {"frames": trained}}
    told = replace(report, network=replace(report.network, tables=tables))
    (text,) = [f.text for f in findings(with_accuracies(told, [curve] * 3)) if f.kind == "accuracy"]
    assert " falls to 70 % at tick 9" in text
    assert (", its 3rd frame, where 2 were trained" in text) == why


FIGURES = [
    ("frame_period_ticks", lambda row: replace(row, frame_period_ticks=row.frame_period_ticks + 1)),
    ("observed", lambda row: replace(row, observed_first_difference_ticks=99)),
    ("usage", lambda row: replace(row, usage=replace(row.usage, cores=row.usage.cores + 1))),
    ("verification", lambda row: replace(row, verification=replace(row.verification, verified=False))),
]


@pytest.mark.parametrize(("name", "changed"), FIGURES, ids=[name for name, _ in FIGURES])
def test_executions_that_are_identical_are_one_row(report, name, changed):
    row = report.rows[0]
    same = replace(row, execution="pipelined", verification=replace(row.verification, n_ticks=99))
    alike = replace(report, rows=(row, report.rows[1], same))
    assert [(r.pattern, r.execution) for r in distinct_rows(alike)] == [
        ("streaming", "windowed, pipelined"),
        ("hybrid", "windowed"),
    ]
    assert len(alike.to_dict()["rows"]) == 3
    other = replace(report, rows=(row, changed(same)))
    assert [r.execution for r in distinct_rows(other)] == ["windowed", "pipelined"]


def test_graded_networks_are_verified_value_for_value():
    graded = GradedNeuron(0, 9)
    network = build_network({"I": (2, graded), "O": (1, graded)}, {("I", "O"): [[1, 1]]})
    report = nm.latency_report(network, "loihi2", patterns=["streaming"], executions=["windowed"], n_frames=4)
    (said,) = [found.text for found in findings(report) if found.kind == "verified"]
    assert said == "in the one mapped row the simulated chip computed exactly what the rollout defines, value for value"
    page = report.to_html().split("</style>")[1].split("<script")[0]
    told = re.findall(r'>[^<]+|(?:aria-label|title)="[^"]+', page)
    for text in (report.to_text(), *told):  # what is sent are messages
        assert "spike" not in text.lower()
    assert any("Messages over ticks" in text for text in told)
