"""Brian2 as an independent oracle for synapse lists: its own clock, delay queues, thresholds and resets."""

import logging
import warnings
from dataclasses import replace

import numpy as np
import pytest

from neuromap.cores.synapse_list.program import TargetTable
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice

N_NETWORKS, N_CORES, N_TICKS = 50, 2, 40


@pytest.fixture(scope="module")
def brian2():
    logging.getLogger("brian2").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        brian2 = pytest.importorskip(
            "brian2", reason="the oracle needs brian2: pip install neuromap-rollouts[brian2]", exc_type=ImportError
        )
    brian2.prefs.codegen.target = "numpy"
    brian2.BrianLogger.suppress_hierarchy("brian2")
    return brian2


def one_source_each(program):
    """The program with each axon fed by its first neuron only: Brian2 adds a synapse twice that two spikes reach."""
    targets = program.targets
    axon = targets.core.astype(np.int64) * 2**16 + targets.axon
    kept = np.zeros(len(axon), np.bool_)
    kept[np.unique(axon, return_index=True)[1]] = True
    start = np.append(0, np.cumsum(kept))[targets.start]
    return replace(program, targets=TargetTable(start, targets.core[kept], targets.axon[kept]))


def free_axons(program):
    """Axons that no neuron feeds, as rows (core, axon)."""
    every = {(c, a) for c, n in enumerate(program.axon_counts.tolist()) for a in range(n)}
    return np.array(sorted(every - set(zip(program.targets.core, program.targets.axon, strict=True))), np.int32)


def synapses_of(program, core, axon):
    """Source's position, target neuron on the chip, weight and delay of every synapse of some axons."""
    number = program.synapses.axons[core] + axon
    first, last = program.synapses.lists[number], program.synapses.lists[number + 1]
    row = np.concatenate([np.arange(a, b) for a, b in zip(first, last, strict=True)] or [np.zeros(0, int)])
    of = np.repeat(np.arange(len(number)), last - first)
    table = program.synapses
    return of, core[of] * program.chip.neurons + table.neuron[row], table.weight[row], table.delay[row].astype(int)


def joined_of(program):
    """The neuron that takes each neuron's current, -1 for none."""
    joined = program.neurons.joined
    return np.full(program.shape, -1) if joined is None else joined


def run_in_brian2(b, programs, fed):
    """Run programs side by side; spikes (tick, program, neuron on its chip), sorted, and voltages in the end.

    A tick is one time step of Brian2, in its slots: *synapses* deliver what is due, *groups* compute currents, then
    voltages, *thresholds* spike, *resets*. Spikes are queued at the next visit of the synapses, which takes one tick.
    """
    chip = programs[0].chip
    size, dt = programs[0].neurons.bias.size, 1 * b.ms
    b.defaultclock.dt = dt
    whole, half = 2**chip.lists.decay_bits, 2 ** (chip.lists.current_bits - 1)
    rail = 2 ** (chip.potential_bits - 1) - 1
    neurons = b.NeuronGroup(
        size * len(programs),
        """u : 1
        v : 1
        due : 1
        rest : 1
        keep_u : 1 (constant)
        keep_v : 1 (constant)
        limit : 1 (constant)
        bias : 1 (constant)
        has_voltage : 1 (constant)
        joined_u : 1
        refractory_ticks : 1 (constant)
        low : 1 (constant)
        left : 1 (constant)
        takes : 1 (constant)""",
        threshold="v > limit and rest < 0",
        reset="v = left + takes * (v - limit)\nrest = refractory_ticks",
        order=3,  # what is summed for a group is summed one before it
    )
    neurons.run_regularly(
        f"""u = (sign(u) * floor(abs(u) * keep_u / {whole}) + due + {half}) % {2 * half} - {half}
        due = 0""",
        when="groups",
        order=1,
        dt=dt,
    )
    neurons.run_regularly(
        f"""stepped = clip(sign(v) * floor(abs(v) * keep_v / {whole}) + u + joined_u + bias, low, {rail})
        v = (v + int(rest <= 0) * (stepped - v)) * has_voltage
        rest = rest - 1""",
        when="groups",
        order=3,
        dt=dt,
    )
    joined = np.concatenate([np.ravel(joined_of(p)) for p in programs])
    joins = b.Synapses(neurons, neurons, "joined_u_post = u_pre : 1 (summed)", dt=dt)
    pre = np.flatnonzero(joined >= 0)
    joins.connect(i=pre, j=pre - pre % chip.neurons + joined[pre])

    def every(field):
        return np.concatenate([getattr(p.neurons, field).reshape(-1) for p in programs]).astype(float)

    neurons.keep_u, neurons.keep_v = whole - every("current_decay"), whole - every("voltage_decay")
    neurons.limit, neurons.bias = np.where(joined >= 0, np.inf, every("threshold")), every("bias")
    neurons.has_voltage = (joined < 0).astype(float)
    neurons.refractory_ticks, neurons.u, neurons.v = every("refractory"), every("current"), every("voltage")

    def option(field, none):
        values = [getattr(p.neurons, field) for p in programs]
        return np.concatenate([np.full(size, none) if v is None else v.reshape(-1) for v in values]).astype(float)

    neurons.low = -np.minimum(option("floor", rail), rail)
    neurons.takes = option("subtract", 0)
    neurons.left = np.where(option("subtract", 0) > 0, 0, option("reset", 0))

    routes, host, times = [], [], []
    n_host = 0
    for k, (program, axons) in enumerate(zip(programs, fed, strict=True)):
        wires = program.wires
        of, post, weight, delay = synapses_of(program, wires.target_core, wires.target_axon)
        pre = (wires.core * chip.neurons + wires.neuron)[of]
        routes.append([pre + k * size, post + k * size, weight, delay + chip.delay[0] - 1])
        tick, place = axons
        ports, port = np.unique(place, axis=0, return_inverse=True)
        of, post, weight, delay = synapses_of(program, *ports.T.astype(np.int64))
        host.append([of + n_host, post + k * size, weight, delay])
        times.append([tick, port.reshape(-1) + n_host])
        n_host += len(ports)

    def connect(source, rows):
        pre, post, weight, delay = np.concatenate(rows, axis=1)
        synapses = b.Synapses(source, neurons, "w : 1 (constant)", on_pre="due_post += w", dt=dt)
        synapses.connect(i=pre, j=post)
        synapses.w, synapses.delay = weight.astype(float), delay * b.ms
        return synapses

    tick, port = np.concatenate(times, axis=1)
    # what a generator fires is delivered in the same time step: it fires in the slot before the synapses
    feeder = b.SpikeGeneratorGroup(n_host, port, tick * b.ms, dt=dt, when="start", sorted=False)
    parts = [connect(neurons, routes), connect(feeder, host), joins]
    spikes = b.SpikeMonitor(neurons)
    network = b.Network(neurons, feeder, parts, spikes)
    network.schedule = ["start", "synapses", "groups", "thresholds", "resets", "end"]
    network.run(N_TICKS * b.ms, namespace={})
    at = np.stack([np.rint(spikes.t / dt).astype(int), np.asarray(spikes.i) // size, np.asarray(spikes.i) % size])
    return at[:, np.lexsort(at[::-1])], np.rint(np.asarray(neurons.v)).astype(int).reshape(len(programs), size)


def test_engines_equal_brian2(brian2, list_program, fed_axons, loihi_like):
    rng = np.random.default_rng(8)
    programs, fed = [], []
    while len(programs) < N_NETWORKS:
        scale = int(rng.choice([30, 3000, 2**20, 2**26]))
        program = one_source_each(list_program(rng, loihi_like, N_CORES, scale))
        free = free_axons(program)
        if len(free):
            programs.append(program)
            chosen = rng.random((N_TICKS, len(free))) < 0.2
            chosen[0, 0] = True
            tick, place = np.nonzero(chosen)
            fed.append((tick, free[place]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spikes, voltages = run_in_brian2(brian2, programs, fed)
    assert np.bincount(spikes[1], minlength=N_NETWORKS).astype(bool).sum() > N_NETWORKS // 2
    for k, (program, (tick, place)) in enumerate(zip(programs, fed, strict=True)):
        start = np.searchsorted(tick, np.arange(N_TICKS + 1)).astype(np.int64)
        mine = spikes[:, spikes[1] == k]
        for engine in ENGINES:
            chip = make_engine(program, EngineChoice(engine, threads=1))
            found = chip.run(HostEvents(start, *place.T.copy()))
            assert found.ticks.tolist() == mine[0].tolist()
            assert (found.cores * loihi_like.neurons + found.neurons).tolist() == mine[2].tolist()
            assert chip.potentials.reshape(-1).tolist() == voltages[k].tolist()
