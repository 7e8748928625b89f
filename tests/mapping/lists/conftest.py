"""Small chips with synapse lists, and random spiking networks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

import neuromap as nm
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights

STEP = 64  # of Loihi's thresholds


def _list_chip(**changes):
    chip = nm.load_chip("loihi1")
    lists = {key: changes.pop(key) for key in tuple(changes) if hasattr(chip.lists, key) and not hasattr(chip, key)}
    return replace(chip, name="tiny", **{"tile": (1, 1)} | changes, core_figures=replace(chip.lists, **lists))


@pytest.fixture(scope="session")
def list_chip():
    """A chip with Loihi's neuron, and figures of one's own."""
    return _list_chip


@st.composite
def _list_chips(draw, **given):
    """From a neuron or two in a core to all in one; few or many outputs, delays that need relays."""
    return _list_chip(
        **given,
        neurons=draw(st.sampled_from([6, 9, 40])),
        axons=draw(st.sampled_from([70, 4096])),
        output_axons=draw(st.sampled_from([12, 4096])),
        delay=draw(st.sampled_from([(1, 63), (1, 4), (1, 1)])),
    )


@pytest.fixture(scope="session")
def list_chips():
    """Small chips with Loihi's neuron, a strategy."""
    return _list_chips()


def _neuron(rng, size, n_currents, options=None):
    def values(low, high):
        return rng.integers(low, high, size)

    decays = [np.where(rng.random(size) < 0.3, 4096, values(0, 4097)) for _ in range(n_currents)]
    return CurrentNeuron(
        threshold=values(0, 40) * STEP, current_decay=decays[0], more_current_decays=decays[1:],
        voltage_decay=values(0, 4097), bias=values(-200, 300), refractory=values(0, 4),
        current=values(-500, 500), voltage=values(-500, 500), **(options(rng, size) if options else {}),
    )  # fmt: skip


@st.composite
def _spiking_networks(draw, options=None):
    """Cycles, self-edges, skips, one or two inputs, several terms and currents, any delays."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs, inner = ["I", "J"][: draw(st.integers(1, 2))], [f"N{k}" for k in range(draw(st.integers(1, 4)))]
    pairs = {(str(rng.choice([*inputs, *inner[:k]])), v) for k, v in enumerate(inner)}
    pairs |= {(u, str(rng.choice(inner))) for u in inputs}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.3}
    sizes = {name: int(rng.integers(1, 9)) for name in [*inputs, *inner]}
    currents = {name: int(rng.integers(1, 4)) for name in inner}
    nodes = {name: Node(name, (1, 1, sizes[name])) for name in inputs}
    nodes |= {name: Node(name, (1, 1, sizes[name]), neuron=_neuron(rng, sizes[name], currents[name], options))
              for name in inner}  # fmt: skip

    def term(u, v):
        shape = sizes[v], sizes[u]
        weights = rng.integers(-15, 16, shape) * STEP * (rng.random(shape) < 0.6)
        transform = Dense(nodes[u].shape, nodes[v].shape, weights=StoredWeights(weights))
        return transform, int(rng.choice([1, 1, 1, 2, 5, 63, 64, 130])), int(rng.integers(currents[v]))

    edges = {
        (u, v): Edge(u, v, *term(u, v), also=tuple(EdgeTerm(*term(u, v)) for _ in range(rng.integers(0, 3))))
        for u, v in sorted(pairs)
    }
    return Network("random", nodes, edges, outputs=(inner[-1],))


@pytest.fixture(scope="session")
def spiking_networks():
    """Random spiking networks, a strategy."""
    return _spiking_networks()


@st.composite
def _optional_networks(draw):
    """Random spiking networks whose neurons have resets, floors and sums that wrap, with a chip that has them too."""
    sums = {"accumulator_bits": draw(st.sampled_from([32, 8, 11])), "sum_wraps": draw(st.integers(0, 1))}
    widths = {"current_bits": draw(st.sampled_from([12, 24])), "voltage_bits": draw(st.sampled_from([13, 24]))}
    shared = draw(st.sampled_from([None, (511,), (1023,), (511, 1023, 2**31 - 1)]))
    flags = {"soft_reset": True, "reset_values": True, "floors": "any" if shared is None else "shared"}

    def options(rng, size):
        subtract = int(rng.integers(0, 2))
        floor = rng.choice(shared or (500, 700, 3000, 2**31 - 1), size)
        reset = 0 if subtract else rng.integers(-400, 400, size)
        return {"subtract": subtract, "floor": floor, "reset": reset, **sums, **widths}

    of_chip = {**flags, **sums, "sum_wraps": bool(sums["sum_wraps"]), "current_bits": widths["current_bits"]}
    chip = draw(_list_chips(potential_bits=widths["voltage_bits"], **of_chip))
    return draw(_spiking_networks(options)), chip


@pytest.fixture(scope="session")
def optional_networks():
    """Random spiking networks with options, and chips that have them: a strategy of pairs."""
    return _optional_networks()
