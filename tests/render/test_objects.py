"""Public values are shown in one line, and go through pickle, copy and other processes unchanged and read-only."""

import copy
import csv
import dataclasses
import importlib.util
import io
import pickle
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import neuromap as nm
from neuromap import datasets, encoding, explorer, hardware, mapping, network, report, rollout, simulation, verification
from neuromap.errors import DoesNotFitError, NotSupportedError, PatternError
from neuromap.render.value import LONGEST, Card

ROOMS = (nm, datasets, encoding, explorer, nm.faults, hardware, mapping, network, report, rollout, simulation)
ROOMS += (verification,)


def public_classes():
    named = (getattr(room, name) for room in ROOMS for name in room.__all__)
    return {cls for cls in named if isinstance(cls, type) and dataclasses.is_dataclass(cls)}


def parts(value):
    """All values within a value, itself included."""
    yield value
    if dataclasses.is_dataclass(value):
        inner = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, Mapping):
        inner = list(value.values())
    else:
        inner = value if isinstance(value, list | tuple | frozenset) else []
    for part in inner:
        yield from parts(part)


def over_cores(network):
    work = simulation.count_frame_work(network, "loihi1", n_frames=8)
    streaming, sequential = (nm.Rollout(network, name) for name in ("streaming", "sequential"))
    return (
        report.seconds_over_cores(work, cores=[1]),
        work.on(1)[0],
        rollout.crossing(streaming, sequential, work.on(1)[0]),
    )


@pytest.fixture(scope="module")
def values(network, shown):
    """One value of every public class."""
    conv = nm.network.Conv((4, 4, 1), (4, 4, 2), (3, 3), weights=nm.network.SeededWeights(1, (-1, 0, 1)))
    pool = nm.network.Pool((4, 4, 2), (2, 2, 2), (2, 2))
    image = nm.network.build_network(
        {"I": ((4, 4, 1), None), "A": ((4, 4, 2), 1), "B": ((2, 2, 2), 1), "C": ((2, 2, 2), 1), "O": (3, 1)},
        {
            ("I", "A"): conv, ("A", "B"): pool, ("B", "C"): nm.network.Identity((2, 2, 2), (2, 2, 2)),
            ("C", "O"): nm.network.Dense((2, 2, 2), (1, 1, 3), weights=np.ones((3, 8), int)),
        },
    )  # fmt: skip
    pattern = nm.RolloutPattern.streaming(network)
    identity = nm.network.Identity((1, 1, 1), (1, 1, 1))
    neurons = [
        nm.network.GradedNeuron(0, 9),
        nm.network.LeakNeuron(threshold=3),
        nm.network.CurrentNeuron(threshold=3, more_current_decays=(9,)),
    ]
    spiking = [*neurons, nm.network.EdgeTerm(identity, 2)]
    wide = nm.network.build_network({"I": (600, None), "O": (1, 1)}, {("I", "O"): np.ones((1, 600), int)})
    with pytest.raises(DoesNotFitError) as caught:
        nm.map_rollout(nm.Rollout(wide, "streaming"))
    program = shown["Program"]
    with_potentials = nm.simulate(program, {"I": np.ones((3, 2), bool)}, record=nm.Recording(potentials="outputs"))
    study = nm.faults.study_faults([nm.Rollout(network, "streaming")], rates=[1], seeds=1, kinds=["dead-cores"])
    more = [
        study, *study.points, nm.faults.Faults({"dead-cores": 0.5}), nm.faults.ThresholdEdit("A", 1),
        nm.faults.WeightEdit("I", 0, "A", 1, 2), nm.faults.SilentCore(0), nm.faults.DeadLink(0, 1, True),
        *spiking, image, caught.value.infeasibility, with_potentials, rollout.count_valid_patterns(network),
        rollout.lemma1_bounds(network), rollout.most_sequential_summary(network), rollout.check_theorem1(pattern),
        rollout.RolloutWindow(pattern, 1), verification.measure(program), with_potentials.potential_table,
        nm.measure_steady_activity(program, [{"I": np.ones((3, 2), bool)}]),
        explorer.Limits(cores=3.0), mapping.MappingOptions(seed=3), simulation.Width.of(program.chip), nm.Recording(),
        simulation.Checkpoints(), *over_cores(network),
        rollout.fastest_phases(nm.Rollout(network, "streaming")), *rollout.period_curve(network, pattern),
        rollout.unfold(network, pattern, 2),
        datasets.load_images("digits", "test", limit=2), encoding.InputEncoding("I", (8, 8, 1), noise=0.5),
    ]  # fmt: skip
    found = (part for value in [*shown.values(), *more] for part in parts(value))
    return {type(value): value for value in found if dataclasses.is_dataclass(value)}


def same(one, other):
    """Whether two values hold the same, arrays of the same type, and read-only where they were."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.flags.writeable >= other.flags.writeable and np.array_equal(one, other)
    if dataclasses.is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "indptr"):
        return all(same(getattr(one, name), getattr(other, name)) for name in ("data", "indices", "indptr"))
    return one == other


def test_there_is_a_value_of_every_public_class(values):
    assert {cls.__name__ for cls in public_classes() - values.keys()} == set()


def test_a_value_takes_one_short_line(values):
    for cls, value in values.items():
        if issubclass(cls, Card):
            assert len(repr(value)) <= LONGEST
            assert repr(value).isprintable()
            assert cls.__name__ in repr(value)
    assert public_classes() <= {cls for cls in values if issubclass(cls, Card)}


def test_a_line_says_what_it_is_and_how_large(values, network):
    assert repr(values[mapping.MappingOptions]) == "MappingOptions(seed=3)"
    assert repr(values[simulation.Readout]).startswith("Readout(nodes=")
    many = nm.Network.from_edges([(f"n{k}", f"n{k + 1}") for k in range(1000)])
    assert repr(many).startswith("<Network: name network; nodes 1001; edges 1000; inputs n0; outputs n1000;")


def test_pickle_and_copies_give_the_same_read_only(values):
    for value in values.values():
        assert same(value, pickle.loads(pickle.dumps(value)))
        assert same(value, copy.copy(value))
        assert same(value, copy.deepcopy(value))


def test_what_was_computed_and_kept_does_not_travel(network):
    edge = nm.network.Edge("I", "O", nm.network.Dense((1, 1, 9), (1, 1, 9), weights=np.ones((9, 9), int)))
    before = len(pickle.dumps(edge))
    edge.matrix()
    assert len(pickle.dumps(edge)) == before


def test_values_become_plain_dictionaries(values):
    for value in values.values():
        assert list(dataclasses.asdict(value)) == [field.name for field in dataclasses.fields(value)]


def test_other_processes_take_and_give_values(network):
    rollout = nm.Rollout(network, "streaming")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        program = pool.submit(nm.map_rollout, rollout).result(timeout=300)
    assert same(program, nm.map_rollout(rollout))


def test_errors_travel_with_their_data(network):
    with pytest.raises(PatternError) as caught:
        nm.RolloutPattern(network, (1, 0)).require_valid()
    twin = pickle.loads(pickle.dumps(caught.value))
    assert (str(twin), twin.cycle) == (str(caught.value), caught.value.cycle)


def test_print_gives_the_table_as_wide_as_the_terminal(report, exploration, monkeypatch):
    for value in (report, exploration):
        monkeypatch.delenv("COLUMNS", raising=False)
        assert str(value) == value.to_text(100).rstrip("\n")
        monkeypatch.setenv("COLUMNS", "60")
        assert str(value) == value.to_text(60).rstrip("\n")
        assert len(repr(value)) <= LONGEST


def test_without_pandas_one_line_names_the_extra(report, exploration, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for value in (report, exploration):
        with pytest.raises(NotSupportedError, match=r"^to_pandas: .*\[pandas\]'") as caught:
            value.to_pandas()
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is an extra that is not installed here")
def test_a_data_frame_has_the_rows_and_columns_of_the_csv(report, exploration):
    import pandas

    for value in (report, exploration):
        plotted, frame = value.to_pandas(), value.to_pandas(full=True)
        assert 10 <= len(plotted.columns) <= 13 < len(frame.columns)
        pandas.testing.assert_frame_equal(plotted, frame[list(plotted.columns)])
        header, *lines = csv.reader(io.StringIO(value.to_csv()))
        assert list(frame.columns) == header
        assert len(frame) == len(lines) == len(value.rows)
        for cells, texts in zip(frame.itertuples(index=False), lines, strict=True):
            for cell, text in zip(cells, texts, strict=True):
                if pandas.isna(cell):
                    assert text == ""
                elif isinstance(cell, bool | np.bool_):
                    assert text == ("true" if cell else "false")
                else:
                    assert text == cell or float(text) == cell
