"""Networks for the back end of Nengo; the modules here are skipped where Nengo is not installed."""

from functools import partial

import numpy as np
import pytest


@pytest.fixture
def loop():
    """A sine into a, a into b over a long synapse, b into itself and over neurons back into a; probes of all kinds."""
    import nengo

    with nengo.Network(seed=3) as network:
        sine = nengo.Node(lambda t: np.sin(20 * t), label="sine")
        a, b = nengo.Ensemble(20, 1, label="a"), nengo.Ensemble(25, 2, label="b")
        nengo.Connection(sine, a)
        nengo.Connection(a, b[1], synapse=0.1)
        nengo.Connection(b, b, synapse=0.05)
        nengo.Connection(b.neurons[:5], a.neurons[2:7], transform=-0.01, synapse=None)
        network.probes_of_b = [nengo.Probe(b, synapse=0.02), nengo.Probe(b.neurons), nengo.Probe(b.neurons, "voltage")]
        network.a, network.b = a, b
    return network


@pytest.fixture
def simulator():
    """The back end's simulator, quiet, on the engine that need not be compiled."""
    from neuromap.backends.nengo import Simulator

    return partial(Simulator, progress_bar=False, engine="numpy")
