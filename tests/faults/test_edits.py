"""Edits by hand: the chip then computes the network with that threshold, that weight, without that part."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.faults.edited_program import (
    DeadLink,
    SilentCore,
    ThresholdEdit,
    WeightEdit,
    apply_edits,
    links_in_use,
    settled_state,
)
from neuromap.network.build import build_network
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.live_run import LiveRun, RandomSource


def changed(network, node=None, theta=None, edge=None, matrix=None):
    """The same network with other thresholds of a node, or another matrix of an edge."""
    nodes = {name: (n.size, n.threshold) for name, n in network.nodes.items()}
    if node is not None:
        nodes[node] = (nodes[node][0], theta)
    edges = {key: e.matrix().toarray() for key, e in network.edges.items()}
    if edge is not None:
        edges[edge] = matrix
    return build_network(nodes, edges, outputs=network.outputs)


def computes(program, rollout, network):
    """Whether what leaves the chip is what the reference computes for a network of the same graph."""
    frames = nm.random_frames(network, 8, seed=3)
    trace = nm.simulate(program, frames, engine="numpy")
    pattern = nm.RolloutPattern(network, rollout.pattern.values)
    expected = nm.reference(nm.Rollout(network, pattern, rollout.execution), frames)
    return all(np.array_equal(trace.frames(port.name), expected[port.name]) for port in trace.nodes)


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_threshold_edit_is_the_network_with_that_threshold(mapped, data):
    rollout, program = data.draw(mapped())
    network = rollout.network
    name = data.draw(st.sampled_from([n for n in network.nodes if n not in network.inputs]))
    size, theta = network.nodes[name].size, np.broadcast_to(network.nodes[name].threshold, network.nodes[name].size)
    index = data.draw(st.sampled_from([None, *range(size)]))
    by = data.draw(st.integers(-2, 4))
    into = [e.matrix().toarray() for (u, v), e in network.edges.items() if v == name]
    most = sum(np.maximum(w, 0).sum(axis=1) for w in into)
    mine = slice(None) if index is None else index
    assume((theta <= most + 1).all() and (theta[mine] + by >= 1).all())  # others are clipped, so that none can be told
    now = theta.copy()
    now[mine] += by
    try:
        edited = apply_edits(program, [ThresholdEdit(name, by, index)])
    except InputError as error:
        assume("is not in program" not in str(error))  # it leads to no output
        raise
    assert computes(edited, rollout, changed(network, node=name, theta=now))


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_weight_edit_is_the_network_with_that_weight(mapped, data):
    rollout, program = data.draw(mapped())
    network = rollout.network
    (u, v), edge = data.draw(st.sampled_from(list(network.edges.items())))
    matrix = edge.matrix().toarray()
    j, i = (data.draw(st.integers(0, size - 1)) for size in matrix.shape)
    weight = data.draw(st.integers(-2, 3))
    matrix[j, i] = weight
    theta = network.nodes[v].threshold
    assert theta is not None
    try:
        edited = apply_edits(program, [WeightEdit(u, i, v, j, weight)])
    except InputError as error:
        assume("choose" not in str(error) and "is not in program" not in str(error))
        raise
    now = changed(network, edge=(u, v), matrix=matrix)
    before = np.broadcast_to(theta, network.nodes[v].size)[j]
    sums = [
        sum(np.maximum(e.matrix().toarray(), 0).sum(axis=1)[j] for (_, w), e in n.edges.items() if w == v)
        for n in (network, now)
    ]
    assume(before <= sums[0] + 1)  # a threshold out of reach is clipped to one that the new weight may reach
    assert computes(edited, rollout, now)


@given(data=st.data(), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=40)
def test_a_core_falls_silent_at_once_and_no_other_part_is_touched(mapped, mixer_like, data, seed):
    program = data.draw(mapped())[1] if data.draw(st.booleans()) else mixer_like(seed)
    core = data.draw(st.integers(0, program.n_cores - 1))
    live = LiveRun(program, RandomSource(program, 0.6, seed), EngineChoice("numpy"))
    live.ticks(data.draw(st.integers(0, 6)))
    edits = [SilentCore(core)]
    live.put(apply_edits(program, edits), settled_state(program, edits, live.state))
    assert not any((sent.cores == core).any() for sent in live.ticks(8))
    live.put(apply_edits(program, []))
    assert live.program is program


@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_nothing_crosses_a_dead_link(mapped, data):
    program = data.draw(mapped())[1]
    links = links_in_use(program)
    assume(len(links.x))
    k = data.draw(st.integers(0, len(links.x) - 1))
    link = DeadLink(int(links.x[k]), int(links.y[k]), bool(links.upwards[k]))
    left = links_in_use(apply_edits(program, [link]))
    rows = lambda found: set(zip(*(column.tolist() for column in found), strict=True))  # noqa: E731
    assert (link.x, link.y, int(link.upwards)) not in rows(left)
    assert rows(left) < rows(links)
    with pytest.raises(InputError, match="no spike of program"):
        apply_edits(program, [replace(link, y=link.y + 5000)])


def test_links_are_those_of_routers_that_cores_share():
    """Where a router serves the cores of a tile, dead links cut what leaves a tile, and nothing within it."""
    rng, chip = np.random.default_rng(0), replace(nm.load_chip("loihi1"), neurons=6)
    edges = {("I", "H"): rng.integers(-1, 3, (60, 6)), ("H", "O"): rng.integers(0, 2, (20, 60))}
    network = build_network({"I": (6, None), "H": (60, 2), "O": (20, 2)}, edges)
    program = nm.map_rollout(nm.Rollout(network, "streaming"), chip)
    router, wires = program.coordinates // chip.tile, program.wires
    stays = (router[wires.core] == router[wires.target_core]).all(axis=1)
    assert 0 < stays.sum() < len(stays)
    links = links_in_use(program)
    dead = [DeadLink(int(x), int(y), bool(up)) for x, y, up in zip(*links, strict=True)]
    left = apply_edits(program, dead).wires
    assert set(zip(left.core.tolist(), left.target_core.tolist(), strict=True)) == set(
        zip(wires.core[stays].tolist(), wires.target_core[stays].tolist(), strict=True)
    )
    assert len(left.core) == stays.sum()


@pytest.fixture(scope="session")
def mixer_like(by_hand):
    """Two neurons with memory: they hold a potential between ticks."""

    def make(seed):
        program = by_hand(
            [("I", 1, "input", 0), ("O", 2, "output", 1)],
            {(0, 0): (1, 0, False, None), (1, 0): (1, 1, False, None)},
            1, [(0, 0, 0, 3), (1, 0, 0, 3)], [(0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 0)], n_cores=2,
        )  # fmt: skip
        threshold = np.full(program.shape, 2 + seed % 5, np.int32)
        table = replace(program.neurons, threshold=threshold, reset_mode=np.ones(program.shape, np.uint8))
        return replace(program, neurons=replace(table, leak=np.zeros(program.shape, np.int16)))

    return make


def test_what_no_chip_can_do_is_refused(digits):
    for edit, message in (
        (
            ThresholdEdit("H1", 999),
            r"threshold of node H1 \+999: the chip's neurons can change theirs by 0 to 252; stay within",
        ),
        (ThresholdEdit("I", 1), "node 'I': program digits SR has H1, H2, O"),
        (ThresholdEdit("H1", 1, 128), r"H1\[128\]: is not in program digits SR; neurons of H1 are 0 to 127"),
        (WeightEdit("I", 0, "O", 0, 1), r"no axon brings I\[0\] there; choose another pair"),
        (WeightEdit("I", 0, "H1", 0, 300), "can add up to"),
        (SilentCore(10**6), "core 1000000: program digits SR has cores 0 to"),
    ):
        with pytest.raises(InputError, match=message):
            apply_edits(digits, [edit])
    for make in (lambda: ThresholdEdit("H1", 0.5), lambda: SilentCore(-1), lambda: DeadLink(0, 0, 1)):
        with pytest.raises(InputError):
            make()
