"""The file of published workloads says of every figure where it was seen, and a workload is rebuilt as published."""

import importlib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def published(monkeypatch):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.validation.published")


def test_every_row_says_what_was_measured_and_where_it_was_seen(published):
    rows = published.workloads()
    for row in rows:
        for key in ("name", "source", "where", "includes"):
            assert len(row[key]) > 3, (row["name"], key)
        assert row["unit"] == "us a step"
        assert isinstance(row["seen"], bool)
        assert row["published"] > 0
        assert row["activity"] in {"counters", "computed", "unknown"}
        assert ("counted" in row) == (row["activity"] == "counters")
        assert all(("rate" in layer) == (row["activity"] == "computed") for layer in row.get("layers", ()))
    assert len({row["name"] for row in rows}) == len(rows)
    assert sum(row["seen"] and row["activity"] != "unknown" for row in rows) >= 4


def test_a_rebuilt_network_has_the_published_sizes_densities_and_cores(published):
    [workload] = [each for each in published.workloads() if each["name"] == "Sequential MNIST, LSNN"]
    program = published.mapped(workload)
    assert program.n_cores == 2
    assert {port.name: port.size for port in program.nodes} == {"in": 80, "rec": 240, "out": 10, "aux": 100}
    core = {port.name: set(np.nonzero(program.neuron_node == k)[0]) for k, port in enumerate(program.nodes)}
    assert core["rec"] == core["out"] == core["aux"] != core["in"]
    built = importlib.import_module("benchmarks.validation.rebuilt").built(workload)[0]
    assert built.edges["rec", "rec"].transform.matrix().nnz == pytest.approx(0.183 * 240 * 240, abs=1)


def test_more_spikes_take_longer_and_without_any_only_access_and_barrier_count(published):
    [workload] = [each for each in published.workloads() if each["name"] == "Sequential MNIST, LSNN"]
    program = published.mapped(workload)
    names = [port.name for port in program.nodes]
    times = [
        published.predicted(program, published.drawn(program, dict.fromkeys(names, rate)), rate > 0)[0]
        for rate in (0.0, 0.02, 0.2)
    ]
    assert times[0] == pytest.approx(350 * 6e-3 + 0.6)  # one tile
    assert times[0] < times[1] < times[2]


def test_counters_are_multiplied_with_the_figures_of_the_chip(published):
    core = {"neurons": 100, "spikes_out": 0, "spikes_in": 20, "synaptic_events": 1000}
    took = published.of_counters({"chip": "loihi1", "steps": 2, "cores": 5, "counted": [core]})
    assert took == pytest.approx((20 * 16 + 1000 * 3.8) / 2 / 1000 + 1.0)  # two tiles
