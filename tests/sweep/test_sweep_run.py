"""Keys of runs: the same for the same inputs, another for any other input."""

import itertools

import pytest

import neuromap as nm
from neuromap.sweep.sweep_spec import load_sweep, runs_of


def keys(path):
    return [run.key for _, runs in runs_of(load_sweep(path)) for run in runs]


def test_every_run_has_a_key_of_its_own_which_stays(write_spec):
    found = keys(write_spec())
    assert len({*found}) == len(found) == 16
    assert keys(write_spec()) == found


def test_runs_go_through_all_combinations_seeds_first(write_spec):
    found = [run for _, runs in runs_of(load_sweep(write_spec())) for run in runs]
    told = [(run.pattern, run.execution, run.chip_figures, run.seed) for run in found]
    parts = (
        ["streaming", "H -> H, H -> O"],
        ["windowed", "pipelined"],
        ['{"core.axons": 4}', '{"core.axons": 256}'],
        [5, 6],
    )
    assert told == list(itertools.product(*parts))


@pytest.mark.parametrize(
    "change",
    [
        ("frames = 3", "frames = 4"),
        ("density = 0.5", "density = 0.25"),
        ("row-major", "hilbert"),
        ("first = 5", "first = 50"),
        ("[4, 256]", "[8, 128]"),
        ('engine = "numpy"', 'engine = "numpy"\nnoise_seed = 1'),
    ],
)
def test_another_input_is_another_key(change, write_spec):
    assert not {*keys(write_spec())} & {*keys(write_spec(change))}


def test_another_weight_is_another_key(write_spec, network, tmp_path):
    before = keys(write_spec())
    weights = network.edges["I", "H"].matrix().toarray()
    weights[0, 0] += 1
    edges = {pair: edge.matrix().toarray() for pair, edge in network.edges.items()} | {("I", "H"): weights}
    changed = nm.build_network({"I": (6, None), "H": (6, 1), "O": (6, 1)}, edges, name="small")
    changed.save(tmp_path / "small.toml")
    assert not {*before} & {*keys(tmp_path / "spec.toml")}


@pytest.mark.parametrize(
    "change",
    [
        ("[4, 256]", "[256, 4]"),
        ('"streaming", "H -> H, H -> O"', '"H -> H, H -> O", "I -> H, H -> H, H -> O"'),  # its edges, not its name
        ('engine = "numpy"', 'engine = "fast"'),  # engines give the same
        ("core.axons = [4, 256]", "core.axons = [4, 256]\ncore.axon_types = [4]"),  # what the chip has anyway
    ],
)
def test_the_same_in_other_words_is_the_same_key(change, write_spec):
    assert {*keys(write_spec())} == {*keys(write_spec(change))}
