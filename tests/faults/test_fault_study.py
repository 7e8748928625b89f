"""A study of faults: what is counted, what is kept, and what its forms say."""

import csv
import io
import json
import math

import jsonschema
import numpy as np
import pytest
from scipy import stats

import neuromap as nm
from neuromap.errors import InputError, NeuromapError
from neuromap.faults import KINDS, Faults, ShownImages, strike, study_faults
from neuromap.faults.fault_study import FaultRun, mean_of, share_of
from neuromap.faults.page import findings
from neuromap.simulation.choose_frames import RandomFrames
from neuromap.simulation.engine.engine_choice import EngineChoice

RATES = (0.0, 0.05, 0.3)


@pytest.fixture(scope="module")
def rollouts():
    rng = np.random.default_rng(0)
    edges = {(u, v): rng.integers(-1, 2, (20, 20)) for u, v in ("IH", "HH", "HO")}
    net = nm.build_network({"I": (20, None), "H": (20, 1), "O": (20, 1)}, edges, name="small")
    return [nm.Rollout(net, pattern) for pattern in ("streaming", "sequential")]


@pytest.fixture(scope="module")
def streaming(rollouts):
    return nm.map_rollout(rollouts[0])


@pytest.fixture(scope="module")
def arguments():
    return {"rates": RATES, "seeds": 2, "stimuli": RandomFrames(9, 3, 0.4), "n_stimuli": 2}


@pytest.fixture(scope="module")
def study(rollouts, arguments):
    return study_faults(rollouts, **arguments)


def test_every_chip_is_there_once(study):
    names = [(run.pattern, run.kind, run.rate, run.seed) for run in study.runs]
    wanted = [(p, k, r, s) for p in ("streaming", "sequential") for k in KINDS for r in RATES for s in range(2)]
    assert names == wanted
    assert [(p.pattern, p.kind, p.rate) for p in study.points] == [name[:3] for name in wanted[::2]]


def test_chips_without_faults_are_right(study):
    without = [run for run in study.runs if run.rate == 0]
    assert all(run.struck == run.lost == run.added == 0 and run.bits > 0 for run in without)
    assert all(run.at_risk > 0 for run in without if run.kind == "dropped-spikes")
    assert {run.first_response_ticks for run in without if run.pattern == "streaming"} == {2}
    assert all(point.error.low == point.error.high == 0 for point in study.points if point.rate == 0)


def test_errors_are_those_of_the_program_with_faults(study, streaming):
    """Counted again from traces of the program with faults."""
    stimuli = [nm.random_frames(streaming, 9, density=0.4, seed=seed) for seed in (3, 4)]
    for kind in ("silent-neurons", "flipped-synapses"):
        struck = strike(streaming, Faults({kind: 0.3}, 1)).program
        lost = added = 0
        for frames in stimuli:
            right, found = (nm.simulate(program, frames).frames("O")[2:] for program in (streaming, struck))
            lost += int((right & ~found).sum())
            added += int((found & ~right).sum())
        (run,) = [r for r in study.runs if (r.pattern, r.kind, r.rate, r.seed) == ("streaming", kind, 0.3, 1)]
        assert (run.lost, run.added, run.bits) == (lost, added, 2 * 7 * 20)
        assert lost + added > 0


def test_results_are_kept_and_not_done_again(rollouts, arguments, study, tmp_path, monkeypatch):
    path = tmp_path / "faults.results"
    asked = arguments | {"kinds": ["dead-links", "silent-neurons"], "results": path}
    part = study_faults(rollouts[:1], **asked)
    assert set(part.runs) <= set(study.runs)
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-2]) + "\n" + lines[-2][:40])  # killed while it wrote
    assert study_faults(rollouts[:1], **asked).to_json() == part.to_json()
    monkeypatch.setattr("neuromap.faults.fault_study.run_job", None)  # nothing is left to do
    assert study_faults(rollouts[:1], **asked).to_json() == part.to_json()


@pytest.mark.thorough
def test_processes_and_engines_make_no_difference(rollouts, arguments, study):
    assert study_faults(rollouts, **arguments, processes=2).to_json() == study.to_json()
    assert study_faults(rollouts, **arguments, choice=EngineChoice("numpy")).to_json() == study.to_json()


def test_accuracy_without_faults_is_that_of_the_chip(digits_network):
    pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    images = nm.datasets.load_images("digits", "test", limit=12)
    rollout = nm.Rollout(digits_network, "streaming")
    found = study_faults(
        [rollout], kinds=["silent-neurons"], rates=[0, 1], seeds=2, stimuli=ShownImages(images, 3, seed=1)
    )
    whole, dead = found.points
    expected = nm.accuracy.accuracy_on_chip(rollout, nm.map_rollout(rollout), images, 3, seed=1)
    assert whole.accuracy.value == expected.frames[-1].accuracy
    assert dead.accuracy.value == np.count_nonzero(images.labels == 0) / 12  # a silent frame names class 0
    assert (dead.no_response.value, dead.first_response_ticks) == (1, None)
    assert found.images == 12


def test_dropped_spikes_leave_no_way_at_rate_1_only(rollouts):
    found = study_faults(rollouts[:1], kinds=["dropped-spikes"], rates=[0.9, 1], seeds=1, n_stimuli=1)
    some, none = found.points
    assert (some.first_response_ticks, none.first_response_ticks) == (2, None)
    assert none.lost == none.error.value
    assert (none.struck, none.error.low) == (none.at_risk, None)


def test_intervals_are_those_of_the_statisticians():
    values = [0.2, 0.25, 0.4, 0.3]
    found = mean_of(values)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(values), low, high))
    for count, n in ((0, 5), (2, 5), (5, 5), (30, 100)):
        wilson = stats.binomtest(count, n).proportion_ci(0.95, method="wilson")
        found = share_of(count, n)
        assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=1e-9)
    ticks = [2, 2, 5, 3]
    found, (low, high) = mean_of(ticks, math.inf), stats.t.interval(0.95, 3, np.mean(ticks), stats.sem(ticks))
    assert (found.value, found.low, found.high) == pytest.approx((3, low, high))
    assert (mean_of([0.5]).low, mean_of([0.0, 1.0]).low, mean_of([0.0, 1.0]).high) == (None, 0, 1)


def test_forms_say_the_same(study):
    document = json.loads(study.to_json())
    jsonschema.validate(document, nm.load_schema("faults"))
    lines = list(csv.DictReader(io.StringIO(study.to_csv())))
    assert len(lines) == len(document["points"]) == len(study.points)
    for line, point in zip(lines, document["points"], strict=True):
        assert (line["fault"], float(line["rate"])) == (point["kind"], point["rate"])
        assert float(line["output_error_high"]) == point["error"]["high"]
        assert line["accuracy"] == ""
        low, mean, high = (point[f"first_response_{end}ticks"] for end in ("low_", "", "high_"))
        assert (mean is None) or (low is None) or 0 <= low <= mean <= high
        assert line["first_response_high_ticks"] == ("" if high is None else str(high))
    page, text = study.to_html(), study.to_text(200)
    assert page.count("<svg") == 2  # one of them for telephones
    for kind in KINDS:
        assert kind in page
        assert text.count(f" {kind} ") == len(RATES) * 2
    assert study.to_svg().count(">output error") == len(KINDS)
    assert max(map(len, study.to_text(80).splitlines())) <= 80


def test_findings_are_those_of_the_points(study):
    said = findings(study)
    assert set(said) == set(KINDS)
    for kind in KINDS:
        points = [point for point in study.points if point.kind == kind]
        text = " ".join(said[kind])
        last = [point for point in points if point.rate == max(RATES)]
        assert ("At 30 % an output error of " in text) == any(point.error.value for point in last)
        assert ("Chips without a response" in text) == any(point.no_response.value for point in points)
        assert ("no output error" in text.lower()) == all(
            point.error.value == 0 for point in points if point.rate == RATES[1]
        )
        if any(point.error.value for point in last):
            best = min(last, key=lambda point: point.error.value)
            assert f"{100 * best.error.value:.3g} %" in text
            assert best.curve in text


def test_a_result_that_was_changed_is_refused(rollouts, tmp_path):
    path = tmp_path / "faults.results"
    study_faults(rollouts[:1], kinds=["dead-links"], rates=[0], seeds=1, n_stimuli=1, results=path)
    path.write_text(path.read_text().replace('"lost": 0', '"lost": 1'))
    with pytest.raises(InputError, match="checksum"):
        study_faults(rollouts[:1], kinds=["dead-links"], rates=[0], seeds=1, n_stimuli=1, results=path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kinds": ["x"]}, "'x': is not known; choose of dead-cores"),
        ({"kinds": []}, "no kind of faults is given"),
        ({"rates": []}, "rate: none is given"),
        ({"rates": [-0.1]}, "rate -0.1: must be a part from 0 to 1"),
        ({"seeds": 0}, "seeds = 0: must be 1 to 1000"),
        ({"processes": 0}, "processes = 0"),
        ({"stimuli": RandomFrames(2)}, "stimuli: have 2 frames, frame 0 included"),
    ],
)
def test_what_cannot_be_studied_is_refused_in_one_line(rollouts, changes, words):
    with pytest.raises(NeuromapError) as refusal:
        study_faults(rollouts[:1], **changes)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_rollouts_are_of_one_network(rollouts, digits_network):
    other = nm.build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]}, name="other")
    for wrong in ([], [*rollouts, nm.Rollout(other, "streaming")], ["streaming"], rollouts[0]):
        with pytest.raises(InputError):
            study_faults(wrong)


def test_a_run_without_bits_has_no_error():
    run = FaultRun("p", "windowed", "dead-cores", 0.0, 0, 0, 1, 0, 0, 0, None, None, 0)
    assert (run.error, run.accuracy) == (0.0, None)


def test_whole_rates_are_the_same_chips(rollouts, tmp_path):
    """0 and 1 may be integers; what is kept of them is found again as 0.0 and 1.0."""
    how = {"kinds": ["silent-neurons"], "seeds": 1, "n_stimuli": 1, "results": tmp_path / "kept"}
    one = study_faults(rollouts[:1], rates=[0, 1], **how)
    size = (tmp_path / "kept").stat().st_size
    assert study_faults(rollouts[:1], rates=[0.0, 1.0], **how).to_json() == one.to_json()
    assert (tmp_path / "kept").stat().st_size == size
