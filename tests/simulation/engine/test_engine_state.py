"""States: any engine goes on from that of another, between any two ticks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice
from neuromap.simulation.engine.numpy_engine import NumpyEngine

CORE = {"axons": 64, "neurons": 32, "axon_types": 2}
MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")
CHOICES = st.sampled_from([EngineChoice("numpy"), EngineChoice("fast", threads=1), EngineChoice("fast", threads=2)])


@given(
    data=st.data(), seed=st.integers(0, 2**32 - 1), widths=st.sampled_from([(9, 16, 17, 20, 30), (32, 40)]),
    modes=st.sets(st.sampled_from(MODES)), cut=st.integers(1, 29), noise_seed=st.integers(0, 9),
)  # fmt: skip
@settings(deadline=None, max_examples=40)
def test_any_engine_goes_on_from_any_other(
    chips, torture_program, random_events, parts_of, assert_same_spikes, assert_same_state,
    data, seed, widths, modes, cut, noise_seed,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    program = torture_program(rng, data.draw(chips(widths, **CORE, cores=(16, 16))), 5, modes=modes)
    before, after = parts_of(random_events(rng, program, 30), [cut])
    whole = NumpyEngine(program, noise_seed=noise_seed)
    first, second = (make_engine(program, replace(data.draw(CHOICES), noise_seed=noise_seed)) for _ in range(2))
    second.run(after)  # what it did before is forgotten
    whole.run(before)
    first.run(before)
    second.restore(first.state)
    assert_same_state(second, first)
    assert_same_spikes(second.run(after), whole.run(after))
    assert_same_state(second, whole)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "changes",
    [
        {"potentials": np.zeros((2, 12), np.int64)},
        {"potentials": np.full((1, 12), 2**40)},
        {"tick": -1},
        {"spikes": np.array([[7, 0, 10]])},
        {"spikes": np.array([[7, 1, 0]])},
        {"spikes": np.array([[8, 0, 0]])},
        {"spikes": np.array([[6, 0, 0]])},
    ],
)
def test_states_of_another_program_are_refused(make_chip, make_program, engine, changes):
    program = make_program(make_chip(), np.zeros((1, 10, 12)), targets=[(0, 0, 0, 0, 1)])
    chip = make_engine(program, EngineChoice(engine, threads=1))
    state = replace(chip.state, tick=7, spikes=np.array([[7, 0, 9]]))
    chip.restore(state)
    assert chip.pending.tolist() == [[7, 0, 9]]
    with pytest.raises(InputError, match="state: "):
        chip.restore(replace(state, **changes))
