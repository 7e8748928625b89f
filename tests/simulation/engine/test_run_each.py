"""Many runs in one call of a kernel: as if every one were run alone on a chip at tick 0, whatever is called off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import StimulusError
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice

pytestmark = pytest.mark.law

CORE = {"axons": 64, "neurons": 32, "axon_types": 2}
MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")
# New engines do not know how long a tick takes, so their first calls are of 16 ticks: longer runs are cut.
N_TICKS = st.sampled_from([1, 2, 7, 15, 16, 17, 40])


@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), widths=st.sampled_from([(9, 16, 17, 20, 30), (32, 40)]),
    modes=st.sets(st.sampled_from(MODES)), n_runs=st.integers(1, 9), n_ticks=N_TICKS, threads=st.integers(1, 3),
    noise_seed=st.sampled_from([0, 5, 2**63, 2**64 - 2]),
)  # fmt: skip
@settings(deadline=None, max_examples=36)
def test_runs_of_crossbars_in_one_call_are_runs_one_by_one(
    chips, torture_program, assert_runs_in_one_call,
    data, seed, widths, modes, n_runs, n_ticks, threads, noise_seed,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    chip, n_cores = data.draw(chips(widths, **CORE, cores=(16, 16))), int(rng.choice([1, 5, 70]))
    program = torture_program(rng, chip, n_cores, modes=modes)
    assert_runs_in_one_call(rng, program, n_runs, n_ticks, noise_seed, threads)


def test_runs_that_do_not_fit_the_program_are_refused(make_chip, make_program):
    chip = make_engine(make_program(make_chip(), np.zeros((1, 10, 12))), EngineChoice(threads=1))
    events = HostEvents(np.array([0, 0, 1]), np.array([1], np.int32), np.array([0], np.int32))
    with pytest.raises(StimulusError, match="event 0 is at core 1; allowed is 0 to 0"):
        chip.run_each(events, 2)
    assert len(chip.run_each(HostEvents.none(0), 3).ticks) == 0
