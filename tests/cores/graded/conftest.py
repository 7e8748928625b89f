"""Small chips with graded cores, random graded networks, and frames read off the messages of a run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

import neuromap as nm
from neuromap.hardware.program.ports import BIAS
from neuromap.network import Conv, Dense, GradedNeuron, Identity, Pool, build_network
from neuromap.simulation.engine.engine import HostEvents

SHAPES = [(4, 4, 2), (5, 3, 2), (2, 2, 4), (1, 1, 6)]


def _graded_chip(**changes):
    """Loihi 2's core, small unless said otherwise; figures of its lists by name too."""
    chip = nm.load_chip("loihi2")
    lists = {key: changes.pop(key) for key in tuple(changes) if hasattr(chip.lists, key) and not hasattr(chip, key)}
    fields = {"name": "tiny", "neurons": 40} | changes
    return replace(chip, **fields, core_figures=replace(chip.lists, **lists))


@pytest.fixture(scope="session")
def graded_chip():
    return _graded_chip


@st.composite
def _graded_chips(draw):
    """Many small cores or a large one, delays that need relays, lists that are shared or not."""
    return _graded_chip(
        neurons=draw(st.sampled_from([17, 40, 400])),
        axons=draw(st.sampled_from([90, 4096])),
        delay=draw(st.sampled_from([(1, 63), (1, 3), (1, 1)])),
        synapse_memory_bits=draw(st.sampled_from([50_000, 1_572_864])),
        accumulator_bits=32,
    )


@pytest.fixture(scope="session")
def graded_chips():
    return _graded_chips()


def _unit(draw, rng, shape):
    """Units with one value per node, feature or neuron: ReLU, linear and saturating ones, or the greatest input."""
    low, high = draw(st.sampled_from([(0, 255), (-128, 127), (0, 3), (-3000, 2000)]))
    size = draw(st.sampled_from([(), (shape[2],), (int(np.prod(shape)),)]))
    if draw(st.integers(0, 4)) == 0:
        return GradedNeuron(low, high, rng.integers(1, 300, size), rng.integers(0, 9, size), maximum=1)
    bias = rng.integers(-(2 ** draw(st.integers(0, 16))), 2 ** draw(st.integers(0, 16)), size)
    return GradedNeuron(low, high, rng.integers(0, 2**20, size), rng.integers(8, 26, size), bias * rng.integers(0, 2))


def _edge(draw, rng, source, target, widest):
    """A transform between two shapes: whatever fits."""
    ways = ["dense"]
    if source[:2] == target[:2] or all(-(-a // 2) == b for a, b in zip(source[:2], target[:2], strict=True)):
        ways += ["conv", "conv"] + ["pool"] * (source[2] == target[2])
    ways += ["identity"] * (source == target)
    way = draw(st.sampled_from(ways))
    if way == "identity":
        return Identity(source, target)
    stride = (1, 1) if source[:2] == target[:2] else (2, 2)
    if way == "pool":
        return Pool(source, target, (2, 2), stride, padding="same")
    if way == "conv":
        groups = 2 if source[2] % 2 == target[2] % 2 == 0 and draw(st.booleans()) else 1
        kernel = draw(st.sampled_from([(1, 1), (3, 3), (2, 3)]))
        weights = rng.integers(-widest, widest + 1, (*kernel, source[2] // groups, target[2]))
        return Conv(source, target, kernel, stride, groups=groups, weights=weights)
    weights = rng.integers(-widest, widest + 1, (int(np.prod(target)), int(np.prod(source))))
    return Dense(source, target, weights=weights * (rng.random(weights.shape) < draw(st.sampled_from([0.2, 1.0]))))


@st.composite
def _graded_networks(draw, widest=127):
    """Networks of up to 6 nodes with cycles, self-edges and sums of several edges, one or two inputs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shapes = {name: draw(st.sampled_from(SHAPES)) for name in ["I", "J"][: draw(st.integers(1, 2))]}
    nodes = {name: (shape, GradedNeuron(-128, 127)) for name, shape in shapes.items()}
    inner = [f"N{k}" for k in range(draw(st.integers(1, 4)))]
    edges = [(draw(st.sampled_from([*shapes, *inner[:k]])), v) for k, v in enumerate(inner)]
    edges += [(u, draw(st.sampled_from(inner))) for u in shapes if all(a != u for a, _ in edges)]
    edges += [(u, v) for u in inner for v in inner if (u, v) not in edges and draw(st.integers(0, 4)) == 0]
    shapes |= {name: draw(st.sampled_from(SHAPES)) for name in inner}
    nodes |= {name: (shapes[name], _unit(draw, rng, shapes[name])) for name in inner}
    joined = {(u, v): _edge(draw, rng, shapes[u], shapes[v], widest) for u, v in edges}
    return build_network(nodes, joined, outputs=draw(st.sampled_from([(), tuple(inner[-2:])])), name="random")


@pytest.fixture(scope="session")
def graded_networks():
    return _graded_networks


def _fed(program, frames, n_ticks):
    """What the host feeds, row by row of its table."""
    rows, n_frames = [], len(next(iter(frames.values())))
    host = program.host
    for k in range(len(host)):
        for i in range(int(host.first_frame[k]), n_frames):
            value = max(int(host.index[k]), 1)
            if host.node[k] != BIAS:
                value = int(frames[program.nodes[host.node[k]].name][i, host.index[k]])
            tick = int(host.arrival[k]) + i * program.period
            if value and tick < n_ticks:
                rows.append((tick, host.core[k], host.axon[k], value))
    tick, core, axon, value = np.array(sorted(rows), np.int64).reshape(-1, 4).T
    start = np.searchsorted(tick, np.arange(n_ticks + 1))
    return HostEvents(start, *(column.astype(np.int32) for column in (core, axon, value)))


@pytest.fixture(scope="session")
def fed():
    return _fed


def _frames_of(program, sent, n_frames):
    """Frames of the outputs, as messages of their neurons say."""
    nodes = {port.name: np.zeros((n_frames, port.size), np.int64) for port in program.nodes if port.kind == "output"}
    row = {
        (int(c), int(n)): r for r, (c, n) in enumerate(zip(program.outputs.core, program.outputs.neuron, strict=True))
    }
    for tick, core, neuron, value in zip(*(column.tolist() for column in sent), strict=True):
        if (core, neuron) in row:
            r = row[core, neuron]
            port = program.nodes[program.outputs.node[r]]
            frame, rest = divmod(tick - port.sample_tick, program.period)
            if rest == 0 and 0 <= frame < n_frames:
                nodes[port.name][int(frame), program.outputs.index[r]] = value
    return nodes


@pytest.fixture(scope="session")
def frames_of():
    return _frames_of
