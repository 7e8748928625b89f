"""Mappings of synapse-list cores for time and energy: books are right, nothing gets worse, and the meaning stays."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import neuromap as nm
from neuromap.cores.synapse_list import balance_cores
from neuromap.cores.synapse_list.balance_cores import Balance, Rates, rates_of
from neuromap.cores.synapse_list.balance_kernel import compiled
from neuromap.cores.synapse_list.fill_cores import with_slots
from neuromap.cores.synapse_list.fit_weights import asks_for_runs
from neuromap.cores.synapse_list.list_network import NeuronGroups, Room, list_network, neuron_groups
from neuromap.cores.synapse_list.mapper import synapse_table
from neuromap.cores.synapse_list.recorded_work import Layout, RecordedWork, block_start
from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import TickCosts
from neuromap.hardware.program.program_bytes import program_tensors
from neuromap.mapping.diagnosis.apply_remedy import Request, apply_remedy
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.options.budget import Budget
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense
from neuromap.simulation.cost.energy import Counts, energy_of

ROOM = Room(neurons=9, axons=30, output_axons=40, memory=4000, list_bits=64, synapse_bits=25)
COSTS = TickCosts(6e-9, 4e-9, 30e-9, 5e-9, 16e-9, 4e-9, 0.0, 0.0, ((1, 1e-7), (3, 2e-7)))
RATES = {
    "tick": Rates(1.0, 0.0, 0.0, 0.0, 0.0),
    "energy": Rates(0.0, 1.0, 1e-9, 1e-10, 0.01),
    "edp": Rates(1.0, 1.0, 1e-9, 1e-10, 0.01),
}


def random_work(seed, n=12, n_host=3, n_ticks=7):
    """Groups in rows and columns, of one node or two, that read random ones, and random ticks."""
    rng = np.random.default_rng(seed)
    reads = rng.integers(0, 3, (n, n + n_host)) * (rng.random((n, n + n_host)) < 0.4)
    group, signal = np.nonzero(reads)
    synapses = np.bincount(group, reads[group, signal], n).astype(np.int64)
    sender = np.concatenate([np.arange(n), np.full(n_host, -1)])
    start = np.searchsorted(group, np.arange(n + 1))
    groups = NeuronGroups(np.arange(n), start, signal.astype(np.int32), rng.integers(1, 3, n), synapses, sender)
    sent = sparse.csr_matrix((rng.random((n + n_host, n_ticks)) < 0.3).astype(np.int64))
    active = sparse.csr_matrix((rng.random((n, n_ticks)) < 0.5).astype(np.int64))
    costs = np.array([6000, 4000, 30000, 5000, 16000, 4000])
    work = RecordedWork(groups, np.arange(n), reads[group, signal].astype(np.int64), sent, active, costs)
    place = np.stack(np.unravel_index(np.arange(n), (2, n // 4, 2)), axis=1)
    return work, Layout(np.zeros(n, np.int64), place, np.tile([2, n // 2], (n, 1)))


def counted_loads(work, core, n_cores):
    """Sending and receiving, group by group and spike by spike."""
    access, update, fire, spike, arrival, event = work.costs.tolist()
    groups, sent, active = work.groups, work.sent.toarray(), work.active.toarray()
    loads, messages = np.zeros((2, n_cores, work.n_ticks), np.int64), np.zeros(work.n_ticks, np.int64)
    for t in range(work.n_ticks):
        for g in range(len(groups)):
            loads[0, core[g], t] += access * groups.load[g] + update * active[g, t] + fire * sent[work.own[g], t]
        for s in np.flatnonzero(sent[:, t]):
            for c in range(n_cores):
                read = [
                    k
                    for k in np.flatnonzero(groups.signal == s)
                    if core[np.searchsorted(groups.start, k, "right") - 1] == c
                ]
                if read:
                    loads[1, c, t] += arrival + event * sum(int(work.synapses_of[k]) for k in read)
                    messages[t] += 1
                    if groups.sender[s] >= 0:
                        loads[0, core[groups.sender[s]], t] += spike
    return loads, messages


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_loads_are_those_of_every_spike(seed):
    work, _ = random_work(seed)
    core = np.random.default_rng(seed).integers(0, 3, len(work.groups))
    found, wanted = work.loads(core, 3), counted_loads(work, core, 3)
    assert (found[0] == wanted[0]).all()
    assert (found[1] == wanted[1]).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(RATES)))
@settings(deadline=None, max_examples=12)
def test_what_is_kept_move_by_move_equals_what_is_counted_anew(seed, objective):
    work, layout = random_work(seed)
    balance = Balance(layout, work, ROOM, COSTS, RATES[objective])
    core = np.random.default_rng(seed).integers(0, 4, len(work.groups))
    laid_out, books, price = balance.books(core, 4, np.arange(work.n_ticks))
    compiled().recount(laid_out, books, price)
    state = np.array([seed], np.uint64)
    for _ in range(6):
        compiled().anneal(laid_out, books, price, state, 0.1, 7)
        loads, messages = work.loads(books.core.astype(np.int64), 4)
        assert (books.loads == loads).all()
        assert books.messages[0] == messages.sum()
        _, again, _ = balance.books(books.core, 4, np.arange(work.n_ticks))
        compiled().recount(laid_out, again, price)
        for name in ("count", "n_targets", "state", "size"):
            assert (getattr(books, name) == getattr(again, name)).all(), name
        assert books.total == pytest.approx(again.total)
        assert all(set(books.member[c, : books.size[c]]) == set(np.flatnonzero(books.core == c)) for c in range(4))


@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(RATES)))
@settings(deadline=None, max_examples=4)
def test_few_groups_are_put_as_well_as_by_trying_everything(seed, objective):
    work, layout = random_work(seed, n=8)
    balance = Balance(layout, work, ROOM, COSTS, RATES[objective])
    every = (np.array(core) for core in product(range(2), repeat=8) if core[0] == 0)
    legal = [core for core in every if balance.is_legal(core)]
    first = max(legal, key=balance.cost)
    found = balance.improved(first, 2, 0, Budget(), None)
    assert balance.is_legal(found)
    assert balance.cost(found) <= 1.02 * min(map(balance.cost, legal))


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=10)
def test_blocks_are_as_many_as_cores_and_hold_every_group(seed):
    work, layout = random_work(seed)
    for n_cores in (1, 3, 5):
        core = block_start(layout, work, ROOM, n_cores)
        assert (np.unique(core) == np.arange(n_cores)).all()
    apart = Layout(np.arange(12), layout.place, layout.stride)
    assert block_start(apart, work, ROOM, 11) is None


@pytest.mark.parametrize("included", [(), ("static_watts", "fire_joules")])
def test_a_tick_is_priced_as_its_energy_is_counted(included):
    whole = {
        "grid.chips": [2, 1],
        "energy.static_watts": 0.5,
        "energy.tick_joules": 1e-8,
        "energy.arrival_joules": 1e-11,
    }
    chip = replace(nm.load_chip("loihi1", whole), energy_included=included)
    work, _ = random_work(1)
    n, (across, along), times = work.n_ticks, chip.routers, 3 * 10
    done = Counts(
        ticks=n,
        chips=2,
        neuron_updates=n * int(work.groups.load.sum()),
        active=int(work.active.sum()),
        fired=int(work.sent[work.own].sum()),
        synaptic_events=int((work.reads @ work.sent).sum()),
        seconds=n * 1e-5,
        spikes=times,
        arrivals=times,
        hops=(across + along) * times // 3,
        hops_x=across * times // 3,
    )
    assert rates_of("energy", work, chip).cost(1e-5, times / n) == pytest.approx(energy_of(chip, done).joules / n)


@pytest.fixture
def brief(monkeypatch):
    """Searches that take a moment."""
    for name, value in (("FEWEST", 4000), ("MOST", 4000), ("AT_ONCE", 1000)):
        monkeypatch.setattr(balance_cores, name, value)


def is_same(one, other):
    """Whether two programs are equal, table by table."""
    mine, theirs = program_tensors(one), program_tensors(other)
    return mine.keys() == theirs.keys() and all((mine[name] == theirs[name]).all() for name in mine)


def mean_tick(program):
    return float(nm.measure_steady_activity(program, n_stimuli=1).seconds.measured.mean())


@pytest.mark.parametrize(
    ("pattern", "objective"),
    [("streaming", "tick"), ("sequential", "tick"), ("streaming", "edp"), ("streaming", "energy")],
)
def test_the_meaning_stays_and_no_tick_gets_longer(brief, digits, pattern, objective):
    rollout = nm.Rollout(digits, pattern)
    few = nm.map_rollout(rollout, "loihi1")
    program, again = (nm.map_rollout(rollout, "loihi1", objective=objective, max_cores=12) for _ in range(2))
    assert is_same(program, again)
    assert few.n_cores <= program.n_cores <= 12
    assert nm.verify(rollout, program, n_frames=12, threads=1).verified
    if objective == "tick":
        assert mean_tick(program) < mean_tick(few) / 1.5


@pytest.fixture(scope="module")
def digits():
    return nm.load_network("examples/digits/sr.toml")


def test_deliveries_are_mapped_as_without_an_objective(digits):
    rollout = nm.Rollout(digits, "streaming")
    assert is_same(nm.map_rollout(rollout, "loihi1"), nm.map_rollout(rollout, "loihi1", objective="deliveries"))


@pytest.mark.parametrize(
    ("chip", "choices", "said"),
    [
        ("truenorth", {"objective": "tick"}, "objective = tick: has no meaning on truenorth"),
        ("loihi1", {"max_cores": 3}, "max_cores = 3: has no meaning where few deliveries are asked for"),
        ("loihi1", {"activity": "frames.npz"}, "activity = frames.npz: has no meaning"),
        ("loihi1", {"objective": "speed"}, "objective 'speed' is not known; choose one of deliveries, tick"),
        ("loihi1", {"objective": "tick", "max_cores": 0}, "max_cores = 0: must be 1 or more"),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_line(digits, chip, choices, said):
    with pytest.raises(InputError, match="^" + said) as refused:
        nm.map_rollout(nm.Rollout(digits, "streaming"), chip, **choices)
    assert "\n" not in str(refused.value)


def test_chips_with_fixed_ticks_have_no_objective(digits):
    chip = nm.load_chip("loihi1")
    figures = {"synaptic_event_joules": chip.energy["synaptic_event_joules"]}
    timing = {"synaptic_event_seconds": chip.timing["synaptic_event_seconds"]}
    fixed = replace(chip, is_timed=False, barrier_seconds=(), energy=figures, timing=timing)
    with pytest.raises(InputError, match="its ticks are of fixed length"):
        nm.map_rollout(nm.Rollout(digits, "streaming"), fixed, objective="edp")


def test_the_activity_of_another_network_is_refused(brief, digits, tmp_path):
    np.savez(tmp_path / "frames.npz", other=np.ones((4, 3), bool))
    with pytest.raises(nm.errors.StimulusError) as refused:
        nm.map_rollout(nm.Rollout(digits, "streaming"), "loihi1", objective="tick", activity=tmp_path / "frames.npz")
    assert "\n" not in str(refused.value)


def test_too_few_cores_are_a_network_that_does_not_fit(digits):
    rollout, chip = nm.Rollout(digits, "streaming"), nm.load_chip("loihi1", {"core.neurons": 32})
    taken = nm.map_rollout(rollout, chip).n_cores
    with pytest.raises(DoesNotFitError, match=rf"^the network takes {taken} cores, max_cores = 1 \(") as refused:
        nm.map_rollout(rollout, chip, objective="tick", max_cores=1)
    found = refused.value.infeasibility
    assert (found.limit, found.demand, found.bound) == ("cores", taken, 1)
    request = Request(rollout, chip, nm.MappingOptions(objective="tick", max_cores=1))
    assert apply_remedy(request, found, found.remedies[0]).options.max_cores == taken


def test_activity_needs_inputs_that_take_frames(tmp_path):
    nodes = {"S": Node("S", (1, 1, 2), neuron=CurrentNeuron(threshold=64, voltage_decay=0, bias=65))}
    nodes["O"] = Node("O", (1, 1, 1), neuron=CurrentNeuron(threshold=64))
    edges = {("S", "O"): Edge("S", "O", Dense((1, 1, 2), (1, 1, 1), weights=np.array([[64, 64]])))}
    np.savez(tmp_path / "frames.npz", S=np.ones((4, 2), bool))
    how = {"objective": "tick", "activity": tmp_path / "frames.npz"}
    with pytest.raises(InputError, match=r"alone has no inputs that take frames; leave it out$"):
        nm.map_rollout(nm.Rollout(Network("alone", nodes, edges), "streaming"), "loihi1", **how)


@given(st.integers(0, 2**32 - 1), st.sampled_from([3, 127, 160, 255]))
@settings(deadline=None, max_examples=25)
def test_second_runs_are_counted_for_the_lists_that_may_need_one(seed, greatest):
    rng, chip = np.random.default_rng(seed), nm.load_chip("loihi1")
    weights = rng.integers(-greatest, greatest + 1, (12, 5)) * rng.choice([-1, 0, 1, 1], (12, 5))
    nodes = {"I": Node("I", (1, 1, 5)), "O": Node("O", (1, 1, 12), neuron=CurrentNeuron(threshold=64))}
    edge = Edge("I", "O", Dense((1, 1, 5), (1, 1, 12), weights=weights * 64))
    lists = list_network(legalise(nm.Rollout(Network("n", nodes, {("I", "O"): edge}), "streaming"), chip), chip)
    groups, core = neuron_groups(lists), rng.integers(0, 3, 12)
    nothing = sparse.csr_matrix((groups.n_signals, 2), dtype=np.int64)
    active = sparse.csr_matrix((12, 2), dtype=np.int64)
    ones = np.ones(len(groups.signal), np.int64)
    work = RecordedWork(groups, groups.neuron, ones, nothing, active, np.ones(6, np.int64))
    layout = Layout(np.zeros(12, np.int64), np.zeros((12, 3), np.int64), np.ones((12, 2), np.int64))
    balance = Balance(layout, work, ROOM, COSTS, RATES["tick"], asks=asks_for_runs(lists, groups, chip))
    laid_out, books, price = balance.books(core, 3, np.arange(2))
    compiled().recount(laid_out, books, price)
    compiled().anneal(laid_out, books, price, np.array([seed], np.uint64), 1.0, 9)
    again = books.core.astype(np.int64)
    table = synapse_table(with_slots(lists, groups, again))[0]
    needed = np.bincount(table.list_core, table.runs(chip) - 1, 3)
    assert (books.state[4] >= needed).all()
    _, anew, _ = balance.books(again, 3, np.arange(2))
    compiled().recount(laid_out, anew, price)
    assert (books.state[4] == anew.state[4]).all()
    full = ROOM._replace(neurons=12, memory=max(int(m) for m in table.bits(chip)) + 64 * int(books.state[4].sum()))
    assert Balance(layout, work, full, COSTS, RATES["tick"], asks=balance._asks).is_legal(again)
    if greatest <= 127:  # beside the other sign, a weight lacks one bit of eight
        assert not books.state[4].any()
