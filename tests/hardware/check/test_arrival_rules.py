"""Rules about ticks and relays; the oracle follows every spike by recursion, one neuron at a time."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.hardware.checker import Place, check_program
from neuromap.hardware.program.ports import BIAS

seeds = st.integers(0, 2**32)


class Oracle:
    """Ticks of neurons by recursion; None where there is none."""

    def __init__(self, program):
        self.program = program
        self.feeder = {
            (int(program.target_core[c, n]), int(program.target_axon[c, n])): (int(c), int(n))
            for c, n in np.argwhere(program.target_core >= 0)
        }
        self.host = {
            (int(c), int(a)): row for row, (c, a) in enumerate(zip(program.host.core, program.host.axon, strict=True))
        }

    def label(self, neuron):
        return int(self.program.neuron_node[neuron]), int(self.program.neuron_index[neuron])

    def reads(self, neuron):
        p, (c, n) = self.program, neuron
        return [
            a
            for a in range(p.chip.axons)
            if p.crossbar[c, a, n // 8] >> (n % 8) & 1 and p.neurons.weights[c, n, p.axon_types[c, a]] != 0
        ]

    def remembers(self, neuron):
        """Whether it keeps its potential, so that spikes of any frame may reach it."""
        return bool(self.program.neurons.saturate_negative[neuron]) and self.program.neurons.threshold[neuron] > 0

    def tick(self, neuron, behind=()):
        """The tick of a neuron; "ring" where relays lead into a ring."""
        p = self.program
        if p.neuron_node[neuron] < 0:
            return None
        if not p.is_relay[neuron]:
            return p.nodes[p.neuron_node[neuron]].sample_tick
        if neuron in behind:
            return "ring"
        sources = [self.feeder.get((neuron[0], a)) for a in self.reads(neuron)]
        own = [s for s in sources if s is not None and self.label(s) == self.label(neuron)]
        if not own:
            return None
        before = self.tick(own[0], (*behind, neuron))
        return before if before in (None, "ring") else before + int(p.delay[own[0]])

    def arrival(self, axon):
        """Tick of frame 0 on an axon that a neuron feeds."""
        source = self.feeder[axon]
        tick = self.tick(source)
        return None if tick in (None, "ring") else tick + int(self.program.delay[source])

    def faults(self):
        p = self.program
        late, lost = set(), set()
        for c, n in np.argwhere(p.neuron_node >= 0).tolist():
            for a in self.reads((c, n)):
                fed, row = self.feeder.get((c, a)), self.host.get((c, a))
                place = Place(core=c, neuron=n, axon=a)
                if not p.is_relay[c, n] and self.remembers((c, n)):
                    continue
                if not p.is_relay[c, n]:
                    own = self.tick((c, n))
                    if row is not None:
                        later = int(p.host.arrival[row]) - own
                        frames = [0] if p.host.first_frame[row] else range(1, 1 + abs(later))
                    else:
                        arrival = None if fed is None else self.arrival((c, a))
                        later = 0 if arrival is None else arrival - own
                        frames = range(1 + abs(later))
                    ok = any(later == frame * p.period for frame in frames)
                    late |= set() if ok else {place}
                elif fed is None:
                    lost |= set() if row is None else {place}
                elif self.label(fed) != self.label((c, n)) or self.tick((c, n)) == "ring":
                    lost.add(place)
                elif None not in (self.tick((c, n)), self.arrival((c, a))):
                    lost |= set() if self.arrival((c, a)) == self.tick((c, n)) else {place}
        return late, lost


@given(seed=seeds, mess=st.sampled_from(["nothing", "bits", "labels", "relays", "rings", "clocks", "all"]))
@settings(deadline=None, max_examples=200)
def test_the_rules_find_what_the_recursion_finds(random_program, edited, seed, mess):
    program = random_program(seed, mapped=True)
    rng = np.random.default_rng(seed)

    def shuffled(array):
        return rng.permutation(array.ravel()).reshape(array.shape)

    if mess in ("bits", "all"):
        spare = (1 << program.chip.neurons % 8) - 1 if program.chip.neurons % 8 else 255
        noise = rng.integers(0, 256, program.crossbar.shape).astype(np.uint8)
        noise[:, :, -1] &= spare
        program = edited(program, "crossbar", lambda a: a ^ noise & rng.integers(0, 256, a.shape).astype(np.uint8))
    if mess in ("labels", "all"):
        program = edited(program, "neuron_node", lambda a: rng.integers(-1, 3, a.shape).astype(np.int32))
        program = edited(program, "neuron_index", lambda a: rng.integers(0, 2, a.shape).astype(np.int32))
    if mess == "rings":  # one label for all, so that relays follow each other into chains and rings
        program = edited(program, "neuron_node", lambda a: a * 0 + 1)
        program = edited(program, "neuron_index", lambda a: a * 0)
        bit = np.uint8(1 << rng.integers((program.chip.neurons - 1) % 8 + 1))
        program = edited(program, "crossbar", lambda a: a | bit)
    if mess in ("relays", "rings", "all"):
        program = edited(program, "is_relay", lambda a: rng.random(a.shape) < 0.7)
    if mess in ("clocks", "all"):
        program = edited(program, "host.arrival", lambda a: shuffled(a) - rng.integers(0, 2, a.shape))
        program = dataclasses.replace(program, period=program.period + int(rng.integers(2)))
    found = check_program(program, mapped=True, most=10**6)
    late, lost = Oracle(program).faults()
    assert {v.place for v in found if v.rule == "arrival-tick"} == late
    assert {v.place for v in found if v.rule == "relay-source"} == lost
    assert mess != "nothing" or not found


def reader(program, wanted):
    """The first synapse of a neuron that is no relay on an axon that is wanted: core, axon, neuron."""
    bits = np.unpackbits(program.crossbar, axis=2, count=program.chip.neurons, bitorder="little")
    for c, a, n in np.argwhere(bits).tolist():
        heavy = program.neurons.weights[c, n, program.axon_types[c, a]] != 0
        if heavy and not program.is_relay[c, n] and not Oracle(program).remembers((c, n)) and wanted(c, a):
            return c, a, n
    return None


def program_with(random_program, wanted):
    for seed in range(1000):
        program = random_program(seed, mapped=True)
        place = reader(program, lambda c, a, p=program: wanted(p, c, a))
        if place is not None:
            return program, place
    raise AssertionError("no seed gives such a program")


def host_row(program, c, a):
    rows = np.flatnonzero((program.host.core == c) & (program.host.axon == a))
    return int(rows[0]) if len(rows) else None


@pytest.mark.parametrize(
    ("kind", "wanted", "word"),
    [
        ("bias", lambda node, first: node == BIAS, "frame 0 of bias arrives"),
        ("same frame", lambda node, first: node >= 0 and first == 1, "frame 0 of an input arrives"),
        ("next frame", lambda node, first: node >= 0 and first == 0, "frame 0 of an input arrives"),
    ],
)
@pytest.mark.parametrize("shift", [1, "period"])
def test_host_spikes_in_the_wrong_tick_are_found(random_program, edited, kind, wanted, word, shift):
    def has(p, c, a):
        row = host_row(p, c, a)
        return row is not None and wanted(p.host.node[row], p.host.first_frame[row])

    program, (c, a, n) = program_with(random_program, has)
    row = host_row(program, c, a)
    own = program.nodes[program.neuron_node[c, n]].sample_tick
    due = own + program.period * (kind == "next frame")
    back = -1 if kind == "next frame" else 1  # later by whole periods is right where the edge bridges frames
    late = due + back * (program.period if shift == "period" else 1)
    broken = edited(program, "host.arrival", lambda h: h.__setitem__(row, late))
    found = check_program(broken)
    assert {v.rule for v in found} == {"arrival-tick"}
    mine = next(v for v in found if v.place == Place(core=c, neuron=n, axon=a))
    assert mine.found == late
    assert mine.bound.startswith((f"{due} (node ", f"{due}, or whole periods after {due} (node "))
    assert word in mine.message
    # a weight of 0 reads nothing
    silent = edited(broken, "neurons.weights", lambda w: w * 0)
    assert check_program(silent) == []


def test_spikes_of_neurons_in_the_wrong_tick_are_found(random_program, edited):
    def from_neuron(p, c, a):
        return bool(np.any((p.target_core == c) & (p.target_axon == a) & ~p.is_relay)) and p.period > 1

    program, (c, a, n) = program_with(random_program, from_neuron)
    source = tuple(np.argwhere((program.target_core == c) & (program.target_axon == a))[0])
    step = 1 if program.delay[source] < program.chip.delay[1] else -1
    broken = edited(program, "delay", lambda d: d.__setitem__(source, int(d[source]) + step))
    found = [v for v in check_program(broken) if v.rule == "arrival-tick"]
    assert Place(core=c, neuron=n, axon=a) in [v.place for v in found]
    assert all("frame 0 of a neuron arrives" in v.message for v in found)


def fed_relay(random_program):
    """A mapped program with a relay that reads a neuron: core, axon, relay, source."""
    for seed in range(1000):
        program = random_program(seed, mapped=True)
        oracle = Oracle(program)
        for c, n in np.argwhere(program.is_relay).tolist():
            for a in oracle.reads((c, n)):
                if (c, a) in oracle.feeder:
                    return program, (c, a, n), oracle.feeder[c, a]
    raise AssertionError("no seed gives such a program")


def test_a_relay_with_another_label_is_found(random_program, edited):
    program, (c, a, n), source = fed_relay(random_program)
    other = (int(program.neuron_index[c, n]) + 1) % program.nodes[program.neuron_node[c, n]].size
    found = check_program(edited(program, "neuron_index", lambda i: i.__setitem__((c, n), other)))
    mine = [v for v in found if v.rule == "relay-source"]
    assert [v.place for v in mine] == [Place(core=c, neuron=n, axon=a)]
    assert mine[0].found == (program.neuron_node[source], program.neuron_index[source])
    assert str((int(program.neuron_node[c, n]), other)) in mine[0].bound


def test_relays_in_a_ring_are_found(random_program, edited):
    program, (c, a, n), source = fed_relay(random_program)
    ring = edited(program, "target_core", lambda t: t.__setitem__((c, n), c))
    ring = edited(ring, "target_core", lambda t: t.__setitem__(source, -1))
    ring = edited(ring, "target_axon", lambda t: t.__setitem__((c, n), a))
    found = [v for v in check_program(ring) if v.rule == "relay-source"]
    assert [v.place for v in found] == [Place(core=c, neuron=n, axon=a)]
    assert "relays in a ring" in found[0].message


@pytest.mark.parametrize("frames", [1, 2])
def test_two_ticks_of_what_a_relay_reads_are_told_as_ticks_where_frames_are_fractions_of_them_too(
    random_program, edited, frames
):
    """Another neuron with the source's label feeds the relay a tick earlier or later."""
    program, (c, a, n), source = fed_relay(random_program)
    oracle = Oracle(program)
    axon = next(b for b in range(program.chip.axons) if (c, b) not in oracle.feeder and (c, b) not in oracle.host)
    twin, kind = tuple(np.argwhere(program.neuron_node < 0)[0]), program.axon_types[c, a]
    low, high = program.chip.delay
    delays = int(program.delay[source]), int(program.delay[source]) + (1 if program.delay[source] < high else -1)
    for name, at, value in (
        ("neuron_node", twin, program.neuron_node[source]), ("neuron_index", twin, program.neuron_index[source]),
        ("is_relay", twin, False), ("is_relay", source, False), ("target_core", twin, c), ("target_axon", twin, axon),
        ("delay", twin, delays[1]), ("axon_types", (c, axon), kind),
        ("crossbar", (c, axon, n // 8), program.crossbar[c, axon, n // 8] | 1 << n % 8),
    ):  # fmt: skip
        program = edited(program, name, lambda array, at=at, value=value: array.__setitem__(at, value))
    if frames > 1:
        part = np.zeros_like(program.host.arrival)
        program = dataclasses.replace(
            program, period=program.period + Fraction(1, frames), host=dataclasses.replace(program.host, part=part)
        )
    found = [v for v in check_program(program) if v.rule == "relay-source" and v.place.neuron == n]
    sample = program.nodes[program.neuron_node[source]].sample_tick
    told = [(sample + here, f"{sample + there}, as on its other axon") for here, there in (delays, delays[::-1])]
    assert low < high
    assert next((v.found, v.bound) for v in found if v.place.core == c) in told


@given(seed=seeds)
@settings(deadline=None, max_examples=30)
def test_replicas_and_cores_of_several_nodes_are_legal(random_program, edited, seed):
    """A neuron in several cores breaks nothing; neither do cores whose neurons have different ticks."""
    program = random_program(seed, mapped=True)
    read = np.zeros_like(program.is_relay)
    read[program.outputs.core, program.outputs.neuron] = True
    relayed = {(int(c), int(n)) for (c, n) in np.argwhere(program.is_relay)}
    oracle = Oracle(program)
    sources = {oracle.feeder.get((c, a)) for c, n in relayed for a in oracle.reads((c, n))}
    free = (program.neuron_node == 1) & ~program.is_relay & ~read
    for neuron in sources - {None}:
        free[neuron] = False
    assert check_program(edited(program, "neuron_index", lambda a: np.where(free, 7, a).astype(np.int32))) == []


# splitters


def test_splitters_are_labelled_relays(random_program, with_splitters):
    program, (c, _, n), _ = fed_relay(random_program)
    good = dataclasses.replace(with_splitters(program), is_part=None)
    assert good.is_splitter[c, n]
    assert check_program(good) == []
    for at, mark in (((c, n), False), (tuple(np.argwhere(program.neuron_node < 0)[0]), True)):
        relays, splitters = program.is_relay.copy(), program.is_splitter
        splitters = np.zeros_like(relays)
        splitters[at], relays[at] = True, mark
        bad = dataclasses.replace(program, is_relay=relays, is_splitter=splitters)
        found = [v for v in check_program(bad, mapped=False) if v.rule == "splitter-label"]
        assert [v.place for v in found] == [Place(core=int(at[0]), neuron=int(at[1]))]
        assert found[0].found == (int(program.neuron_node[at]), int(mark))
