"""Nengo's reference simulator (NumPy, SciPy) on one thread: a neuron type of our own and a sparse connection.

A neuron's output reaches the others through a filter of zero time constant, which in Nengo delays by one step. The
connection is a SciPy matrix that is multiplied whole in every step: Nengo has no event-driven form.
"""

from __future__ import annotations

import time

import nengo
import numpy as np
import scipy.sparse
from measure import Stopwatch, arguments, report
from network import Network, read_network, synapses


class IntegrateAndFire(nengo.neurons.NeuronType):
    """The chip's neuron: add the input, which holds the leak, compare, reset."""

    state = {"voltage": nengo.dists.Choice([0.0])}  # noqa: RUF012 (Nengo's interface)
    spiking = True
    negative = False

    def __init__(self, threshold: int, reset: int, potential: np.ndarray) -> None:
        super().__init__(initial_state={"voltage": potential})
        self.fires_at, self.falls_to, self.n_spikes = threshold, reset, 0

    def max_rates_intercepts(self, gain: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Nengo asks for tuning curves; nothing here depends on them."""
        return np.ones_like(gain), np.zeros_like(bias)

    def step(self, dt: float, J: np.ndarray, output: np.ndarray, voltage: np.ndarray) -> None:
        """One tick of all neurons."""
        voltage += J
        fired = voltage >= self.fires_at
        output[:] = fired
        voltage[fired] = self.falls_to
        self.n_spikes += int(np.count_nonzero(fired))


def _matrix(network: Network) -> scipy.sparse.csr_matrix:
    pre, post, weights = (np.concatenate(column) for column in zip(*synapses(network), strict=True))
    return scipy.sparse.csr_matrix((weights.astype(np.float64), (post, pre)), shape=(network.n_neurons,) * 2)


def _model(network: Network) -> tuple[nengo.Network, IntegrateAndFire]:
    if network.delay != 1:
        raise SystemExit("Nengo: a connection delays by one step; the network must have delay 1")
    n = network.n_neurons
    kind = IntegrateAndFire(network.threshold, network.reset, np.array(network.potential, np.float64).reshape(-1))
    with nengo.Network(seed=0) as model:
        cells = nengo.Ensemble(
            n, 1, neuron_type=kind, gain=np.ones(n), bias=np.full(n, float(network.leak)), encoders=np.ones((n, 1))
        )
        nengo.Connection(cells.neurons, cells.neurons, transform=nengo.Sparse((n, n), init=_matrix(network)), synapse=0)
    return model, kind


def main() -> None:
    """Build, run, count."""
    asked = arguments()
    start = time.perf_counter()
    model, kind = _model(read_network(asked.network))
    with nengo.Simulator(model, dt=0.001, progress_bar=False, optimize=False) as simulator:
        build_s = time.perf_counter() - start
        spikes, before = [], kind.n_spikes
        for _ in range(asked.warm):
            simulator.run_steps(1, progress_bar=False)
            spikes.append(kind.n_spikes - before)
            before = kind.n_spikes
        with Stopwatch() as clock:
            simulator.run_steps(asked.ticks, progress_bar=False)
        spikes.append(kind.n_spikes - before)
    report(asked, version=nengo.__version__, cpu_s=clock.cpu_s, wall_s=clock.wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
