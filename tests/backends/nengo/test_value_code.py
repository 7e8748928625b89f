"""Values as spikes: what is sent is worth what was meant."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("nengo", reason="Nengo is an extra: pip install 'neuromap-rollouts[nengo]'")

from neuromap.backends.nengo.crossbar_plan import CODE_SIZE, HIGHEST, LOWEST, as_spikes, code_weights


@given(st.integers(LOWEST, HIGHEST))
def test_spikes_are_worth_the_value(value):
    spikes = as_spikes(np.array([value]))
    assert spikes.shape == (1, CODE_SIZE)
    assert spikes @ code_weights() == [value]


@given(st.floats(0.0006, 2.0), st.sampled_from([0.0005, 0.001]))
def test_two_decays_delay_as_the_one_between_them(tau, dt):
    from neuromap.backends.nengo.mapped_plan import filters_of
    from neuromap.hardware.chip.chip_file import load_chip

    parts = filters_of(tau, dt, load_chip("loihi1"))
    assert sum(part.share for part in parts) == pytest.approx(1)
    ticks = sum(part.share * 4096 / part.decay for part in parts)
    assert ticks == pytest.approx(1 / -np.expm1(-dt / tau), rel=0.003)
