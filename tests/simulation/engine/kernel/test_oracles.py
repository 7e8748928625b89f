"""The fast engine against what others compute: RANC's hardware test vectors, and Brian2."""

import importlib.util
import logging
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from neuromap.formats.ranc import read_vectors
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine

ROOT = Path(__file__).resolve().parents[4]
RANC = Path(os.environ.get("NEUROMAP_DATA", ROOT / ".." / "shared" / "data")) / "ranc"
N_TICKS = 50


@pytest.mark.skipif(not RANC.is_dir(), reason=f"no {RANC}: set NEUROMAP_DATA to the shared data")
@pytest.mark.parametrize(("name", "columns", "bus", "shift"), [("128", 8, (0, 3), 2), ("256", 4, (0, 2), 1)])
def test_known_answers_of_ranc(name, columns, bus, shift):
    case = read_vectors(RANC / name, columns=columns, output_bus=bus)
    n_ticks = len(case.expected) + shift
    order = np.argsort(case.ticks, kind="stable")
    start = np.searchsorted(case.ticks[order], np.arange(n_ticks + 1))
    events = HostEvents(start, case.cores[order].astype(np.int32), case.axons[order].astype(np.int32))
    outputs = case.output_axons(*FastEngine(case.program, threads=2).run(events), n_ticks)
    assert len(case.expected) == 10
    for tick, expected in enumerate(case.expected):
        assert outputs[tick + shift].tolist() == expected.tolist(), tick


@pytest.fixture(scope="module")
def brian2():
    logging.getLogger("brian2").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        brian2 = pytest.importorskip(
            "brian2", reason="the oracle needs brian2: pip install neuromap-rollouts[brian2]", exc_type=ImportError
        )
    brian2.prefs.codegen.target = "numpy"
    brian2.BrianLogger.suppress_hierarchy("brian2")
    return brian2


@pytest.fixture(scope="module")
def run_in_brian2(brian2):
    """The network that the engine in NumPy is held to as well."""
    path = Path(__file__).resolve().parents[1] / "test_engine_against_brian2.py"
    spec = importlib.util.spec_from_file_location("engine_against_brian2", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda program, host: module.run_in_brian2(brian2, program, host, len(host))


@pytest.mark.parametrize(
    ("seed", "overflow", "comparison", "bits"),
    [(1, "saturate", "<", 20), (2, "saturate", "<=", 20), (3, "wrap", "<", 9), (4, "wrap", "<=", 7)],
)
def test_brian2(run_in_brian2, make_chip, random_program, seed, overflow, comparison, bits):
    # With 20 bits no potential comes near a rail; Brian2 sums the events of a tick before it fits the sum.
    chip = make_chip(overflow=overflow, negative_comparison=comparison, potential_bits=bits)
    rng = np.random.default_rng(seed)
    program = random_program(rng, chip, 4, scale=30)
    host = rng.random((N_TICKS, *program.axon_types.shape)) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fired, potentials = run_in_brian2(program, host)

    engine = FastEngine(program)
    for tick in range(N_TICKS):
        cores, neurons = engine.step(*np.nonzero(host[tick]))
        now = np.zeros(program.target_core.shape, dtype=bool)
        now[cores, neurons] = True
        assert (now.reshape(-1) == fired[tick]).all(), f"tick {tick}"
        assert (engine.potentials.reshape(-1) == potentials[tick]).all(), f"tick {tick}"
    assert 0.02 < fired.mean() < 0.9  # neither silent nor always on
