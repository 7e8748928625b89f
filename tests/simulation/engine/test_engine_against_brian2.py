"""Brian2 as an independent oracle: its own clock, delay queues, thresholds and resets."""

import logging
import warnings

import numpy as np
import pytest

from neuromap.simulation.engine.numpy_engine import NumpyEngine

N_TICKS = 50


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


def run_in_brian2(b, program, host, n_ticks):
    """Spikes as a Boolean array (n_ticks, C N) and potentials after every tick of the same shape.

    A tick is one time step of Brian2, in its slots: *synapses* deliver what is due to axons, *groups* integrate and
    leak, *thresholds* spike, then the negative threshold, *resets*, and at the *end* the axons are cleared. Spikes are
    queued at the next visit of the synapses, which takes one of the ticks of a delay.
    """
    (n_cores, n_axons), k = program.axon_types.shape, program.neurons
    n_neurons = k.leak.shape[1]
    bits = program.chip.potential_bits
    dt = b.defaultclock.dt = 1 * b.ms
    fed = b.TimedArray(host.reshape(n_ticks, -1).astype(float), dt=dt)
    axons = b.NeuronGroup(n_cores * n_axons, "due : 1", namespace={"fed": fed})
    axons.run_regularly("due = int(due + fed(t, i) > 0)", when="synapses", order=1, dt=dt)
    axons.run_regularly("due = 0", when="end", order=1, dt=dt)

    fit = f"(x + {2 ** (bits - 1)}) % {2**bits} - {2 ** (bits - 1)}"
    if program.chip.rules.overflow == "saturate":
        fit = f"clip(x, -{2 ** (bits - 1)}, {2 ** (bits - 1) - 1})"

    def assign(expression):
        return "v = " + fit.replace("x", f"({expression})")

    below = program.chip.rules.negative_comparison
    neurons = b.NeuronGroup(
        n_cores * n_neurons,
        """v : 1
        drive : 1
        lam : 1 (constant)
        eps : 1 (constant)
        alpha : 1 (constant)
        beta : 1 (constant)
        gamma : 1 (constant)
        kappa : 1 (constant)
        R : 1 (constant)""",
        threshold="v >= alpha",
        reset=assign("int(gamma == 0) * R + int(gamma == 1) * (v - alpha) + int(gamma == 2) * v"),
    )
    neurons.run_regularly(assign("v + drive"), when="groups", order=1, dt=dt)
    neurons.run_regularly(assign("v + (1 - eps + eps * sign(v)) * lam"), when="groups", order=2, dt=dt)
    neurons.run_regularly(
        f"low = int(v {below} -beta) * int(v < alpha)\n"
        "at_reset = int(gamma == 0) * (-R) + int(gamma == 1) * (v + beta) + int(gamma == 2) * v\n"
        + assign("low * (kappa * (-beta) + (1 - kappa) * at_reset) + (1 - low) * v"),
        when="thresholds",
        order=1,
        dt=dt,
    )
    names = {
        "v": "potential", "lam": "leak", "eps": "leak_reversal", "alpha": "threshold", "beta": "negative_threshold",
        "gamma": "reset_mode", "kappa": "saturate_negative", "R": "reset",
    }  # fmt: skip
    for letter, name in names.items():
        setattr(neurons, letter, getattr(k, name).reshape(-1).astype(float))

    bits_set = np.unpackbits(program.crossbar, axis=2, bitorder="little", count=n_neurons)
    c, a, n = np.nonzero(bits_set)
    crossbar = b.Synapses(axons, neurons, "w : 1 (constant)\ndrive_post = w * due_pre : 1 (summed)", dt=dt)
    crossbar.connect(i=c * n_axons + a, j=c * n_neurons + n)
    crossbar.w = k.weights[c, n, program.axon_types[c, a]].astype(float)

    c, n = np.nonzero(program.target_core >= 0)
    routes = b.Synapses(neurons, axons, on_pre="due_post = 1", dt=dt)
    routes.connect(i=c * n_neurons + n, j=program.target_core[c, n] * n_axons + program.target_axon[c, n])
    routes.delay = (program.delay[c, n].astype(float) - 1) * b.ms

    spikes = b.SpikeMonitor(neurons)
    potentials = b.StateMonitor(neurons, "v", record=True, when="end", dt=dt)
    network = b.Network(axons, neurons, crossbar, routes, spikes, potentials)
    network.schedule = ["start", "synapses", "groups", "thresholds", "resets", "end"]
    network.run(n_ticks * b.ms, namespace={})
    fired = np.zeros((n_ticks, n_cores * n_neurons), dtype=bool)
    fired[np.rint(spikes.t / dt).astype(int), np.asarray(spikes.i)] = True
    return fired, np.rint(np.asarray(potentials.v)).astype(np.int64).T


@pytest.mark.parametrize(
    ("seed", "overflow", "comparison", "bits"),
    [(1, "saturate", "<", 20), (2, "saturate", "<=", 20), (3, "wrap", "<", 9), (4, "wrap", "<=", 7)],
)
def test_engine_equals_brian2(brian2, make_chip, random_program, seed, overflow, comparison, bits):
    # With 20 bits no potential comes near a rail; Brian2 sums the events of a tick before it fits the sum.
    chip = make_chip(overflow=overflow, negative_comparison=comparison, potential_bits=bits)
    rng = np.random.default_rng(seed)
    program = random_program(rng, chip, 4, scale=30)
    host = rng.random((N_TICKS, *program.axon_types.shape)) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fired, potentials = run_in_brian2(brian2, program, host, N_TICKS)

    engine = NumpyEngine(program)
    for tick in range(N_TICKS):
        cores, neurons = engine.step(*np.nonzero(host[tick]))
        now = np.zeros(program.target_core.shape, dtype=bool)
        now[cores, neurons] = True
        assert (now.reshape(-1) == fired[tick]).all(), f"tick {tick}"
        assert (engine.potentials.reshape(-1) == potentials[tick]).all(), f"tick {tick}"
    assert 0.02 < fired.mean() < 0.9  # neither silent nor always on
