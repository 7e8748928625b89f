"""Rules for crossbar programs.

Every rule is a function from a well-formed program to findings. It relies neither on other rules nor on the mapper, and
reads all it needs from the program. Rules of mapped programs ensure that the chip computes the rollout
(``docs/mapping.md``); a handwritten program may break them and still run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.cores.crossbar.program import Program
from neuromap.files.messages import counted
from neuromap.hardware import checker
from neuromap.hardware.checker import Finding, Place, Rules, find, find_values, in_range, inside
from neuromap.hardware.program.ports import BIAS

# Parts of sums whose targets are processed at once (10 MB of TrueNorth neurons).
_PARTS_AT_ONCE = 4096
# Cores whose crossbars are unpacked at a time (16 MB of TrueNorth cores as 32-bit floats).
_CORES_AT_ONCE = 64


# Values that index something: invalid ones would make an engine read past an array.


def axon_types(program: Program) -> Iterator[Finding]:
    """``axon-type``: every axon's type is one of the chip's."""
    yield in_range("axon-type", program.axon_types, (0, program.chip.axon_types - 1), "axon type", checker.AXONS)


def reset_modes(program: Program) -> Iterator[Finding]:
    """``reset-mode``: gamma is 0, 1 or 2."""
    mode = program.neurons.reset_mode
    yield find_values("reset-mode", mode, mode > 2, "0, 1 or 2", "reset mode")


def noise_bits(program: Program) -> Iterator[Finding]:
    """``noise-bits``: threshold noise masks a random byte, which has 8 bits."""
    if program.neurons.noise_bits is not None:
        yield in_range("noise-bits", program.neurons.noise_bits, (0, 8), "number of noise bits")


def targets(program: Program) -> Iterator[Finding]:
    """``target-exists``: a target is an axon of a core in use; without a target both numbers are -1 and 0."""
    core, axon = program.target_core, program.target_axon
    cores, axons = program.n_cores, program.chip.axons
    bound = f"a core 0 to {cores - 1}, or -1 for none"
    yield find_values("target-exists", core, (core < -1) | (core >= cores), bound, "target core")
    wrong = ~inside(axon, axons) | ((core == -1) & (axon != 0))
    bound = f"an axon 0 to {axons - 1}, or 0 without a target"
    yield find_values("target-exists", axon, wrong, bound, "target axon")


def delays(program: Program) -> Iterator[Finding]:
    """``delay-range``: a neuron with a target has a delay of the chip's range, one without has 0."""
    (least, greatest), delay = program.chip.delay, program.delay
    wrong = np.where(program.target_core != -1, (delay < least) | (delay > greatest), delay != 0)
    bound = f"{least} to {greatest} ticks, or 0 without a target"
    yield find_values("delay-range", delay, wrong, bound, "delay")


# Widths and modes of the chip; invalid indices are skipped.


def weights(program: Program) -> Iterator[Finding]:
    """``weight-range``: weights fit their width and number format."""
    yield in_range("weight-range", program.neurons.weights, program.chip.weight_range, "weight", checker.WEIGHTS)


def leaks(program: Program) -> Iterator[Finding]:
    """``leak-range``: leaks fit their width and number format."""
    yield in_range("leak-range", program.neurons.leak, program.chip.leak_range, "leak")


def thresholds(program: Program) -> Iterator[Finding]:
    """``threshold-range``: alpha, and beta (signed chips: -beta), fit the width of thresholds."""
    chip, neurons = program.chip, program.neurons
    yield in_range("threshold-range", neurons.threshold, chip.threshold_range, "threshold")
    if chip.rules.signed_threshold:
        # such a chip stores the negative threshold itself, which is -beta
        stored = -neurons.negative_threshold.astype(np.int64)
        yield in_range("threshold-range", stored, chip.threshold_range, "negative threshold -beta")
    else:
        yield in_range("threshold-range", neurons.negative_threshold, chip.threshold_range, "negative threshold beta")


def potentials(program: Program) -> Iterator[Finding]:
    """``potential-range``: the reset value and the potential before the first tick lie between the rails."""
    neurons, rails = program.neurons, program.chip.potential_range
    yield in_range("potential-range", neurons.reset, rails, "reset value")
    yield in_range("potential-range", neurons.potential, rails, "potential before the first tick")


def stochastic_modes(program: Program) -> Iterator[Finding]:
    """``stochastic-mode``: synapses, leaks and thresholds are stochastic only where the chip has such modes."""
    if program.chip.rules.stochastic:
        return
    neurons = program.neurons
    needed = f"0 (chip {program.chip.name} has no stochastic modes)"
    tables: tuple[tuple[tuple[str, ...], NDArray[Any] | None, str], ...] = (
        (checker.WEIGHTS, neurons.stochastic_weight, "mark of a stochastic synapse"),
        (checker.NEURONS, neurons.stochastic_leak, "mark of a stochastic leak"),
        (checker.NEURONS, neurons.noise_bits, "number of noise bits"),
    )
    for axes, table, what in tables:
        if table is not None:
            yield find_values("stochastic-mode", table, table > 0, needed, what, axes)


def output_targets(program: Program) -> Iterator[Finding]:
    """``output-target``: a neuron that is read out has no target on the chip."""
    outputs = program.outputs
    valid = inside(outputs.core, program.n_cores) & inside(outputs.neuron, program.chip.neurons)
    rows = np.flatnonzero(valid)
    core, neuron = outputs.core[rows], outputs.neuron[rows]
    target = program.target_core[core, neuron]
    yield find(
        "output-target",
        target != -1,
        lambda i: (
            Place(core=int(core[i]), neuron=int(neuron[i]), output_row=int(rows[i])),
            int(target[i]),
            "-1: a neuron that is read out has no target",
            "target core",
        ),
    )


# Mapped programs.


def axon_sources(program: Program) -> Iterator[Finding]:
    """``axon-source``: an axon has one source: one neuron or one row of the host."""
    target, axon = program.target_core, program.target_axon
    host, axons = program.host, program.chip.axons
    from_neurons = inside(target, program.n_cores) & inside(axon, axons)
    from_host = inside(host.core, program.n_cores) & inside(host.axon, axons)
    fed = np.concatenate(
        [
            target[from_neurons].astype(np.int64) * axons + axon[from_neurons],
            host.core[from_host].astype(np.int64) * axons + host.axon[from_host],
        ]
    )
    sources = np.bincount(fed, minlength=program.n_cores * axons).reshape(program.n_cores, axons)
    bound = "at most 1 (a neuron or a host row)"
    yield find_values("axon-source", sources, sources > 1, bound, "number of sources", checker.AXONS)


def part_targets(program: Program) -> Iterator[Finding]:
    """``part-target``: a part of a sum feeds only neurons with its own label."""
    if program.is_part is None:
        return
    core, neuron = np.nonzero(program.is_part & inside(program.target_core, program.n_cores))
    target, axon = program.target_core[core, neuron], program.target_axon[core, neuron]
    found = [np.zeros((0, 3), np.int64)]
    for start in range(0, len(core), _PARTS_AT_ONCE):
        some = slice(start, start + _PARTS_AT_ONCE)
        there, on = target[some], np.clip(axon[some], 0, program.chip.axons - 1)
        kind = np.minimum(program.axon_types[there, on], program.chip.axon_types - 1)
        bits = np.unpackbits(program.crossbar[there, on], axis=1, count=program.chip.neurons, bitorder="little")
        read = (bits > 0) & (
            np.take_along_axis(program.neurons.weights[there], kind[:, None, None], axis=2)[..., 0] != 0
        )
        own = (program.neuron_node[there] == program.neuron_node[core[some], neuron[some]][:, None]) & (
            program.neuron_index[there] == program.neuron_index[core[some], neuron[some]][:, None]
        )
        row, reader = np.nonzero(read & ~own)
        found.append(np.stack([core[some][row], neuron[some][row], reader], axis=1))

    def describe(position: tuple[int, ...]) -> tuple[Place, tuple[int, int], str, str]:
        c, n, reader = position
        reads = int(program.target_core[c, n])
        label = (int(program.neuron_node[reads, reader]), int(program.neuron_index[reads, reader]))
        own_label = (int(program.neuron_node[c, n]), int(program.neuron_index[c, n]))
        return (
            Place(core=c, neuron=n),
            label,
            f"{own_label}, the part's own",
            "label (node, index) of what a part feeds",
        )

    yield Finding("part-target", np.concatenate(found).astype(np.int64), describe)


def unused_neurons(program: Program) -> Iterator[Finding]:
    """``unused-neuron``: a neuron without a label has no synapses and no target, is no relay, is not read."""
    unused = program.neuron_node == -1
    read_out = np.zeros_like(unused)
    outputs = program.outputs
    valid = inside(outputs.core, program.n_cores) & inside(outputs.neuron, program.chip.neurons)
    read_out[outputs.core[valid], outputs.neuron[valid]] = True
    columns = np.bitwise_or.reduce(program.crossbar, axis=1)
    connected = np.unpackbits(columns, axis=1, count=program.chip.neurons, bitorder="little").astype(bool)
    for what, wrong in (
        ("synapses", connected),
        ("a target", program.target_core != -1),
        ("the mark of a relay", program.is_relay),
        ("an output row", read_out),
    ):
        bound = f"a node: a neuron with {what} is in use"
        yield find_values("unused-neuron", program.neuron_node, unused & wrong, bound, "node label")


def potential_widths(program: Program) -> Iterator[Finding]:
    """``potential-width``: no set of spikes drives a potential to its rails within one tick."""
    # It begins at 0, or, where the neuron keeps its potential, anywhere from its floor to below its threshold. Then the
    # order of the events in a tick cannot matter, and neither can saturation or wrapping.
    for extreme in _extremes(program):
        yield in_range("potential-width", extreme, program.chip.potential_range, "farthest potential in one tick")


def _extremes(program: Program) -> tuple[Ints, Ints]:
    """Return the greatest and least potential of every neuron within one tick, shape (C, N)."""
    chip, neurons = program.chip, program.neurons
    shape = (program.n_cores, chip.neurons)
    most, least = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for start in range(0, program.n_cores, _CORES_AT_ONCE):
        cores = slice(start, start + _CORES_AT_ONCE)
        types = program.axon_types[cores, None, :] == np.arange(chip.axon_types)[:, None]
        bits = np.unpackbits(program.crossbar[cores], axis=2, count=chip.neurons, bitorder="little")
        # at most 65536 axons: counts are exact in 32-bit floats, which multiply fast
        counts = (types.astype(np.float32) @ bits.astype(np.float32)).astype(np.int64)
        weights = _farthest(neurons.weights[cores], neurons.stochastic_weight, cores).transpose(0, 2, 1)
        most[cores] = (counts * np.maximum(weights, 0)).sum(axis=1)
        least[cores] = (counts * np.minimum(weights, 0)).sum(axis=1)
    leak = _farthest(neurons.leak, neurons.stochastic_leak)
    # the leak comes last, so it can only add to what the events have reached
    most, least = most + np.maximum(leak, 0), least + np.minimum(leak, 0)
    highest = np.maximum(neurons.threshold.astype(np.int64) - 1, 0)
    highest = np.where(neurons.reset_mode == 1, np.maximum(highest, most - 1), highest)  # what a subtraction may leave
    lowest = np.minimum(-neurons.negative_threshold.astype(np.int64), 0) * neurons.saturate_negative
    return most + highest, least + lowest


def _farthest(values: NDArray[np.int16], stochastic: Bools | None, cores: slice = slice(None)) -> Ints:
    """Return the steps of weights or leaks; stochastic ones take steps of 1 at most."""
    steps = values.astype(np.int64)
    return steps if stochastic is None else np.where(stochastic[cores], np.sign(steps), steps)


# When spikes arrive, and through which relays: a core that holds neurons of several nodes must not mix up their ticks,
# and a relay must lead back to the neuron whose label it carries. Read from labels and clocks alone; only synapses of
# nonzero weight count.


# What feeds an axon: nothing, bias, inputs over R = 0 or other edges, a neuron.
_FREE, _BIAS, _SAME_FRAME, _NEXT_FRAME, _NEURON = range(5)
# Ticks are clipped here; those of a well-formed program are smaller.
_FAR = 2**35
# Cores whose crossbars are processed at once (2 MB of TrueNorth cores).
_ARRIVALS_AT_ONCE = 256


def arrivals(program: Program) -> Iterator[Finding]:
    """``arrival-tick`` and ``relay-source``: spikes arrive in the right ticks, through relays of one label."""
    # Frame i of a node is computed in tick ``sample_tick + i * period``. Its neurons may read bias and inputs of R = 0
    # edges that arrive in this tick, inputs of other edges that arrive a period later (for the next frame) or, where
    # the edge bridges frames, several, and spikes of neurons that arrive in any of these; where a neuron keeps its
    # potential from tick to tick, spikes may arrive in between. Relays carry a label but compute nothing: their tick
    # follows from what they read.
    chains = relay_chains(program)
    kind, tick = _feeds(program, chains)
    yield _arrival_ticks(program, kind, tick)
    yield _relay_sources(program, chains)


def _feeds(program: Program, chains: RelayChains) -> tuple[NDArray[np.int8], Ints]:
    """Find what feeds every axon and when frame 0 arrives, in parts of a tick, shape (C, A)."""
    host, n_axons, parts = program.host, program.chip.axons, program.period.denominator
    shape = (program.n_cores, n_axons)
    kind, tick = np.full(shape, _FREE, np.int8), np.zeros(shape, np.int64)
    fed = np.flatnonzero(chains.source.reshape(-1) >= 0)
    sources = chains.source.reshape(-1)[fed]
    known = chains.tick[sources] != UNKNOWN
    fed, sources = fed[known], sources[known]
    kind.reshape(-1)[fed] = _NEURON
    tick.reshape(-1)[fed] = chains.tick[sources] + program.delay.reshape(-1)[sources].astype(np.int64) * parts
    exists = inside(host.core, program.n_cores) & inside(host.axon, n_axons)
    rows = np.flatnonzero(exists & inside(host.first_frame, 2))
    place = (host.core[rows], host.axon[rows])
    by_frame = np.where(host.first_frame[rows] == 1, _SAME_FRAME, _NEXT_FRAME)
    kind[place] = np.where(host.node[rows] == BIAS, _BIAS, by_frame)
    part = 0 if host.part is None else host.part[rows]
    tick[place] = np.clip(host.arrival[rows], -_FAR, _FAR) * parts + part
    return kind, tick


def _arrival_ticks(program: Program, kind: NDArray[np.int8], tick: Ints) -> Finding:
    ports = program.nodes
    node = program.neuron_node
    remembers = program.neurons.saturate_negative & (program.neurons.threshold > 0)
    computing = inside(node, len(ports)) & ~program.is_relay & ~remembers
    # neurons without a node, relays and neurons that remember may read anything: their clock is UNKNOWN
    sample = np.append(in_parts((port.sample_tick for port in ports), program.period), UNKNOWN)
    clocks, clock_of_node = np.unique(sample, return_inverse=True)
    clock = clock_of_node.reshape(-1)[np.where(computing, node, len(ports))]
    feeds = tick * 8 + kind
    found = [np.zeros((0, 3), np.int64)]
    for start in range(0, program.n_cores, _ARRIVALS_AT_ONCE):
        cores = slice(start, start + _ARRIVALS_AT_ONCE)
        values, which = np.unique(feeds[cores], return_inverse=True)
        which = which.reshape(feeds[cores].shape)
        illegal = ~_legal(values % 8, values // 8, clocks, program.period.numerator)
        wrong = np.zeros_like(program.crossbar[cores])
        for value in np.flatnonzero(illegal.any(axis=1)):
            neurons = np.packbits(illegal[value][clock[cores]], axis=1, bitorder="little")
            core, axon = np.nonzero(which == value)
            wrong[core, axon] = neurons[core]
        wrong &= program.crossbar[cores]
        core, axon = np.nonzero(wrong.any(axis=2))
        bits = np.unpackbits(wrong[core, axon], axis=1, count=program.chip.neurons, bitorder="little")
        row, neuron = np.nonzero(bits)
        core, axon = core[row] + start, axon[row]
        axon_type = np.minimum(program.axon_types[core, axon], program.chip.axon_types - 1)
        heavy = program.neurons.weights[core, neuron, axon_type] != 0
        found.append(np.stack([core, axon, neuron], axis=1)[heavy])

    def describe(position: tuple[int, ...]) -> tuple[Place, int, str, str]:
        c, a, n = position
        port = ports[program.neuron_node[c, n]]
        own, following = port.tick(program.period, 0), port.tick(program.period, 1)
        later = f"or whole periods after {following}"
        bound = {_NEXT_FRAME: f"{following}, {later}", _NEURON: f"{own} or {following}, {later}"}.get(
            int(kind[c, a]), str(own)
        )
        fed_by = {_BIAS: "bias", _NEURON: "a neuron"}.get(int(kind[c, a]), "an input")
        return (
            Place(core=c, neuron=n, axon=a),
            int(tick[c, a]) // program.period.denominator,
            f"{bound} (node {port.name} is computed in tick {own} and every {counted(program.period, 'tick')})",
            f"tick in which frame 0 of {fed_by} arrives",
        )

    return Finding("arrival-tick", np.concatenate(found).astype(np.int64), describe)


def _legal(kind: Ints, tick: Ints, clock: Ints, period: int) -> Bools:
    """Whether neurons of each clock may read axons with each feed, shape (feeds, clocks)."""
    kind, tick = kind[:, None], tick[:, None]
    frames, between = np.divmod(tick - clock, period)
    legal = (between == 0) & np.where(
        kind == _NEXT_FRAME, frames >= 1, np.where(kind == _NEURON, frames >= 0, frames == 0)
    )
    return np.asarray(legal | (kind == _FREE) | (clock == UNKNOWN))


def _relay_sources(program: Program, chains: RelayChains) -> Finding:
    n_neurons = program.chip.neurons
    faulty = np.flatnonzero(chains.fault)
    relay, axon = chains.relay[faulty], chains.axon[faulty]
    positions = np.stack([relay // n_neurons, relay % n_neurons, axon, chains.fault[faulty]], axis=1)

    def describe(position: tuple[int, ...]) -> tuple[Place, int | tuple[int, int], str, str]:
        c, n, a, fault = position
        place = Place(core=c, neuron=n, axon=a)
        source = int(chains.source[c, a])
        mine = (int(program.neuron_node[c, n]), int(program.neuron_index[c, n]))
        read = divmod(source, n_neurons)
        theirs = (int(program.neuron_node[read]), int(program.neuron_index[read])) if source >= 0 else (BIAS, 0)
        if fault == ANOTHER_TICK:
            parts = program.period.denominator
            arrival = int(chains.tick[source]) // parts + int(program.delay[read])
            own = f"{chains.tick[c * n_neurons + n] // parts}, as on its other axon"
            return place, arrival, own, "tick in which frame 0 of a relay's source arrives"
        if fault == IN_A_RING:
            return (
                place,
                theirs,
                "a neuron that is not a relay at their beginning",
                "label (node, index) of relays in a ring",
            )
        bound = f"{mine}, the relay's own; the host feeds none"
        return place, theirs, bound, "label (node, index) of what a relay reads"

    return Finding("relay-source", positions.astype(np.int64), describe)


# Which neuron feeds which axon, and the ticks of relays, followed back to the neurons whose spikes they carry.


# Tick of neurons without a node, and of relays that no neuron feeds.
UNKNOWN = int(np.iinfo(np.int64).min)
# Possible errors of an axon that a relay reads.
ANOTHER_LABEL, ANOTHER_TICK, IN_A_RING = 1, 2, 3
# Synapses of relays processed at once.
_SYNAPSES_AT_ONCE = 2**24


class RelayChains(NamedTuple):
    """Sources of axons and ticks of neurons; neuron n of core c has number ``c * N + n``."""

    source: Ints  # (C, A): number of the neuron that feeds the axon (one of them, if there are several), or -1
    # (C * N,): when a neuron computes, or a relay passes on, frame 0, in parts of a tick (``arrays/times.py``); or
    # UNKNOWN
    tick: Ints
    # relay, axon: (p,): pairs of a relay (its number) and an axon of its core that it reads with nonzero weight
    relay: Ints
    axon: Ints
    fault: Ints  # (p,): error of the pair, 0 for none


def relay_chains(program: Program) -> RelayChains:
    """Follow all relays back to neurons that are not relays."""
    n_cores, n_axons, n_neurons = program.n_cores, program.chip.axons, program.chip.neurons
    core, axon = program.target_core.reshape(-1), program.target_axon.reshape(-1)
    sending = np.flatnonzero(inside(core, n_cores) & inside(axon, n_axons))
    source = np.full((n_cores, n_axons), -1, np.int64)
    source[core[sending], axon[sending]] = sending
    host = program.host
    rows = inside(host.core, n_cores) & inside(host.axon, n_axons)
    fed_by_host = np.zeros((n_cores, n_axons), bool)
    fed_by_host[host.core[rows], host.axon[rows]] = True

    node, index = program.neuron_node.reshape(-1), program.neuron_index.reshape(-1)
    labelled = inside(node, len(program.nodes))
    is_relay = program.is_relay.reshape(-1)
    if program.is_part is not None:
        is_relay = is_relay & ~program.is_part.reshape(-1)  # parts of sums read others, at ticks of their own
    sample = np.append(in_parts((port.sample_tick for port in program.nodes), program.period), UNKNOWN)
    delays = program.delay.reshape(-1).astype(np.int64) * program.period.denominator
    computes = labelled & ~program.is_relay.reshape(-1)
    tick = sample[np.where(computes, node, len(program.nodes))]

    relays = np.flatnonzero(is_relay & labelled)
    relay, read = _axons_of(program, relays)
    feeder = source[relay // n_neurons, read]
    is_fed = feeder >= 0
    own = is_fed & (node[feeder] == node[relay]) & (index[feeder] == index[relay])
    fault = np.where(own | ~(is_fed | fed_by_host[relay // n_neurons, read]), 0, ANOTHER_LABEL)

    in_ring = np.zeros(len(tick), bool)
    in_ring[_follow(tick, relays, relay[own], feeder[own], delays)] = True
    arrival = np.where(tick[feeder] == UNKNOWN, UNKNOWN, tick[feeder] + delays[feeder])
    fault[own & in_ring[relay]] = IN_A_RING
    known = own & (tick[relay] != UNKNOWN) & (arrival != UNKNOWN)
    fault[known & (arrival != tick[relay])] = ANOTHER_TICK
    return RelayChains(source, tick, relay, read, fault)


def _axons_of(program: Program, relays: Ints) -> tuple[Ints, Ints]:
    """List the pairs of a relay and an axon that it reads with nonzero weight."""
    n_axons, n_neurons, types = program.chip.axons, program.chip.neurons, program.chip.axon_types
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    step = max(1, _SYNAPSES_AT_ONCE // n_axons)
    for start in range(0, len(relays), step):
        some = relays[start : start + step]
        core, neuron = np.divmod(some, n_neurons)
        synapses = program.crossbar[core, :, neuron // 8] >> (neuron % 8)[:, None].astype(np.uint8) & 1
        row, axon = np.nonzero(synapses)
        axon_type = np.minimum(program.axon_types[core[row], axon], types - 1)
        heavy = program.neurons.weights[core[row], neuron[row], axon_type] != 0
        pairs.append((some[row[heavy]], axon[heavy].astype(np.int64)))
    relay, axon = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return relay, axon


def _follow(tick: Ints, relays: Ints, relay: Ints, feeder: Ints, delay: Ints) -> Ints:
    """Write the ticks of relays: that of the first neuron in the chain plus all delays. Return relays behind a ring."""
    # Every relay points to the relay before it. Pointers double in length every round, so chains of any length end in a
    # few rounds; only rings never end.
    number, first = np.unique(relay, return_index=True)
    before = feeder[first]
    mine = np.searchsorted(relays, number)
    n = len(relays)
    pointer, ticks = np.arange(n), np.zeros(n, np.int64)
    start = np.full(n, UNKNOWN)
    place = np.minimum(np.searchsorted(relays, before), max(n - 1, 0))
    chained = relays[place] == before
    pointer[mine[chained]], ticks[mine[chained]] = place[chained], delay[before[chained]]
    begins = mine[~chained]
    start[begins] = tick[before[~chained]] + delay[before[~chained]]
    is_end = pointer == np.arange(n)
    is_end[mine[chained]] = False  # a relay that reads itself is a ring
    for _ in range(n.bit_length() + 1):
        ticks += ticks[pointer]
        pointer = pointer[pointer]
    known = is_end[pointer] & (start[pointer] != UNKNOWN)
    tick[relays[known]] = start[pointer[known]] + ticks[known]
    return np.asarray(relays[~is_end[pointer]])


RULES = Rules(
    starts=(),
    indices=(axon_types, reset_modes, noise_bits, targets, delays, *checker.TABLES),
    chip=(
        checker.coordinates,
        weights,
        leaks,
        thresholds,
        potentials,
        stochastic_modes,
        output_targets,
        *checker.BOARD,
    ),
    mapped=(
        checker.chosen_periods,
        axon_sources,
        checker.bias_frames,
        checker.input_labels,
        checker.output_labels,
        part_targets,
        unused_neurons,
        arrivals,
        potential_widths,
    ),
)
