"""All engines are one: each of them against the one in NumPy, on any program, in any split into runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.cores.core_kind import core_kind
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice
from neuromap.simulation.engine.numpy_engine import NumpyEngine

TWO_BLOCKS = "two blocks, few axons"
# Few shapes of cores: the kernels are compiled once for each, and once more for potentials of more than 30 bits.
CORES = {
    "TrueNorth's": {"axons": 256, "neurons": 256, "axon_types": 4},
    "one group of lanes": {"axons": 64, "neurons": 32, "axon_types": 2},
    "padded": {"axons": 100, "neurons": 100, "axon_types": 5},
    TWO_BLOCKS: {"axons": 16, "neurons": 300, "axon_types": 4},
}
NARROW, WIDE = (9, 16, 17, 20, 30), (32, 40)
MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")


def test_every_engine_can_be_made():
    assert {*ENGINES} == {*core_kind("crossbar").engines.ENGINES} == {*core_kind("synapse-list").engines.ENGINES}


@pytest.mark.law
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "numpy"])
@pytest.mark.parametrize(
    ("core", "widths", "records"),
    [
        *(pytest.param(core, NARROW, np.uint32, id=core) for core in CORES if core != TWO_BLOCKS),
        # Large programs need records of 64 bits for their targets; here small ones get them.
        pytest.param(TWO_BLOCKS, NARROW, np.uint64, id="two blocks, records of 64 bits"),
        pytest.param(TWO_BLOCKS, NARROW, np.uint32, id=TWO_BLOCKS, marks=pytest.mark.thorough),
        pytest.param("one group of lanes", WIDE, np.uint32, id="64 bits"),
    ],
)
@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), n_cores=st.sampled_from([1, 3, 70]),
    modes=st.sets(st.sampled_from(MODES)), calm=st.booleans(), noise_seed=st.integers(0, 2**64 - 1),
)  # fmt: skip
@settings(deadline=None, max_examples=40)
def test_every_program_runs_as_on_numpy(
    chips, torture_program, random_events, assert_same_state, assert_same_run,
    engine, core, widths, records, data, seed, n_cores, modes, calm, noise_seed,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    chip = data.draw(chips(widths, **CORES[core], cores=(16, 16)))
    program = torture_program(rng, chip, min(n_cores, 2500 // chip.neurons), modes=modes, calm=calm)
    found = make_engine(program, EngineChoice(engine, threads=1, noise_seed=noise_seed))
    assert found._image.target.dtype == np.uint32
    if records is not np.uint32:
        found._start(found._image._replace(target=found._image.target.astype(records)), 1, noise_seed)
    oracle = NumpyEngine(program, noise_seed=noise_seed)
    assert_same_state(found, oracle)
    assert_same_run(rng, found, oracle, random_events(rng, program, 30))
