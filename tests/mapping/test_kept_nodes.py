"""Nodes that no output depends on: named at mapping, refused where they are recorded, kept where that is asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import build_network

CORES = [(64, 10), (64, 24), (256, 256)]


def needed_neurons(net, kept):
    """Neurons from which weights lead to an output or a kept node, by node."""
    needed = {n: np.full(node.size, n in net.outputs or n in kept) for n, node in net.nodes.items()}
    for _ in range(sum(node.size for node in net.nodes.values())):
        for (u, v), edge in net.edges.items():
            needed[u] |= edge.matrix().toarray()[needed[v]].astype(bool).any(axis=0)
    return needed


@pytest.mark.law
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_what_is_recorded_of_a_node_is_the_reference_in_every_frame(networks, patterns, chip, data):
    net = data.draw(networks(weights=st.integers(-1, 2), thresholds=st.integers(-1, 2), largest=5))
    hidden = [n for n in net.nodes if n not in net.inputs and n not in net.outputs]
    some = st.lists(st.sampled_from(hidden), unique=True) if hidden else st.just([])
    keep = data.draw(st.one_of(some, st.just(["all"])))
    execution = data.draw(st.sampled_from(["windowed", "pipelined"]))
    axons, neurons = data.draw(st.sampled_from(CORES))
    spec = chip(axons=axons, neurons=neurons, delay=(1, data.draw(st.integers(1, 15))))
    choices = {
        "packing": data.draw(st.booleans()),
        "splitters": data.draw(st.sampled_from(["slack", "anywhere", "never"])),
    }
    rollout = nm.Rollout(net, data.draw(patterns(net)), execution)
    try:
        mapping = map_with_stages(rollout, spec, nm.mapping.MappingOptions(keep=keep, **choices))
    except DoesNotFitError:
        return
    program = mapping.program
    assert nm.check_program(program) == []

    needed = needed_neurons(net, hidden if "all" in keep else keep)
    for name in hidden:  # a cycle may hold on to more than leads to an output
        assert mapping.left_out.get(name, 0) <= np.count_nonzero(~needed[name])
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    stimuli = {i: rng.random((3, 6, net.nodes[i].size)) < 0.6 for i in net.inputs}
    record, engine = nm.Recording("all"), data.draw(st.sampled_from(["fast", "numpy"]))
    trace = nm.simulate(program, {i: rows[0] for i, rows in stimuli.items()}, record=record, engine=engine)
    batch = nm.simulate_batch(program, stimuli, record=record, engine=engine)
    names = [port.name for port in trace.nodes]
    assert names == [port.name for port in batch.nodes]
    assert set(names) == {n for n in net.nodes if n not in net.inputs} - set(mapping.left_out)
    for s in range(3):
        expected = nm.reference(rollout, {i: rows[s] for i, rows in stimuli.items()})
        for name in names:
            np.testing.assert_array_equal(batch.frames(name)[s], expected[name])
            if s == 0:
                np.testing.assert_array_equal(trace.frames(name), expected[name])
    for name in mapping.left_out:
        with pytest.raises(InputError, match=rf"neurons, because .* is left out; map with --keep {name}"):
            nm.simulate_batch(program, stimuli, record=nm.Recording(f"node:{name}"))


@pytest.fixture
def side_branch():
    """H and B lead to no output."""
    one = [[1]]
    edges = {("I", "A"): one, ("A", "H"): one, ("H", "B"): one, ("I", "O"): one}
    return build_network({n: (1, None if n == "I" else 1) for n in "IAHBO"}, edges, outputs=["O"])


def test_left_out_nodes_are_named_refused_and_kept(side_branch):
    rollout = nm.Rollout(side_branch, nm.RolloutPattern.sequential(side_branch))
    frames = {"I": np.ones((4, 1), bool)}
    program = nm.map_rollout(rollout)
    assert program.left_out == {"A": 1, "H": 1, "B": 1}
    with pytest.raises(InputError, match=r"holds none of its 1 neurons, .*; map with --keep H \(keep='H'\)"):
        nm.simulate(program, frames, record=nm.Recording("node:H"))
    with pytest.raises(InputError, match="holds none"):
        nm.simulate(program, frames, record=nm.Recording(potentials="node:H"))
    kept = nm.map_rollout(rollout, keep="H")
    assert kept.left_out == {"B": 1}  # A is held, as H reads it
    trace = nm.simulate(kept, frames, record=nm.Recording("outputs,node:H,node:A"))
    assert trace.frames("H").ravel().tolist() == trace.frames("A").ravel().tolist() == [False, True, True, True]
    assert nm.map_rollout(rollout, keep="all").left_out == {}


def test_a_node_that_is_held_in_part_is_left_out_and_kept_whole(chip):
    net = build_network(
        {"I": (2, None), "H": (3, [1, 1, 0]), "O": (1, 1)},
        {("I", "H"): [[1, 0], [0, 1], [0, 0]], ("H", "O"): [[1, 0, 0]]},
    )
    rollout = nm.Rollout(net, "streaming")
    frames = {"I": np.array([[0, 0], [1, 1], [0, 1]], bool)}
    program = nm.map_rollout(rollout, chip())
    assert program.left_out == {"H": 2}
    with pytest.raises(InputError, match="holds 1 of its 3 neurons"):
        nm.simulate(program, frames, record=nm.Recording("node:H"))
    everything = nm.simulate(program, frames, record=nm.Recording("all"))
    assert [port.name for port in everything.nodes] == ["O"]
    assert (everything.node == -1).any()  # the spikes of H[0] are there, by core
    kept = nm.simulate(nm.map_rollout(rollout, chip(), keep="H"), frames, record=nm.Recording("node:H"))
    np.testing.assert_array_equal(kept.frames("H"), nm.reference(rollout, frames)["H"])


def test_a_program_file_tells_what_is_left_out(side_branch, tmp_path):
    program = nm.map_rollout(nm.Rollout(side_branch, "streaming"), keep=["H"])
    program.save(tmp_path / "side.nmp")
    assert nm.load_program(tmp_path / "side.nmp").left_out == program.left_out == {"B": 1}


def test_keeping_what_is_held_anyway_changes_nothing(side_branch):
    one, other = (nm.map_rollout(nm.Rollout(side_branch, "streaming"), keep=k) for k in ("H", ["H", "A", "O"]))
    assert (one.neuron_node == other.neuron_node).all()
    assert (one.coordinates == other.coordinates).all()


@pytest.mark.parametrize(
    ("keep", "found"),
    [
        ("I", "keep I: is an input, whose spikes are the stimulus; allowed are all, A, H, B, O"),
        (["X"], "keep X: is unknown; allowed are all, A, H, B, O"),
        ("", "keep '': must be names of nodes"),
        (3, "keep 3: must be names of nodes"),
        ([3], "must be names of nodes"),
    ],
)
def test_names_that_cannot_be_kept_are_refused(side_branch, keep, found):
    with pytest.raises(InputError, match=found) as caught:
        nm.map_rollout(nm.Rollout(side_branch, "streaming"), keep=keep)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keep", ["A", "B", ["A", "B"], "all"])
@pytest.mark.parametrize("chip_name", ["truenorth", "loihi1"])
def test_nodes_that_only_read_one_another_are_kept(keep, chip_name):
    """A and B read each other, C reads itself; nothing else reads them."""
    edges = {pair: [[1]] for pair in [("I", "A"), ("A", "B"), ("B", "A"), ("I", "O"), ("C", "C")]} | {("I", "C"): [[0]]}
    net = build_network({n: (1, None if n == "I" else int(n != "C")) for n in "IABCO"}, edges, outputs=["O"])
    rollout = nm.Rollout(net, nm.RolloutPattern.streaming(net))
    kept = nm.map_rollout(rollout, chip_name, keep=keep)
    assert kept.left_out == ({} if keep == "all" else {"C": 1})
    frames = {"I": np.array([[0], [1], [0], [0]], bool)}
    trace = nm.simulate(kept, frames, record=nm.Recording("all"))
    expected = nm.reference(rollout, frames)
    for name in {"A", "B", "C"} - set(kept.left_out):
        np.testing.assert_array_equal(trace.frames(name), expected[name])
