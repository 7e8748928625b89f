"""A search: its front is one, its points hold on the chip, and it goes on from wherever it was ended."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import accuracy_of_reference
from neuromap.errors import DoesNotFitError, InputError
from neuromap.experiments.experiment_run import epochs_done
from neuromap.network.network import Network
from neuromap.network.transforms import Dense
from neuromap.render.value import form
from neuromap.rollout.behaviour import class_key
from neuromap.searcher import race
from neuromap.searcher.halving import Plan
from neuromap.searcher.rung import Rung, RungJob, RungSetting, accuracy_by_model, agrees_with_model, train_rung

QUICK = {"epochs": 8, "batch": 16, "frames": 2, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def found(skip, bars, tmp_path_factory):
    folder = tmp_path_factory.mktemp("search")
    return nm.search(skip(), images=bars, training=QUICK, folder=folder)


def test_every_class_is_accounted_for_within_the_budget(found):
    assert found.n_classes == len(found.classes) == 4
    assert found.open_classes == 0
    assert {one.status for one in found.classes} <= {"trained", "dropped"}
    assert 0 < found.spent <= found.budget
    assert all(bool(one.why) == (one.status != "trained") for one in found.classes)


def test_points_hold_on_the_chip(found, bars):
    """Verified and proven, image by image as the model names them, and as often right as by definition."""
    assert found.points
    for point in found.points:
        assert point.verified
        assert point.proven
        assert point.agrees
        rollout = nm.Rollout(point.network, nm.RolloutPattern(point.network, point.values), point.execution)
        known = accuracy_of_reference(rollout, bars["test"], len(point.on_chip))
        assert [at.accuracy for at in point.on_chip] == pytest.approx(known, abs=1e-12)
        validated = accuracy_of_reference(rollout, bars["validation"], len(point.on_chip))
        frames = [sum(at.seconds <= moment.seconds * (1 + 1e-9) for at in point.on_chip) for moment in point.curve]
        assert [moment.accuracy for moment in point.curve] == pytest.approx([validated[n - 1] for n in frames])
        saved = nm.load_network(point.file)
        assert all((saved.edges[key].matrix() != edge.matrix()).nnz == 0 for key, edge in point.network.edges.items())


def test_no_point_is_beaten_at_a_moment_at_which_it_is_said_to_be_best(found):
    for moment in found.moments:
        known = [(dict(point.curve).get(moment, 0.0), point.cores, moment in point.best_at) for point in found.points]
        assert any(best for _, _, best in known)
        for accuracy, cores, best in known:
            beaten = any(a >= accuracy and c <= cores and (a, c) != (accuracy, cores) for a, c, _ in known)
            assert not (best and beaten)


@pytest.fixture(scope="module")
def streamed(skip, bars, tmp_path_factory):
    """A search on streams of which every second frame shows the image, the others noise; and all that it measured."""
    films, measured = {}, {}

    def listened_to(rollout, images, n_frames):
        right = accuracy_by_model(rollout, images, n_frames)
        measured.setdefault((rollout.pattern.values, rollout.execution), []).append(right[-1])
        return right

    for part, stills in bars.items():
        empty = np.random.default_rng(3).integers(0, 60, stills.images.shape).astype(np.uint8)
        films[part] = replace(stills, images=np.stack([stills.images, empty] * 4, axis=1))
    folder = tmp_path_factory.mktemp("streamed")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(race, "accuracy_by_model", listened_to)
        found = nm.search(skip(), images=films, training={**QUICK, "frames": 3}, deadline=7e-3, folder=folder)
    return films, found, measured


def test_points_on_streams_hold_on_the_chip(streamed):
    """As often right as by definition, where a rollout sees the frames that it samples."""
    films, found, _ = streamed
    assert len({one.frame_period_steps for one in found.classes}) > 1
    for point in found.points:
        assert point.verified
        assert point.agrees
        rollout = nm.Rollout(point.network, nm.RolloutPattern(point.network, point.values), point.execution)
        assert rollout.frame_period == next(
            one.frame_period_steps for one in found.classes if one.number == point.behaviour_class
        )
        for part, curve in (("test", point.on_chip), ("validation", point.curve)):
            known = accuracy_of_reference(rollout, films[part], len(point.on_chip))
            told = known if part == "test" else known[-1:]
            assert [at.accuracy for at in curve] == pytest.approx(told, abs=1e-12)


def test_classes_that_share_a_pattern_have_files_of_their_own(streamed, skip, tmp_path):
    films, *_ = streamed
    asked = {"training": {**QUICK, "epochs": 1, "frames": 3}, "deadline": 7e-3, "full": True}
    found = nm.search(skip(), images=films, objectives="sampling-frequency", folder=tmp_path, **asked)
    assert len({one.pattern for one in found.classes}) < len(found.classes)
    for point in found.points:
        saved = nm.load_network(point.file)
        assert all((saved.edges[key].matrix() != edge.matrix()).nnz == 0 for key, edge in point.network.edges.items())


def test_a_rung_that_made_a_class_worse_is_not_kept(streamed, skip):
    """It happens here, in the second rung of seed 0: 92 % before, 67 % behind it."""
    _, _, measured = streamed
    rows_of = {}
    for (values, execution), found in measured.items():
        pattern = nm.RolloutPattern(skip(), values)
        period = nm.Rollout(pattern.network, pattern, execution).frame_period
        rows_of.setdefault((class_key(pattern), period), []).append(found)
    to_the_end = [np.mean(rows, axis=0) for rows in rows_of.values() if {len(found) for found in rows} == {3}]
    assert to_the_end
    for first, second, last in to_the_end:
        assert last == pytest.approx(max(first, second))


def test_every_class_of_a_stream_is_accounted_for(streamed, skip, tmp_path):
    films, found, _ = streamed
    assert found.n_classes == len(found.classes)
    assert len({(one.pattern, one.frame_period_steps) for one in found.classes}) == len(found.classes)
    assert found.spent <= found.budget
    assert "a frame every" in found.to_text(200)
    jsonschema.validate(json.loads(found.to_json()), nm.load_schema("search"))
    again = nm.search(skip(), images=films, training={**QUICK, "frames": 3}, deadline=7e-3, folder=tmp_path)
    assert folder_bytes(again) == folder_bytes(found)
    longer = {part: replace(one, frame_ticks=2) for part, one in films.items()}
    with pytest.raises(InputError, match="holds a search of another data"):
        nm.search(skip(), images=longer, training={**QUICK, "frames": 3}, folder=found.folder)


def test_streams_are_not_sampled_by_steps_of_several_ticks(streamed, skip, tmp_path):
    """Training takes a step as a tick: a row whose frames are two ticks apart is of no class with two steps."""
    films, *_ = streamed
    slow = replace(nm.load_chip("truenorth"), delay=(2, 15))
    training = {**QUICK, "epochs": 1, "frames": 3}
    with pytest.raises(DoesNotFitError, match="its update steps take several ticks on the chip"):
        nm.search(skip(), chip=slow, images=films, training=training, deadline=14e-3, folder=tmp_path)


def test_every_rung_is_a_training_of_its_own(skip, bars, tmp_path, monkeypatch):
    """Also after rungs that were not kept, which at this rate are many: what is spent is what checkpoints hold."""
    monkeypatch.setattr(race, "plan_of", lambda budget, n, full, trunks: Plan(budget, 2, (2 * n,) * 4, full))
    training = {**QUICK, "learning_rate": 0.5}
    found = nm.search(skip(), images=bars, training=training, margin=100, budget=34, folder=tmp_path)
    held = [epochs_done(path) for path in (tmp_path / "trainings").iterdir()]
    assert held == [2] * (1 + 4 * 4)
    assert sum(held) == found.spent == 34


class Ended(Exception):
    pass


def test_a_search_that_was_ended_goes_on_to_the_same_front(found, skip, bars, tmp_path):
    """Ended after the trunk, in a rung and after all trainings, in one folder; it goes on with those that are done."""
    for wanted in (1, 3, 1 + len(found.classes)):
        done = []

        def end(*news, done=done, wanted=wanted):
            done.append(news)
            if len(done) == wanted:
                raise Ended

        with pytest.raises(Ended):
            nm.search(skip(), images=bars, training=QUICK, folder=tmp_path, progress=end)
        assert len(list((tmp_path / "trainings").iterdir())) == wanted
    again = nm.search(skip(), images=bars, training=QUICK, folder=tmp_path)
    assert folder_bytes(again) == folder_bytes(found)


def folder_bytes(found):
    """All that a search leaves but its trainings, which tell how long they took; places are told by names alone."""
    folder = Path(found.folder)
    kept = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".toml", ".safetensors")}
    return kept | {"search.json": (folder / "search.json").read_text().replace(str(folder), "")}


def test_other_questions_take_the_trainings_that_are_there(found, skip, bars, tmp_path):
    """The networks are then those of the new front; what the search did not write stays."""
    folder = shutil.copytree(found.folder, tmp_path / "search")
    networks = {file.name for file in folder.glob("*.toml")}
    (folder / "mine.toml").write_text("")
    before = {path: path.stat().st_mtime_ns for path in Path(folder, "trainings").iterdir()}
    other = nm.search(skip(), images=bars, training=QUICK, folder=folder, deadline=found.moments[-1])
    assert other.moments == found.moments[-1:]
    assert {path: path.stat().st_mtime_ns for path in Path(folder, "trainings").iterdir()} == before
    kept = {Path(point.file).name for point in other.points}
    assert networks - kept
    assert {file.name for file in folder.glob("*.toml")} == {*kept, "mine.toml"}
    assert {file.stem for file in folder.glob("*.safetensors")} <= {Path(name).stem for name in kept}
    best, known = other.best(), found.best()
    assert dict(best.curve)[found.moments[-1]] == dict(known.curve)[found.moments[-1]]


def test_a_class_that_answers_too_late_is_not_trained(skip, bars):
    found = nm.search(skip(), images=bars, training=QUICK, deadline=2e-3)
    excluded = [one for one in found.classes if one.status == "excluded"]
    assert excluded
    assert all(one.epochs == 0 and "3 ms at the earliest" in one.why for one in excluded)
    assert found.points
    assert all(point.first_response_seconds <= 2e-3 for point in found.points)
    with pytest.raises(InputError, match=r"^deadline 1 ms: is before the first response of every rollout, 2 ms"):
        nm.search(skip(), images=bars, training=QUICK, deadline=1e-3)


def test_full_trainings_drop_nobody_and_several_seeds_have_a_spread(skip, bars):
    found = nm.search(skip(), images=bars, training={**QUICK, "epochs": 1}, full=True, seeds=(0, 1))
    assert [one.epochs for one in found.classes] == [1, 1, 1, 1]
    assert all(one.status == "trained" for one in found.classes)
    assert all(
        (spread is None) == (mean is None)
        for one in found.classes
        for mean, spread in zip(one.accuracy, one.spread, strict=True)
    )


def test_networks_of_other_layers_and_bits_compete(skip, bars, tmp_path):
    """Each has its own classes and trunk; what comes out names them, and a second run trains nothing."""
    wide = skip()
    bits = {**wide.tables, "training": {"edges": {"H -> O": {"weights": "4-bit"}, "G -> O": {"weights": "4-bit"}}}}
    edges = {key: edge for key, edge in wide.edges.items() if key != ("H", "O")}
    networks = [wide, replace(wide, name="4-bit", tables=bits), replace(wide, name="chain", edges=edges)]
    found = nm.search(networks, images=bars, training={**QUICK, "epochs": 4}, folder=tmp_path, margin=0)
    assert [(one.network, one.number) for one in found.classes] == [
        *(("skip", n) for n in (1, 2, 3, 4)), *(("4-bit", n) for n in (1, 2, 3, 4)), ("chain", 1)
    ]  # fmt: skip
    assert (found.n_classes, found.network) == (9, "skip, 4-bit, chain")
    held = sum(epochs_done(path) for path in (tmp_path / "trainings").iterdir())
    assert held == found.spent <= found.budget
    for point in found.points:
        assert point.verified
        assert point.agrees
        saved = nm.load_network(point.file)
        assert saved.name == point.network.name
        weights = saved.edges["G", "O"].matrix().data
        assert (abs(weights) > 1).any() == (saved.name == "4-bit")
    kept = {(point.network.name, point.behaviour_class) for point in found.points}
    assert len({point.file for point in found.points}) == len(kept)
    jsonschema.validate(json.loads(found.to_json()), nm.load_schema("search"))
    assert "network" in found.to_text(200).partition("\n\n")[2].splitlines()[1]
    assert f"right by {1e3 * found.moments[-1]:g} ms" in found.to_text(80).partition("not shown")[0]
    assert ("no such edge" in found.to_html()) == (len({len(point.values) for point in found.points}) > 1)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "trainings").iterdir()}
    again = nm.search(networks, images=bars, training={**QUICK, "epochs": 4}, folder=tmp_path, margin=0)
    assert again.to_json() == found.to_json()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "trainings").iterdir()} == written
    with pytest.raises(InputError, match=r"holds a search of another network, skip "):
        nm.search(networks[:2], images=bars, training={**QUICK, "epochs": 4}, folder=tmp_path)
    with pytest.raises(InputError, match=r"^search: two networks have the name skip; give each a name of its own$"):
        nm.search([wide, replace(wide, edges=edges)], images=bars)
    with pytest.raises(InputError, match=r"^search: no network is given"):
        nm.search([], images=bars)
    with pytest.raises(InputError, match=r"^search: needs a Network, got an int$"):
        nm.search(5, images=bars)
    others = {part: replace(one, images=one.images[:, :3]) for part, one in bars.items()}
    with pytest.raises(InputError, match=r"^network skip: input I: "):
        nm.search(networks, images=others, training=QUICK, folder=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_folder_with_networks_of_somebody_else_is_left_alone(skip, bars, found, tmp_path):
    (tmp_path / "streaming.toml").write_text("mine")
    with pytest.raises(InputError, match="holds network files, but no search"):
        nm.search(skip(), images=bars, training=QUICK, folder=tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("streaming.toml", "mine")]
    with pytest.raises(InputError, match=r"streaming\.toml: cannot be used \(.*\); name another one$"):
        nm.search(skip(), images=bars, training=QUICK, folder=tmp_path / "streaming.toml")
    bits = {**skip().tables, "training": {"edges": {"G -> O": {"weights": "4-bit"}}}}
    with pytest.raises(InputError, match="holds a search of another network"):
        nm.search(replace(skip(), tables=bits), images=bars, training=QUICK, folder=found.folder)


@pytest.mark.parametrize("code", ["threshold", "bernoulli"])
def test_the_model_is_right_as_often_as_the_reference(found, skip, bars, code):
    """On the same frames, drawn or not; and not as the chip where one weight is another."""
    point = found.points[0]
    network = replace(point.network, tables=skip(code).tables)
    rollout = nm.Rollout(network, nm.RolloutPattern(network, point.values))
    known = accuracy_of_reference(rollout, bars["validation"], 3)
    assert accuracy_by_model(rollout, bars["validation"], 3).tolist() == pytest.approx(known, abs=1e-12)
    program = nm.map_rollout(rollout, "truenorth")
    assert agrees_with_model(rollout, program, bars["validation"], 3)
    edge = network.edges["H", "O"]
    silent = replace(edge.transform, weights=np.zeros(edge.transform.weight_shape, int))
    other = replace(network, edges={**network.edges, ("H", "O"): replace(edge, transform=silent)})
    wrong = nm.Rollout(other, nm.RolloutPattern(other, point.values))
    assert not agrees_with_model(wrong, program, bars["validation"], 3)


def test_where_no_disk_is_shared_checkpoints_travel(skip, bars, tmp_path):
    """A worker is given the checkpoint to start from, and gives its own back: the networks are the same."""
    net = skip()
    few = {part: bars[part] for part in ("train", "validation")}
    setting = RungSetting({net.name: net}, nm.load_chip("truenorth"), few, {"batch": 16, "frames": 2}, tmp_path)
    first = Rung(net.name, ((1, 1, 1, 1),), 0, 0, 1, 0.03, "", is_trunk=True)
    second = Rung(net.name, ((1, 0, 1, 1),), 0, 1, 1, 0.03, first.name)
    train_rung(setting, RungJob(first, None))
    here = train_rung(setting, RungJob(second, first.file))
    start = (tmp_path / first.file).read_bytes()
    (tmp_path / second.file).unlink()
    there = train_rung(setting._replace(folder=None), RungJob(second, first.file, start))
    assert there.checkpoint
    assert not (tmp_path / second.file).exists()
    for key, edge in here.network.edges.items():
        assert (edge.matrix() != there.network.edges[key].matrix()).nnz == 0
    alone = train_rung(setting, RungJob(second._replace(lineage="none"), None))
    assert any((edge.matrix() != alone.network.edges[key].matrix()).nnz for key, edge in here.network.edges.items())


def test_what_is_wrong_is_told_in_one_line(found, skip, bars):
    with pytest.raises(InputError, match=r"^search: no images are given; .*--data"):
        nm.search(skip())
    with pytest.raises(InputError, match="have no part validation"):
        nm.search(skip(), images={"train": bars["train"], "test": bars["test"]})
    with pytest.raises(InputError, match=r"holds a search of another chip, truenorth .* \(now ranc .*; name another"):
        nm.search(skip(), "ranc", images=bars, training=QUICK, folder=found.folder)
    with pytest.raises(InputError, match="holds a search of another data"):
        nm.search(skip(), images={**bars, "train": bars["test"]}, training=QUICK, folder=found.folder)
    with pytest.raises(InputError, match=r"^deadline 3 s: is more than 1,000 ticks of truenorth; .*, give an earlier"):
        nm.search(skip(), images=bars, training=QUICK, deadline=3.0)
    with pytest.raises(InputError, match=r"^objective corse: .* did you mean 'cores'"):
        nm.search(skip(), images=bars, objectives="corse")
    with pytest.raises(InputError, match=r"^search: budget 3: --full trains every class fully.*; drop one$"):
        nm.search(skip(), images=bars, full=True, budget=3)
    small = nm.load_chip("truenorth", {"core.neurons": 16})
    with pytest.raises(DoesNotFitError, match=r"^search: no rollout is left: takes \d+ cores, with max_cores 1; give"):
        nm.search(skip(), small, images=bars, training={**QUICK, "epochs": 1}, max_cores=1)


def test_frames_at_unequal_intervals_count_from_the_tick_at_which_they_are_known(bars):
    """A cycle of three nodes with two bridges has a frame every 1.5 ticks."""
    shapes = {"I": (4, 4, 1), "A": (1, 1, 3), "B": (1, 1, 3), "C": (1, 1, 3), "O": (3, 1, 1)}
    keys = [("I", "A"), ("A", "B"), ("B", "C"), ("C", "A"), ("C", "O")]
    net = nm.build_network(
        {name: (shape, None) for name, shape in shapes.items()},
        {(u, v): Dense(shapes[u], shapes[v]) for u, v in keys},
        name="round",
    )
    net = Network(net.name, net.nodes, net.edges, net.outputs, tables={"inputs": {"I": {"code": "threshold"}}})
    training = {**QUICK, "epochs": 2}
    found = nm.search(net, images={**bars, "test": bars["validation"]}, training=training, executions="pipelined:best")
    assert len(found.classes) == 3
    assert all(1e3 * moment == pytest.approx(round(1e3 * moment)) for moment in found.moments)
    for point in found.points:
        for moment, accuracy in point.curve:
            known = [right for at, right in point.on_chip if at <= moment * (1 + 1e-9)]
            assert known[-1] == pytest.approx(accuracy)


def test_a_folder_in_which_nothing_was_trained_is_of_no_search(skip, bars, tmp_path):
    with pytest.raises(InputError, match="weight_time 3"):
        nm.search(skip(), images=bars, training={**QUICK, "weight_time": 3.0}, folder=tmp_path)
    nm.search(skip(), images=bars, training={**QUICK, "epochs": 2}, folder=tmp_path)
    with pytest.raises(InputError, match="holds a search of another training"):
        nm.search(skip(), images=bars, training={**QUICK, "batch": 8}, folder=tmp_path)
    asked = tmp_path / "asked.json"
    asked.write_text(asked.read_text().replace("search folder 3", "search folder 2"))
    with pytest.raises(
        InputError, match=r"asked\.json is none of a search, or of one by another version .*; name another"
    ):
        nm.search(skip(), images=bars, training={**QUICK, "epochs": 2}, folder=tmp_path)


def test_forms(found):
    document = json.loads(found.to_json())
    jsonschema.validate(document, nm.load_schema("search"))
    assert [point["pattern"] for point in document["points"]] == [point.pattern for point in found.points]
    assert found.to_csv().splitlines()[0].startswith("point,network,pattern,execution,")
    text, page = found.to_text(200), found.to_html()
    for point in found.points:
        assert point.pattern in text.replace("\n", " ") or len(point.pattern) > 20
        assert point.map_command.partition(" --")[0] in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "What changed from point to point" in page
    assert found.to_svg().startswith("<svg")
    last, narrow = 1e3 * found.moments[-1], found.to_text(80)
    assert f"right by {last:g} ms" in narrow.partition("\n\n")[2].partition("\n\n")[0]
    assert "not shown: right by 2 ms" in narrow
    assert "not shown" not in form(found, "text", 80, every=True)
    assert "--data digits --limit 20" in form(found, "html", "", "digits", 20)
