"""Equivalent patterns give the same frames of the outputs, up to shifts; others are told apart (docs/theorems)."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import PatternError
from neuromap.network.network import Network
from neuromap.rollout.behaviour import behaviour_classes, class_key, count_behaviour_classes, equivalent
from neuromap.rollout.pattern import RolloutPattern

DEAD_END = [("I", "O"), ("I", "A"), ("A", "B"), ("I", "B")]

# A simulator of frames, as small as can be: x_v[i] = [sum of W x_u[i - R] >= theta].


def simulate(pattern, weights, thetas, stimulus, n_frames):
    """Frames 0 to n_frames of every node; frame 0 and all before it are zero."""
    net = pattern.network
    x = {v: np.zeros((n_frames + 1, len(thetas[v])), dtype=np.int64) for v in net.nodes}
    for u in net.inputs:
        x[u][1:] = stimulus[u]
    for i in range(1, n_frames + 1):
        for v in pattern.node_order:
            if v not in net.inputs:
                into = [(u, i - pattern[u, w]) for u, w in net.edges if w == v]
                total = sum((weights[u, v] @ x[u][j] for u, j in into if j >= 0), np.zeros(len(thetas[v]), np.int64))
                x[v][i] = total >= thetas[v]
    return x


def test_what_no_output_sees_makes_no_class():
    net = Network.from_edges(DEAD_END, outputs=["O"])
    assert len(behaviour_classes(net)) == count_behaviour_classes(net) == 1
    streaming, sequential = RolloutPattern.streaming(net), RolloutPattern(net, (0, 0, 0, 0))
    assert equivalent(streaming, sequential) == {"I": 0, "O": -1}
    seen = Network.from_edges(DEAD_END, outputs=["O", "B"])
    assert len(behaviour_classes(seen)) == count_behaviour_classes(seen) == 4
    with pytest.raises(PatternError, match="different outputs, O and O, B"):
        equivalent(streaming, RolloutPattern.streaming(seen))


@pytest.mark.theorem
@given(seed=st.integers(0, 2**32 - 1), data=st.data())
@settings(deadline=None, max_examples=1000)
def test_equivalent_patterns_give_equal_shifted_frames_of_the_outputs(rollouts, with_outputs, relatives, seed, data):
    net, p = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    q = data.draw(relatives(p))
    shift = equivalent(p, q)
    rng = np.random.default_rng(seed)
    size = {v: rng.integers(1, 5) for v in net.nodes}
    weights = {(u, v): rng.integers(-1, 4, (size[v], size[u])) for u, v in net.edges}
    thetas = {v: rng.integers(1, 4, size[v]) for v in net.nodes}
    n_frames = 20
    stimulus = {u: rng.integers(0, 2, (n_frames, size[u])) for u in net.inputs}
    x = simulate(p, weights, thetas, stimulus, n_frames)
    y = simulate(q, weights, thetas, stimulus, n_frames)
    assert set(shift) >= set(net.outputs)
    for v, rho in shift.items():
        early, late = (x[v], y[v]) if rho >= 0 else (y[v], x[v])
        assert np.array_equal(late[abs(rho) :], early[: n_frames + 1 - abs(rho)])
        assert not late[: abs(rho)].any()


def walks_from(net, starts):
    """The shortest walk from one of the starts to every node that they reach."""
    walks = {u: [u] for u in starts}
    front = list(walks)
    for u in front:
        for a, v in net.edges:
            if a == u and v not in walks:
                walks[v] = [*walks[u], v]
                front.append(v)
    return walks


def differing_walks(p, q):
    """Two walks from inputs to one node whose relative delay differs, and a walk on from there to an output."""
    walks = walks_from(p.network, p.network.inputs)

    def gain(walk):
        return sum(q[key] - p[key] for key in pairwise(walk))

    for u, v in p.network.edges:
        one, two = walks[v], [*walks[u], v]
        onward = [walk for end, walk in walks_from(p.network, [v]).items() if end in p.network.outputs]
        if onward and gain(one) != gain(two):
            return one, two, onward[0]
    return None


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_other_patterns_are_told_apart_by_some_weights_and_input(rollouts, with_outputs, valid_patterns, data):
    net, p = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    q = data.draw(valid_patterns(net))
    walks = differing_walks(p, q)
    assert (walks is None) == (equivalent(p, q) is not None) == (class_key(p) == class_key(q))
    if walks is None:
        return
    # One neuron per station of each walk hands the spike on; one wants both walks at once; one per station onwards.
    *meeting_walks, onward = walks
    meeting, end = onward[0], onward[-1]
    stations = {v: [] for v in net.nodes}
    for k, walk in enumerate(walks):
        for j, v in enumerate(walk):
            stations[v].append((k, j))
    thetas = {v: np.array([2 if s == (2, 0) else 1 for s in stations[v]], dtype=int) for v in net.nodes}
    weights = {(u, v): np.zeros((len(stations[v]), len(stations[u])), dtype=int) for u, v in net.edges}
    for k, walk in enumerate(walks):
        for j, (u, v) in enumerate(pairwise(walk)):
            weights[u, v][stations[v].index((k, j + 1)), stations[u].index((k, j))] = 1
    for k, walk in enumerate(meeting_walks):
        last = stations[walk[-2]].index((k, len(walk) - 2))
        weights[walk[-2], meeting][stations[meeting].index((2, 0)), last] = 1
    # One spike into each walk, so timed that they meet under p.
    delay = [sum(p[key] for key in pairwise(walk)) for walk in meeting_walks]
    n_frames = 2 + 3 * max(len(walk) for walk in walks)
    stimulus = {u: np.zeros((n_frames, len(stations[u])), dtype=int) for u in net.inputs}
    for k, walk in enumerate(meeting_walks):
        stimulus[walk[0]][max(delay) - delay[k], stations[walk[0]].index((k, 0))] = 1
    last = stations[end].index((2, len(onward) - 1))
    met = [simulate(r, weights, thetas, stimulus, n_frames)[end][:, last] for r in (p, q)]
    assert met[0].sum() == 1
    assert met[1].sum() == 0
