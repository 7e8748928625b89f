"""Counting instead of sorting: rows, lists and their readers are those that sorting gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap import loops
from neuromap.cores.synapse_list.synapse_rows import in_lists, in_rows, narrow, readers_of, signals_read
from neuromap.network import Conv, GradedNeuron, build_network


@pytest.fixture(params=["plain", "compiled"], scope="module")
def way(request):
    """Loops as they stand, and compiled however little there is to do."""
    with pytest.MonkeyPatch.context() as chosen:
        if request.param == "compiled":
            for limit in ("INTERPRETED", "WITHOUT_COMPILER"):
                chosen.setattr(loops, limit, -1)
        yield request.param


@st.composite
def synapses(draw):
    """Synapses of few neurons and signals, some of them twice; cores and slots of the neurons, some in none."""
    n_rows, n_signals, n = draw(st.integers(1, 8)), draw(st.integers(1, 9)), draw(st.integers(0, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    target, signal = rng.integers(n_rows, size=n).astype(np.int32), rng.integers(n_signals, size=n).astype(np.int32)
    weight, delay = rng.integers(-9, 10, n).astype(np.int32), rng.integers(draw(st.integers(1, 4)), size=n)
    core = rng.integers(-1, 3, n_rows)
    return target, signal, weight, delay.astype(np.uint8), core, rng.permutation(n_rows), n_signals


@settings(deadline=None)  # a loop may be compiled first
@given(drawn=synapses())
def test_rows_and_lists_are_those_of_sorting(way, drawn):
    target, signal, weight, delay, core, slot, n_signals = drawn
    start, order = in_rows(target, signal, delay, len(core))
    expected = np.lexsort((delay, signal, target))
    assert np.array_equal(order, expected)
    assert np.array_equal(start, np.searchsorted(target[expected], np.arange(len(core) + 1)))

    columns = signal[order], weight[order], delay[order]
    table, list_signal = in_lists(start, columns, core, slot, 3, n_signals)
    row = target[order]
    listed = np.lexsort((slot[row], columns[2], columns[0], core[row]))
    listed = listed[core[row[listed]] >= 0]
    pairs, first = np.unique(core[row[listed]] * n_signals + columns[0][listed], return_index=True)
    assert np.array_equal(list_signal, pairs % n_signals)
    assert np.array_equal(table.axons, np.searchsorted(pairs // n_signals, np.arange(4)))
    assert np.array_equal(table.lists, np.append(first, len(listed)))
    for found, wanted in zip((table.neuron, table.weight, table.delay), (slot[row], *columns[1:]), strict=True):
        assert np.array_equal(found, wanted[listed])


@settings(deadline=None)  # a loop may be compiled first
@given(drawn=synapses())
def test_readers_are_the_distinct_pairs(way, drawn):
    target, signal, _, delay, core, _, n_signals = drawn
    start, order = in_rows(target, signal, delay, len(core))
    pairs = {(int(s), int(core[t])) for t, s in zip(target, signal, strict=True) if core[t] >= 0}
    found = readers_of(start, signal[order], core, 3, n_signals)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == sorted(pairs)
    begin, read = signals_read(start, signal[order], core, 3, n_signals)
    by_core = [(int(s), c) for c in range(3) for s in read[begin[c] : begin[c + 1]]]
    assert by_core == sorted(pairs, key=lambda pair: (pair[1], pair[0]))


@pytest.mark.parametrize("bound", [2**31 - 1, 2**31])
def test_weights_are_narrow_where_all_fit(bound):
    values = np.array([0, bound])
    assert (narrow(values).dtype == np.int32) == (bound < 2**31)
    assert np.array_equal(narrow(values), values)


def test_layers_that_are_read_in_part_share_lists():
    """Of H the reader needs every third row and column: its neurons still lie in boxes with the lists of one kernel."""
    unit, draw = GradedNeuron(0, 15, 1, 6), np.random.default_rng(0)
    shapes = {"I": (18, 18, 4), "H": (18, 18, 8), "O": (6, 6, 2)}
    net = build_network(
        {name: (shape, unit) for name, shape in shapes.items()},
        {
            ("I", "H"): Conv(shapes["I"], shapes["H"], (3, 3), weights=draw.integers(1, 8, (3, 3, 4, 8))),
            ("H", "O"): Conv(shapes["H"], shapes["O"], (1, 1), (3, 3), weights=draw.integers(1, 8, (1, 1, 8, 2))),
        },
    )
    chip = nm.load_chip("loihi2", {"core.synapse_memory_bits": 60_000})
    program = nm.map_rollout(nm.Rollout(net, "streaming"), chip, placer="row-major")
    table = program.synapses
    unshared = len(table.neuron) * chip.lists.dense_bits + (len(table.lists) - 1) * chip.lists.list_bits
    assert program.neurons_in_use.sum() < net.nodes["H"].size
    assert unshared > program.n_cores * chip.lists.synapse_memory_bits
    assert nm.verify(nm.Rollout(net, "streaming"), program).verified
