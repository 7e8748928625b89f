"""Neurons in cores of lists: never more deliveries than in their own order, within all limits, the same every time."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neuromap import loops
from neuromap.cores.synapse_list import move_groups
from neuromap.cores.synapse_list.fill_cores import number_order, partition_groups, settle
from neuromap.cores.synapse_list.grow_order import GroupOrder
from neuromap.cores.synapse_list.list_network import NeuronGroups, Room

FREE = Room(neurons=9, axons=30, output_axons=2**40, memory=2**40, list_bits=64, synapse_bits=25)


def groups_from(reads, load, n_host=5):
    """Groups that read what the rows of a matrix of booleans say; the last columns are signals of the host."""
    n = len(reads)
    group, signal = np.nonzero(reads)
    start = np.searchsorted(group, np.arange(n + 1))
    sender = np.concatenate([np.arange(n), np.full(n_host, -1)])
    return NeuronGroups(np.arange(n), start, signal.astype(np.int32), load, 2 * np.diff(start), sender)


@st.composite
def some_groups(draw):
    """Networks with places, where neurons mostly read near ones, shuffled or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 60))
    near = np.abs(np.subtract.outer(np.arange(n), np.arange(n + 5))) < draw(st.integers(1, 10))
    reads = near & (rng.random(near.shape) < 0.7)
    if draw(st.booleans()):
        order = rng.permutation(n)
        reads = reads[order]
    return groups_from(reads, rng.integers(1, 4, n))


ROOMS = [FREE, FREE._replace(output_axons=14), FREE._replace(memory=2500)]


def counted(core, groups, room):
    """Deliveries of every core, and whether it keeps all limits: with sets, one core after the other."""
    reads = [set(groups.signal[a:b].tolist()) for a, b in zip(groups.start[:-1], groups.start[1:], strict=True)]
    deliveries = 0
    read_in = {c: set().union(*(reads[g] for g in np.flatnonzero(core == c))) for c in set(core.tolist())}
    for c, read in read_in.items():
        mine = np.flatnonzero(core == c)
        deliveries += len(read)
        out = sum(s in other for other in read_in.values() for s in mine.tolist())
        assert groups.load[mine].sum() <= room.neurons
        assert len(read) <= room.axons
        assert out <= room.output_axons
        assert len(read) * room.list_bits + groups.synapses[mine].sum() * room.synapse_bits <= room.memory
    return deliveries


@given(some_groups(), st.sampled_from(ROOMS))
@settings(deadline=None, max_examples=80)
def test_a_partition_takes_no_more_deliveries_or_cores_than_the_order_of_the_neurons(groups, room):
    first, stuck, _ = settle(number_order(groups), groups, room)
    bits = np.diff(groups.start) * room.list_bits + groups.synapses * room.synapse_bits
    if stuck >= 0 or bits.max() > room.memory:
        event("does not fit")
        return
    core = partition_groups(groups, room)
    before, after = counted(first, groups, room), counted(core, groups, room)
    event(f"saves: {after < before}")
    assert after <= before
    assert core.max() <= first.max()


@given(some_groups())
@settings(deadline=None, max_examples=20)
def test_the_same_groups_give_the_same_cores(groups):
    assert np.array_equal(partition_groups(groups, FREE), partition_groups(groups, FREE))


@given(some_groups(), st.integers(1, 4), st.sampled_from(ROOMS), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_groups_that_read_the_same_fill_cores_as_if_each_were_looked_at(groups, times, room, seed):
    """Every group several times, as features of a position are; signals in another order in each hide that."""
    rng = np.random.default_rng(seed)
    lists = [groups.signal[a:b] for a, b in zip(groups.start[:-1], groups.start[1:], strict=True) for _ in range(times)]
    n = len(lists)
    start = np.concatenate([[0], np.cumsum([len(reads) for reads in lists])])
    load = np.repeat(groups.load, times)
    sender = np.full(groups.n_signals, -1)

    def filled(orders):
        signal = np.concatenate([reads[order] for reads, order in zip(lists, orders, strict=True)])
        mine = NeuronGroups(np.arange(n), start, signal, load, 2 * np.diff(start), sender)
        order = GroupOrder(np.arange(n), np.append(np.arange(times + 1, n, times + 1), n))
        return mine, *settle(order, mine, room)

    mine, core, _, deliveries = filled([np.arange(len(reads)) for reads in lists])
    _, hidden, _, as_many = filled([rng.permutation(len(reads)) for reads in lists])
    event(f"alike: {len(np.unique(mine.alike)) < n}")
    np.testing.assert_array_equal(core, hidden)
    assert deliveries == as_many == mine.deliveries(core)


def test_compiled_and_plain_loops_agree(monkeypatch):
    rng = np.random.default_rng(3)
    near = np.abs(np.subtract.outer(np.arange(120), np.arange(125))) < 9
    groups = groups_from(near & (rng.random(near.shape) < 0.7), rng.integers(1, 4, 120))
    plain = partition_groups(groups, FREE)
    for limit in ("INTERPRETED", "WITHOUT_COMPILER"):
        monkeypatch.setattr(loops, limit, 0)
    assert np.array_equal(partition_groups(groups, FREE), plain)


@pytest.mark.parametrize("room", [FREE, FREE._replace(output_axons=60), FREE._replace(memory=3500)])
@pytest.mark.parametrize("seed", range(2))
def test_rows_of_bits_and_lists_lead_to_the_same_moves(monkeypatch, room, seed):
    """In more cores than a word of bits has, compiled."""
    rng = np.random.default_rng(seed)
    near = np.abs(np.subtract.outer(np.arange(500), np.arange(505))) < 20
    groups = groups_from(near & (rng.random(near.shape) < 0.4), rng.integers(1, 4, 500))
    core, stuck, deliveries = settle(GroupOrder(rng.permutation(500), np.arange(1, 501)), groups, room)
    assert stuck < 0
    assert core.max() > 64
    for limit in ("INTERPRETED", "WITHOUT_COMPILER"):
        monkeypatch.setattr(loops, limit, 0)
    monkeypatch.setattr(move_groups, "WORDS", 0.0)
    by_lists = move_groups.move_groups(core, groups, room, deliveries)
    monkeypatch.setattr(move_groups, "WORDS", np.inf)
    by_bits = move_groups.move_groups(core, groups, room, deliveries)
    np.testing.assert_array_equal(by_bits, by_lists)
    assert counted(by_bits, groups, room) < counted(core, groups, room)


def test_blocks_read_less_than_rows():
    """A 3x3 window over 16x16 neurons: a core of 64 is 8x8, which reads 10x10, or 4 rows, which read 6x16."""
    row, column = np.divmod(np.arange(256), 16)
    reads = (np.abs(row[:, None] - row) <= 1) & (np.abs(column[:, None] - column) <= 1)
    groups = groups_from(np.hstack([reads, np.zeros((256, 5), bool)]), np.ones(256, np.int64))
    room = FREE._replace(neurons=64, axons=256)
    assert groups.deliveries(settle(number_order(groups), groups, room)[0]) == 2 * (5 + 6) * 16
    assert groups.deliveries(partition_groups(groups, room, [(0, (16, 16, 1))])) <= 4 * 81


def test_deliveries_are_counted_where_pairs_of_signals_and_cores_leave_32_bits():
    many = 2**20
    groups = NeuronGroups(
        neuron=np.arange(2), start=np.array([0, 1, 2]), signal=np.array([many, 0], np.int32),
        load=np.ones(2, np.int64), synapses=np.ones(2, np.int64), sender=np.full(many + 1, -1),
    )  # fmt: skip
    assert groups.deliveries(np.array([4095, 4095])) == 2
