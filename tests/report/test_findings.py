"""Sentences of a report: energies that count as equal, and the best accuracy with the tick at which it was told."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy.accuracy import Accuracy, FrameAccuracy
from neuromap.explorer.search.best_first import UNMEASURED
from neuromap.network import GradedNeuron, build_network
from neuromap.render.numbers import ALIKE
from neuromap.report.findings import findings

NAMES = ["streaming", "hybrid", "sequential"]


@pytest.fixture(scope="module")
def report():
    one = np.ones((1, 1), dtype=int)
    edges = {("I", "A"): one, ("A", "O"): one, ("I", "O"): one}
    network = build_network({"I": (1, None), "A": (1, 1), "O": (1, 1)}, edges)
    patterns = [nm.RolloutPattern.from_values(network, (k > 0,) * 3, name) for k, name in enumerate(NAMES)]
    return nm.latency_report(network, patterns=patterns, executions=["windowed"], n_frames=6)


def with_energies(report, energies):
    rows = []
    for row, energy in zip(report.rows, energies, strict=True):
        found = replace(row.figures.energy, joules_per_frame=energy)
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
    assert about_energy(with_energies(report, energies)) == said


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
        )
        rows.append(replace(row, accuracy=found))
    return replace(report, rows=tuple(rows))


@pytest.mark.parametrize(
    ("curves", "said"),
    [
        (
            [[(3, 0.6), (6, 0.887), (9, 0.86)], [(6, 0.8), (9, 0.865)], [(9, 0.85)]],
            "; the best up to tick 9 is 88.7 %, of streaming at tick 6; at tick 9 it is 86.5 %, of hybrid",
        ),
        (
            [[(3, 0.6), (6, 0.7)], [(3, 0.5), (6, 0.9)], [(3, 0.4), (6, 0.9)]],
            "; the best up to tick 6 is 90 %, of hybrid and sequential at tick 6",
        ),
        (
            [[(3, 0.9), (6, 0.7)], [(3, 0.5), (6, 0.9)], [(3, 0.4), (6, 0.8)]],
            "; the best up to tick 6 is 90 %, of streaming at tick 3",
        ),
    ],
)
def test_the_best_accuracy_is_told_with_its_tick(report, curves, said):
    (text,) = [found.text for found in findings(with_accuracies(report, curves)) if found.kind == "accuracy"]
    assert text.endswith(said)


def test_graded_networks_are_verified_value_for_value():
    graded = GradedNeuron(0, 9)
    network = build_network({"I": (2, graded), "O": (1, graded)}, {("I", "O"): [[1, 1]]})
    report = nm.latency_report(network, "loihi2", patterns=["streaming"], executions=["windowed"], n_frames=4)
    (said,) = [found.text for found in findings(report) if found.kind == "verified"]
    assert said == "in the one mapped row the simulated chip computed exactly what the rollout defines, value for value"
