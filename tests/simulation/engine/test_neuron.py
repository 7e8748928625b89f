"""The neuron on arrays against a scalar transcription of its five steps."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.crossbar.program import NeuronTable
from neuromap.simulation.engine.neuron import Width, by_chance, fire, integrate, leak

pytestmark = pytest.mark.law

# Five steps in scalar form, after Cassidy et al. (IJCNN 2013). An event is (s, b, rho).


def fitted(v, bits, wrap):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if wrap:
        while v > high:
            v -= 2**bits
        while v < low:
            v += 2**bits
        return v
    return high if v > high else low if v < low else v


def sign(s):
    return 0 if s == 0 else s // abs(s)


def chance(s, rho):
    return sign(s) if abs(s) >= rho else 0


def one_tick(v, events, p, bits, wrap, comparison):
    for s, b, rho in events:  # 1
        v = fitted(v + (1 - b) * s + b * chance(s, rho), bits, wrap)
    omega = (1 - p["leak_reversal"]) + p["leak_reversal"] * sign(v)  # 2
    c = p["stochastic_leak"]
    v = fitted(v + omega * ((1 - c) * p["leak"] + c * chance(p["leak"], p["leak_rho"])), bits, wrap)
    eta = p["threshold_rho"] % 2 ** p["noise_bits"]  # 3
    alpha, beta, kappa, gamma = p["threshold"], p["negative_threshold"], p["saturate_negative"], p["reset_mode"]
    if v >= alpha + eta:  # 4
        v = [p["reset"], v - (alpha + eta), v][gamma]
        return fitted(v, bits, wrap), True
    bound = -(beta * kappa + (beta + eta) * (1 - kappa))
    if v < bound or (comparison == "<=" and v == bound):  # 5
        v = -beta if kappa else [-p["reset"], v + (beta + eta), v][gamma]
    return fitted(v, bits, wrap), False


def table(parameters):
    dtypes = {
        "weights": np.int16, "leak": np.int16, "leak_reversal": bool, "threshold": np.int32,
        "negative_threshold": np.int32, "reset": np.int32, "reset_mode": np.uint8,
        "saturate_negative": bool, "potential": np.int32,
    }  # fmt: skip
    dtypes |= {k: d for k, d in {"stochastic_leak": bool, "noise_bits": np.uint8}.items() if k in parameters[0]}
    columns = {k: [p.get(k, 0) for p in parameters] for k in dtypes if k != "weights"}
    columns["weights"] = [[0]] * len(parameters)
    return NeuronTable(**{k: np.array(columns[k], dtype=dtype) for k, dtype in dtypes.items()})


@st.composite
def neurons(draw):
    """Bits of the potential, and some neurons around their rails and thresholds."""
    bits = draw(st.integers(4, 20))
    top = 2 ** (bits - 1) - 1
    small = min(255, 2 * top)
    parameter = st.fixed_dictionaries(
        {
            "leak": st.integers(-small, small),
            "leak_reversal": st.integers(0, 1),
            "threshold": st.integers(0, 8) | st.integers(-top, 2 * top),
            "negative_threshold": st.integers(0, 8) | st.integers(-top, 2 * top),
            "reset": st.integers(-8, 8) | st.integers(-top - 1, top),
            "reset_mode": st.integers(0, 2),
            "saturate_negative": st.integers(0, 1),
            "potential": st.integers(-8, 8) | st.sampled_from([-top - 1, -top, top]) | st.integers(-top - 1, top),
            "stochastic_leak": st.integers(0, 1),
            "noise_bits": st.integers(0, 8),
            "leak_rho": st.integers(0, 255),
            "threshold_rho": st.integers(0, 255),
        }
    )
    parameters = draw(st.lists(parameter, min_size=1, max_size=6))
    event = st.tuples(st.integers(-small, small), st.integers(0, 1), st.integers(0, 255))
    events = st.lists(event, min_size=len(parameters), max_size=len(parameters))
    return bits, parameters, draw(st.lists(events, max_size=6))


@given(neurons(), st.booleans(), st.sampled_from(["<", "<="]), st.booleans())
@settings(deadline=None, max_examples=400)
def test_arrays_follow_the_five_scalar_steps(drawn, wrap, comparison, stochastic):
    bits, parameters, events = drawn
    width = Width(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, wrap)
    if stochastic:
        arrays = table(parameters)
        rhos = [np.array([p[key] for p in parameters], np.uint8) for key in ("leak_rho", "threshold_rho")]
        columns = [np.array(e).T for e in events]
        summands = [np.where(b, by_chance(s, rho.astype(np.uint8)), s) for s, b, rho in columns]
    else:
        events = [[(s, 0, rho) for s, _, rho in e] for e in events]
        parameters = [p | {"stochastic_leak": 0, "noise_bits": 0} for p in parameters]
        arrays = table([{k: p[k] for k in p if k not in ("stochastic_leak", "noise_bits")} for p in parameters])
        assert arrays.stochastic_leak is arrays.noise_bits is None
        rhos = []
        summands = [np.array(e)[:, 0] for e in events]
    v = arrays.potential.astype(np.int64)
    v = leak(integrate(v, summands, width), arrays, width, *rhos[:1])
    v, spikes = fire(v, arrays, width, comparison, *rhos[1:])
    expected = [
        one_tick(p["potential"], [e[i] for e in events], p, bits, wrap, comparison) for i, p in enumerate(parameters)
    ]
    assert list(zip(v.tolist(), spikes.tolist(), strict=True)) == expected


@pytest.fixture(scope="module")
def program():
    net = nm.build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]})
    return nm.map_rollout(nm.Rollout(net, "streaming"), nm.load_chip("ranc", {"core.neurons": 8}))


@given(drawn=neurons(), comparison=st.sampled_from(["<", "<="]))
@settings(deadline=None, max_examples=200)
def test_a_program_tells_which_neurons_a_tick_moves_from_0(program, drawn, comparison):
    """On chips with timed ticks these are updated in every tick, as they have a bias."""
    rest = dict.fromkeys(drawn[1][0], 0) | {"threshold": 1}
    arrays = table([*drawn[1], *[rest] * (program.shape[1] - len(drawn[1]))])
    wide = Width(-(2**40), 2**40 - 1)
    after, spikes = fire(leak(np.zeros(program.shape[1], np.int64), arrays, wide), arrays, wide, comparison)
    kept = ("weights", "stochastic_weight")
    rows = {f.name: getattr(arrays, f.name)[None] for f in fields(arrays) if f.name not in kept}
    chip = replace(program.chip, rules=replace(program.chip.rules, negative_comparison=comparison))
    of_rows = replace(program, chip=chip, neurons=replace(program.neurons, **rows))
    assert of_rows.has_bias[0].tolist() == (spikes | (after != 0)).tolist()


@pytest.mark.parametrize(
    ("gamma", "after_spike", "after_negative"),
    [(0, 3, -3), (1, 12 - 10, -25 + 20), (2, 12, -25)],
)
def test_reset_modes(gamma, after_spike, after_negative):
    p = {"threshold": 10, "negative_threshold": 20, "reset": 3, "reset_mode": gamma}
    v, spikes = fire(np.array([12, -25, 9, -20]), table([p] * 4), Width(-512, 511))
    assert v.tolist() == [after_spike, after_negative, 9, -20]
    assert spikes.tolist() == [True, False, False, False]


@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_kappa_holds_the_potential_at_the_negative_threshold(gamma):
    p = {"threshold": 10, "negative_threshold": 20, "reset": 3, "reset_mode": gamma, "saturate_negative": 1}
    v, _ = fire(np.array([-21, -400, -20, -19]), table([p] * 4), Width(-512, 511))
    assert v.tolist() == [-20, -20, -20, -19]


@pytest.mark.parametrize(
    ("gamma", "after_spike", "after_negative"),
    [(0, 3, -3), (1, 18 - 17, -28 + 27), (2, 18, -28)],
)
def test_threshold_noise_moves_both_thresholds_and_what_is_subtracted(gamma, after_spike, after_negative):
    # rho = 0xFF under a mask of 3 bits: eta = 7
    p = {"threshold": 10, "negative_threshold": 20, "reset": 3, "reset_mode": gamma, "noise_bits": 3}
    v, spikes = fire(np.array([18, 16, -28, -27]), table([p] * 4), Width(-512, 511), rho=np.full(4, 255, np.uint8))
    assert v.tolist() == [after_spike, 16, after_negative, -27]
    assert spikes.tolist() == [True, False, False, False]


def test_with_kappa_the_negative_threshold_has_no_noise():
    p = {"threshold": 10, "negative_threshold": 20, "noise_bits": 8, "saturate_negative": 1}
    v, _ = fire(np.array([-20, -21, -200]), table([p] * 3), Width(-512, 511), rho=np.full(3, 255, np.uint8))
    assert v.tolist() == [-20, -20, -20]


def test_noise_does_not_run_over_at_the_largest_threshold():
    top = 2**31 - 1
    p = {"threshold": top, "negative_threshold": top, "noise_bits": 8, "reset_mode": 1}
    v, spikes = fire(np.array([top, -top - 1]), table([p] * 2), Width(-top - 1, top), rho=np.full(2, 255, np.uint8))
    assert v.tolist() == [top, -top - 1]
    assert not spikes.any()


@pytest.mark.parametrize("s", [-256, -255, -9, -1, 0, 1, 9, 255])
def test_a_stochastic_step_goes_one_in_the_direction_of_its_value(s):
    rho = np.arange(256, dtype=np.uint8)
    steps = by_chance(np.full(256, s, np.int16), rho)
    assert set(steps.tolist()) <= {0, np.sign(s)}
    assert np.count_nonzero(steps) == (min(abs(s) + 1, 256) if s else 0)


@pytest.mark.parametrize(("v", "reversal", "after"), [(7, 0, 8), (7, 1, 8), (-7, 0, -6), (-7, 1, -8), (0, 1, 0)])
def test_leak_reversal_turns_the_stochastic_leak_too(v, reversal, after):
    arrays = table([{"leak": 100, "leak_reversal": reversal, "stochastic_leak": 1}] * 2)
    found = leak(np.array([v, v]), arrays, Width(-512, 511), np.array([100, 101], np.uint8))
    assert found.tolist() == [after, v]


def test_negative_comparison_matters_at_equality_only():
    arrays = table([{"threshold": 5, "negative_threshold": 4, "reset": 3}] * 3)
    v = np.array([-3, -4, -5])
    width = Width(-512, 511)
    assert fire(v, arrays, width, "<")[0].tolist() == [-3, -4, -3]
    assert fire(v, arrays, width, "<=")[0].tolist() == [-3, -3, -3]


def test_leak_reversal_pulls_away_from_or_to_zero_and_leaves_zero_alone():
    v = np.array([-7, 0, 7])
    width = Width(-512, 511)
    assert leak(v, table([{"leak": -2, "leak_reversal": 1}] * 3), width).tolist() == [-5, 0, 5]
    assert leak(v, table([{"leak": 2, "leak_reversal": 1}] * 3), width).tolist() == [-9, 0, 9]
    assert leak(v, table([{"leak": -2}] * 3), width).tolist() == [-9, -2, 5]


def test_saturation_after_every_event_depends_on_the_order_and_wrapping_does_not():
    up, down = np.array([100]), np.array([-100])
    start = np.array([100])
    saturate, wrap = Width(-128, 127), Width(-128, 127, wrap=True)
    assert integrate(start, [up, down], saturate).tolist() == [27]
    assert integrate(start, [down, up], saturate).tolist() == [100]
    assert integrate(start, [up, down], wrap).tolist() == integrate(start, [down, up], wrap).tolist() == [100]


@given(st.integers(-(10**9), 10**9), st.integers(2, 20))
@settings(deadline=None, max_examples=50)
def test_fitting_twice_is_fitting_once(v, bits):
    for wrap in (False, True):
        width = Width(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, wrap)
        once = width.fit(np.array([v]))
        assert width.low <= once[0] <= width.high
        assert width.fit(once) == once
        assert not wrap or (once[0] - v) % 2**bits == 0


@pytest.mark.parametrize("theta", [1, 2, 254, 255])
@pytest.mark.parametrize("comparison", ["<", "<="])
def test_a_frame_neuron_fires_iff_the_sum_reaches_theta_and_forgets(theta, comparison):
    # docs/mapping.md: leak -theta, thresholds 0, reset to 0
    sums = np.arange(-300, 301)
    arrays = table([{"leak": -theta}] * len(sums))
    v, spikes = fire(leak(sums, arrays, Width(-(2**19), 2**19 - 1)), arrays, Width(-(2**19), 2**19 - 1), comparison)
    assert (v == 0).all()
    assert (spikes == (sums >= theta)).all()
