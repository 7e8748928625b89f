"""Random chips and programs, legal by construction; the same seed gives the same program."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from neuromap.arrays.times import whole
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.hardware.chip.chip_spec import ChipSpec, NeuronRules
from neuromap.hardware.program.ports import BIAS, HostTable, NodePort, OutputTable


def _random_chip(rng, *, roomy):
    """Return a small chip; ``roomy`` ones have potentials that no sum of weights can leave."""
    signed = bool(rng.integers(2))
    least = int(rng.integers(1, 4))
    return ChipSpec(
        name=f"chip{rng.integers(100)}",
        cores=(int(rng.integers(1, 4)), int(rng.integers(1, 4))),
        chips=(int(rng.integers(1, 3)), 1),
        axons=int(rng.integers(1, 20)),
        neurons=int(rng.integers(1, 20)),
        axon_types=int(rng.integers(1, 5)),
        weight_bits=int(rng.integers(2, 10 if roomy else 17)),
        leak_bits=int(rng.integers(2, 10 if roomy else 17)),
        threshold_bits=int(rng.integers(2, 32)),
        potential_bits=32 if roomy else int(rng.integers(2, 33)),
        delay=(least, least + int(rng.integers(0, 20))),
        tick_seconds=float(rng.choice([1e-3, 1e-6, 0.25])),
        reach=None if rng.integers(2) else (2, 1),
        rules=NeuronRules(
            number_format=str(rng.choice(["sign_magnitude", "twos_complement"])),
            overflow=str(rng.choice(["saturate", "wrap"])),
            negative_comparison=str(rng.choice(["<", "<="])),
            signed_threshold=signed,
        ),
        router={"hop_seconds": float(rng.random())} if rng.integers(2) else {},
        energy={"hop_joules": 2.3e-12, "static_watts": 0.0} if rng.integers(2) else {},
        description="made by a test" if rng.integers(2) else "",
    )


def _keep_clocks(ticks, period, node, index, is_relay, target_core, target_axon, delay, host_arrivals, bits):
    """Delete synapses by which a neuron would read spikes in other ticks than its node's; relays read one neuron.

    A relay takes the label of the first neuron, no relay, whose axon lies in its core, and reads that axon only.
    """
    feeder = {(target_core[c, n], target_axon[c, n]): (c, n) for c, n in np.argwhere(target_core >= 0)}
    relay_tick = {}
    for c, n in np.argwhere(is_relay):
        bits[c, :, n] = False
        for axon in range(bits.shape[1]):
            source = feeder.get((c, axon))
            if source is not None and not is_relay[source]:
                bits[c, axon, n] = True
                node[c, n], index[c, n] = node[source], index[source]
                relay_tick[c, n] = ticks[node[source]] + delay[source]
                break
    for c, axon, n in np.argwhere(bits):
        if is_relay[c, n] or node[c, n] < 0:
            continue
        own = ticks[node[c, n]]
        legal = True
        if (c, axon) in host_arrivals:
            _, first, arrival = host_arrivals[c, axon]
            legal = arrival == own + (1 - first) * period
        elif (c, axon) in feeder:
            source = feeder[c, axon]
            tick = relay_tick.get(source) if is_relay[source] else ticks[node[source]]
            legal = tick is None or tick + delay[source] - own in (0, period)
        bits[c, axon, n] = legal


def _random_program(seed, *, mapped=False):
    """Return a legal random program; ``mapped`` ones keep the rules of mapped programs too."""
    rng = np.random.default_rng(seed)
    chip = _random_chip(rng, roomy=mapped)
    places = [(x, y) for x in range(chip.columns) for y in range(chip.rows)]
    n_cores = int(rng.integers(1, len(places) + 1))
    coordinates = np.array(places, np.int32)[rng.permutation(len(places))[:n_cores]]
    shape, axons = (n_cores, chip.neurons), chip.axons
    nodes = (
        NodePort("I", 12, "input", -3),
        NodePort("H 1", 30, "hidden", 0),
        NodePort("O", shape[0] * shape[1], "output", 2),
    )

    used = rng.random(shape) < 0.7
    node = np.where(used, rng.integers(1, 3, shape), -1)
    index = np.where(used, np.where(node == 1, rng.integers(0, 30, shape), np.arange(used.size).reshape(shape)), 0)
    bits = rng.random((n_cores, axons, chip.neurons)) < 0.4
    bits &= used[:, None, :] | (not mapped)
    read = used & (node == 2) & (rng.random(shape) < 0.6)

    free = [(c, a) for c in range(n_cores) for a in range(axons)]
    rng.shuffle(free)
    target_core, target_axon = np.full(shape, -1), np.zeros(shape, int)
    limit = chip.reach or (1000, 1000)
    for c, n in np.argwhere(used & ~read):
        if not free or rng.random() < 0.2:
            continue
        core, axon = free[-1] if mapped else free[int(rng.integers(len(free)))]
        if np.all(np.abs(coordinates[core] - coordinates[c]) <= limit):
            target_core[c, n], target_axon[c, n] = core, axon
            if mapped:
                free.pop()
    delay = np.where(target_core >= 0, rng.integers(chip.delay[0], chip.delay[1] + 1, shape), 0)

    fed = np.array(free[: len(free) // 2], np.int64).reshape(-1, 2)
    bias = rng.random(len(fed)) < 0.3
    first = np.where(bias, 1, rng.integers(0, 2, len(fed)))
    period = int(rng.integers(1, 9))

    def within(bounds, *size):
        return rng.integers(bounds[0], bounds[1] + 1, size or shape)

    beta = within(chip.threshold_range)
    rails = chip.potential_range
    core, neuron = np.nonzero(read)
    arrival = rng.integers(-first * period, 20, len(fed))
    is_relay = used & ~read & (rng.random(shape) < 0.2)
    if mapped:
        ticks = [port.sample_tick for port in nodes]
        arrival = rng.choice(ticks[1:], len(fed)) + (1 - first) * period
        for c, n in np.argwhere(target_core >= 0):  # most spikes arrive when some node is computed
            fitting = np.array([t - ticks[node[c, n]] + r * period for t in ticks[1:] for r in (0, 1)])
            fitting = fitting[(fitting >= chip.delay[0]) & (fitting <= chip.delay[1])]
            delay[c, n] = rng.choice(fitting) if len(fitting) else delay[c, n]
        host_arrivals = dict(zip(map(tuple, fed), zip(bias, first, arrival, strict=True), strict=True))
        _keep_clocks(ticks, period, node, index, is_relay, target_core, target_axon, delay, host_arrivals, bits)

    return Program(
        name=f"random {seed}",
        chip=chip,
        coordinates=coordinates,
        axon_types=rng.integers(0, chip.axon_types, (n_cores, axons)).astype(np.uint8),
        crossbar=np.packbits(bits, axis=2, bitorder="little"),
        neurons=NeuronTable(
            weights=within(chip.weight_range, *shape, chip.axon_types).astype(np.int16),
            leak=within(chip.leak_range).astype(np.int16),
            leak_reversal=rng.random(shape) < 0.5,
            threshold=within(chip.threshold_range).astype(np.int32),
            negative_threshold=np.where(chip.rules.signed_threshold, -beta, beta).astype(np.int32),
            reset=within(rails).astype(np.int32),
            reset_mode=rng.integers(0, 3, shape).astype(np.uint8),
            saturate_negative=rng.random(shape) < 0.5,
            potential=within(rails).astype(np.int32),
        ),
        target_core=target_core.astype(np.int32),
        target_axon=target_axon.astype(np.int32),
        delay=delay.astype(np.uint8),
        neuron_node=node.astype(np.int32),
        neuron_index=index.astype(np.int32),
        is_relay=is_relay,
        nodes=nodes,
        period=period,
        ticks_per_step=int(rng.integers(1, 4)),
        host=HostTable(
            node=np.where(bias, BIAS, 0).astype(np.int32),
            index=np.where(bias, 0, rng.integers(0, 12, len(fed))).astype(np.int32),
            core=fed[:, 0].astype(np.int32),
            axon=fed[:, 1].astype(np.int32),
            arrival=arrival.astype(np.int64),
            first_frame=first.astype(np.int8),
        ),
        outputs=OutputTable(
            node=node[core, neuron].astype(np.int32),
            index=index[core, neuron].astype(np.int32),
            core=core.astype(np.int32),
            neuron=neuron.astype(np.int32),
        ),
        pattern="hybrid" if mapped else "",
        execution=str(rng.choice(["windowed", "pipelined"])) if mapped else "",
    )


def _with_noise(program, seed=0):
    """The program with all stochastic modes."""
    rng = np.random.default_rng(seed)
    neurons = dataclasses.replace(
        program.neurons,
        stochastic_weight=rng.random(program.neurons.weights.shape) < 0.5,
        stochastic_leak=rng.random(program.neurons.leak.shape) < 0.5,
        noise_bits=rng.integers(0, 9, program.neurons.leak.shape).astype(np.uint8),
    )
    chip = dataclasses.replace(program.chip, rules=dataclasses.replace(program.chip.rules, stochastic=True))
    return dataclasses.replace(program, chip=chip, neurons=neurons)


def _with_splitters(program):
    """The program with every relay a splitter and a part, at least one if any neuron bears a label."""
    marks = program.is_relay.copy()
    labelled = np.argwhere(program.neuron_node >= 0)
    if not len(labelled):
        return program
    marks[tuple(labelled[0])] |= not marks.any()
    return dataclasses.replace(program, is_relay=marks, is_splitter=marks.copy(), is_part=marks.copy())


def _with_halves(program):
    """The program with two frames in every odd number of ticks, some of them half a tick late."""
    return dataclasses.replace(
        program,
        period=Fraction(2 * program.period + 1, 2),
        nodes=tuple(
            dataclasses.replace(port, sample_tick=whole(port.sample_tick + Fraction(k % 2, 2)))
            for k, port in enumerate(program.nodes)
        ),
        host=dataclasses.replace(program.host, part=np.arange(len(program.host)) % 2),
    )


def _edited(program, path, change):
    """Return the program with a changed copy of one array ("neurons.leak") or with one other value replaced."""
    part, _, field = path.rpartition(".")
    owner = getattr(program, part) if part else program
    value = getattr(owner, field)
    if isinstance(value, np.ndarray):
        copy = value.copy()
        result = change(copy)
        value = copy if result is None else result
    else:
        value = change(value)
    owner = dataclasses.replace(owner, **{field: value})
    return dataclasses.replace(program, **{part: owner}) if part else owner


@pytest.fixture(scope="session")
def random_program():
    return _random_program


@pytest.fixture(scope="session")
def random_chip():
    return lambda seed: _random_chip(np.random.default_rng(seed), roomy=False)


@pytest.fixture(scope="session")
def edited():
    return _edited


@pytest.fixture(scope="session")
def with_noise():
    return _with_noise


@pytest.fixture(scope="session")
def with_splitters():
    return _with_splitters


@pytest.fixture(scope="session")
def with_options():
    """The program with every optional table."""
    return lambda program, seed=0: _with_halves(_with_splitters(_with_noise(program, seed)))
