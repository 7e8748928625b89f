"""Traces of any shape: nodes that are shown at unequal intervals, copies, strays, neurons without a node."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.recording import Potentials, Readout
from neuromap.simulation.trace.trace import Trace


@st.composite
def _traces(draw):
    period = draw(st.sampled_from([1, 2, 3, Fraction(3, 2)]))
    nodes = tuple(
        NodePort(name, draw(st.integers(1, 3)), kind, Fraction(draw(st.integers(-4, 6)), period.denominator))
        for name, kind in list(zip(["O", "H.1", "P-2"], ["output", "hidden", "output"], strict=True))[
            : draw(st.integers(0, 3))
        ]
    )
    n_ticks = draw(st.integers(1, 14))
    labels = [(k, i) for k, port in enumerate(nodes) for i in range(port.size)] + [(-1, -1)]
    event = st.tuples(
        st.integers(0, n_ticks - 1), st.sampled_from(labels), st.integers(0, 3), st.integers(0, 4)
    )  # fmt: skip
    events = sorted((t, k, i, core, neuron) for t, (k, i), core, neuron in draw(st.sets(event, max_size=40)))
    tick, node, index, core, neuron = np.array(events, np.int64).reshape(-1, 5).T
    places = [
        np.array(column, np.int32) for column in ((0, 2), (1, 3), (0 if nodes else -1, -1), (0 if nodes else -1, -1))
    ]
    potentials = None
    if draw(st.booleans()):
        values = np.arange(2 * n_ticks, dtype=np.int32).reshape(n_ticks, 2) - 3
        potentials = Potentials(Readout(nodes, *places), values)
    return Trace(
        name="a net", pattern="streaming", execution="windowed", nodes=nodes, period=period,
        n_frames=draw(st.integers(1, 8)), n_ticks=n_ticks, tick=tick, node=node.astype(np.int32),
        index=index.astype(np.int32), core=core.astype(np.int32), neuron=neuron.astype(np.int32),
        potential_table=potentials, tick_seconds=draw(st.sampled_from([1e-3, 5e-6, 1 / 3000])),
    )  # fmt: skip


@pytest.fixture(scope="session")
def traces():
    """Strategy: traces."""
    return _traces()


@pytest.fixture(scope="session")
def spiked():
    """By brute force: ticks and neurons of the spikes of a node, copies as one."""

    def find(trace, node):
        mine = zip(trace.tick.tolist(), trace.node.tolist(), trace.index.tolist(), strict=True)
        return sorted({(t, i) for t, k, i in mine if k == node})

    return find


@pytest.fixture(scope="session")
def shown_at():
    """By brute force: the tick of every frame of a node, from 1 on, that lies in the run."""

    def find(trace, port):
        ticks = {i: (port.sample_tick + i * Fraction(trace.period)).__floor__() for i in range(1, trace.n_frames)}
        return {i: tick for i, tick in ticks.items() if 0 <= tick < trace.n_ticks}

    return find
