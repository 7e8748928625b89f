"""Every public value, of a network with a hostile name, and what tables and pages make of it."""

import numpy as np
import pytest
from small_networks import network_of_any_names

import neuromap as nm
from neuromap.bench.bench_report import BenchReport, this_machine
from neuromap.mapping.diagnosis.dry_run import dry_run
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.simulation.cost.energy import energy_of

HOSTILE = '<script>alert("x")</script>&amp;'


@pytest.fixture(scope="package")
def network():
    weights = np.array([[1, 1], [1, -1]])
    edges = {("I", HOSTILE): weights, (HOSTILE, HOSTILE): weights}
    return network_of_any_names({"I": (2, None), HOSTILE: (2, 1)}, edges, patterns={}, name=HOSTILE)


@pytest.fixture(scope="package")
def report(network):
    return nm.latency_report(network, executions=["windowed"])


@pytest.fixture(scope="package")
def exploration(network):
    return nm.explore(network, n_frames=3)


@pytest.fixture(scope="package")
def bench():
    return BenchReport("1", "2026-01-01", this_machine(), None, HOSTILE, 1, None, ())


@pytest.fixture(scope="package")
def shown(network, report, exploration, bench):
    """All public values, by class."""
    rollout = nm.Rollout(network, "streaming")
    mapping = map_with_stages(rollout)
    batch = nm.simulate_batch(mapping.program, {"I": np.ones((2, 3, 2), bool)})
    trace = nm.simulate(mapping.program, {"I": np.ones((3, 2), bool)})
    activity = nm.measure_activity(mapping.program, {"I": np.ones((3, 2), bool)})
    energy = energy_of(mapping.program.chip, activity.counts)
    values = [
        network, rollout.pattern, rollout, mapping.program.chip, mapping, mapping.program, trace, batch,
        nm.verify(rollout, mapping.program), dry_run(rollout, seconds=1.0), activity, energy,
        report, report.rows[0], exploration, bench,
    ]  # fmt: skip
    return {type(value).__name__: value for value in values}
