"""Random scripts, changed and restored between runs: the chip spikes as Brian2 does in the same integers, or refuses.

Every script is played twice. On the chip it is in the units of the model. Brian2's own runtime then plays the same
objects, flags, changes, stores and restores with a state updater that divides integers as the neurons of the chip do,
and with the integers of weights, decays, thresholds and biases that the chip was loaded with. Connections, delays,
rests, slots, orders and switches are the script's own and are computed by Brian2 alone.
"""

from importlib.util import find_spec
from typing import Any, NamedTuple

import brian2 as b2
import numpy as np
import pytest
from brian2 import ms
from brian2.core.base import BrianObjectException
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from neuromap.backends.brian2 import device
from neuromap.errors import NeuromapError

MODELS = {
    "currents": """
    dv/dt = (ge + gi - v + El) / (8*ms) : 1 (unless refractory)
    dge/dt = -ge / te : 1
    dgi/dt = -gi / (7*ms) : 1
    El : 1
    theta : 1
    ref : second
    resting : boolean
    """,
    "pulses": "dv/dt = (El - v) / te : 1 (unless refractory)\nEl : 1\ntheta : 1\nref : second\nresting : boolean",
    "leak": "dv/dt = El / te : 1 (unless refractory)\nEl : 1\ntheta : 1\nref : second\nresting : boolean",
}
INTEGERS = """
dv/dt = 0 / second : 1 (unless refractory)
dge/dt = 0 / second : 1
dgi/dt = 0 / second : 1
dp/dt = 0 / second : 1
theta : 1
bias : 1
keeps : 1
keeps_ge : 1
keeps_gi : 1
lowest : 1
ref : second
resting : boolean
"""
VARIABLES = {"currents": ("ge", "gi", "v"), "pulses": ("v",), "leak": ("v",)}
# Milliseconds. Half a step is rounded up; Brian2 without its compiled queue takes the even one.
DELAY = 0.25 if find_spec("brian2.synapses.cythonspikequeue") else 0.5
REFRACTORY = (False, 2 * ms, 0.5 * ms, "ref", "resting")


def integer_steps(equations, variables=None, method_options=None):
    """Update integers as neurons of the chip do: every product is divided, and rounded toward zero."""
    update = "clip(int(v * keeps / 4096) + ge + gi + p + bias, lowest, 8388607)"
    held = f"v + int(not_refractory) * ({update} - v)" if "not_refractory" in variables else update
    lines = (f"v = {held}", "ge = int(ge * keeps_ge / 4096)", "gi = int(gi * keeps_gi / 4096)", "p = 0")
    return "\n".join(lines)


class Plan(NamedTuple):
    """What a script has; the numbers in it come from the seed."""

    kind: str
    chip: str
    seed: int
    refractory: Any
    groups: int
    has_poisson: bool
    with_subgroup: bool


class World:
    """The objects of a script, on the chip, or on Brian2's runtime in the integers of a chip."""

    def __init__(self, plan, *, on_chip):
        self.plan, self.on_chip, self.chip_name, self.chip = plan, on_chip, plan.chip, None
        b2.start_scope()
        b2.set_device(*(("neuromap",) if on_chip else ("runtime",)), **({"chip": plan.chip} if on_chip else {}))
        b2.seed(plan.seed)
        b2.defaultclock.dt = 0.5 * ms
        self.dt, self.namespace, self.names = 0.5e-3, {"te": 5 * ms, "vr": 0.25}, set()
        rng = np.random.default_rng(plan.seed)
        keys = np.unique(np.stack([rng.integers(0, 3, 60), rng.integers(0, 100, 60)]), axis=1)
        self.sources = [b2.SpikeGeneratorGroup(3, keys[0], keys[1] * 0.5 * ms, name="I")]
        if plan.has_poisson:
            self.sources.append(b2.PoissonGroup(2, 300 * b2.Hz, name="P"))
        self.groups = [self._group(name, rng) for name in "AB"[: plan.groups]]
        self.monitors = [b2.SpikeMonitor(group, name=f"spikes_{group.name}") for group in self.groups]
        self.voltages, self.heights, self.synapses = [], [], []
        taken = set()
        for k in range(rng.integers(1, 5)):
            source = (*self.sources, *self.groups)[rng.integers(len(self.sources) + plan.groups)]
            target = self.groups[rng.integers(plan.groups)]
            variable = VARIABLES[plan.kind][rng.integers(len(VARIABLES[plan.kind]))]
            mine = self._synapses(f"S{k}", source, target, variable, rng)
            if (source.name, target.name, variable) not in taken:
                self.synapses.append(mine)
            taken.add((source.name, target.name, variable))
        self.net = b2.Network(*self.sources, *self.groups, *self.monitors, *self.synapses, name="net")
        self.store("first")

    def _group(self, name, rng):
        kind, refractory, size = self.plan.kind, self.plan.refractory, 4
        if self.on_chip:
            method = "euler" if kind == "leak" else "exact"
            made = b2.NeuronGroup(
                size,
                MODELS[kind],
                threshold="v > theta",
                reset="v = vr",
                refractory=refractory,
                method=method,
                name=name,
            )
        else:
            made = b2.NeuronGroup(
                size,
                INTEGERS,
                threshold="v > theta",
                reset="v = 0",
                refractory=refractory,
                method=integer_steps,
                name=name,
            )
        level, drive, theta = rng.uniform(0, 1.6, size), rng.uniform(0, 0.4, size), rng.uniform(0.8, 1.2, size)
        begin = rng.uniform(0.25, 0.8, size)
        made.ref, made.resting = rng.integers(0, 5, size) * 0.5 * ms, rng.random(size) < 0.5
        if self.on_chip:
            made.El, made.theta = (drive if kind == "leak" else level), theta
            made.v = begin
        return made

    def _synapses(self, name, source, target, variable, rng, how=None):
        if self.plan.with_subgroup and target.name == "A":
            target = target[1:]
        statement = f"{'p' if variable == 'v' and not self.on_chip else variable} += w"
        made = b2.Synapses(source, target, "w : 1", on_pre=statement, name=name)
        n_pre, n_post = len(source), len(target)
        count = rng.integers(3, 9)
        i, j = rng.integers(0, n_pre, count), rng.integers(0, n_post, count)
        made.connect(i=i, j=j)
        size = 3.0 if variable != "v" else 0.4
        weights = rng.choice([1, 1, 1, -1], count) * rng.uniform(0.3, 1, count) * size
        delays = rng.integers(0, 12, count) * DELAY
        if self.on_chip:
            made.w = weights
        made.delay = delays * ms
        return made

    def run(self, steps):
        """Run, and give the chip, whether it was loaded for this run, and the weights that the script had then."""
        begins, weights = float(self.net.t_) == 0, {part.name: np.array(part.w) for part in self.synapses}
        self.net.run(steps * self.dt * b2.second, namespace=self.namespace)
        if self.on_chip:
            assert device.chip.program.chip.name == self.chip_name
            self.chip = device.chip
        return self.chip, begins, weights

    def store(self, name):
        self.net.store(name)
        self.names.add(name)

    def load(self, chip, begins, weights):
        """Take the integers of a chip that is about to run."""
        self.chip = chip
        for group in self.groups if begins else ():
            load_neurons(group, chip, self.dt)
        for synapses in self.synapses if begins else ():
            load_weights(synapses, chip, weights[synapses.name], self.dt)

    def seen(self):
        """What all monitors of spikes hold, and those that were added."""
        spikes = [(np.array(m.i), np.array(m.t)) for m in self.monitors]
        return spikes, [np.array(m.v) for m in self.voltages], [np.array(m.v) for m in self.heights]


def load_neurons(group, chip, dt):
    neuron = chip.quantised.network.nodes[group.name].neuron
    if chip.program.chip.core_model == "crossbar":
        group.theta, group.bias, group.lowest = neuron.threshold - 1, neuron.leak, -neuron.floor
        group.keeps, group.v, group.ge, group.gi, group.p = 4096, neuron.potential, 0, 0, 0
        return
    names = chip.translated.models[group.name].currents
    decays = dict(zip((*names, "p"), (neuron.current_decay, *neuron.more_current_decays), strict=False))
    group.theta, group.bias, group.lowest = neuron.threshold, neuron.bias, -8388607
    group.keeps, group.v = 4096 - neuron.voltage_decay, neuron.voltage
    group.ge = group.gi = group.p = 0
    for name in names:
        group.variables[f"keeps_{name}"].set_value(4096 - decays[name])
    if names:
        group.ge = np.trunc(neuron.current * (4096 - decays["ge"]) / 4096)
        wanted = 4096 * (1 - np.exp(-dt / 8e-3))
        assert np.abs(neuron.voltage_decay - wanted).max() <= 0.5


def current_of(chip, group, variable):
    names = chip.translated.models[group].currents
    return names.index(variable) if variable in names else len(names)


def unit_of(chip, group, variable, neurons):
    return chip.quantised.nodes[group].current_units[current_of(chip, group, variable)][neurons]


def ends_of(synapses):
    return np.array(synapses.variables["_synaptic_pre"].get_value()), np.array(
        synapses.variables["_synaptic_post"].get_value()
    )


def load_weights(synapses, chip, weights, dt):
    """Look up the weight of every synapse of the script by its ends, delay and variable; sums go to the first."""
    if not synapses.pre.active:
        return
    source, target, variable = synapses.source.name, *fed(synapses)
    current = current_of(chip, target, variable)
    pre, post = ends_of(synapses)
    unit = unit_of(chip, target, variable, post)
    delays = np.floor(np.array(synapses.delay) / dt + 0.5).astype(int)
    edge = chip.quantised.network.edges.get((source, target))
    terms = {(term.delay - 1, term.current): term.matrix.toarray() for term in edge.terms} if edge is not None else {}
    keys = list(zip(pre.tolist(), post.tolist(), delays.tolist(), strict=True))
    wanted, found = np.zeros(len(pre)), np.zeros(len(pre))
    for k, key in enumerate(keys):
        first = keys.index(key)
        wanted[first] += weights[k] * unit[k]
        if k == first and (key[2], current) in terms:
            found[k] = terms[key[2], current][key[1], key[0]]
    part, greatest = 0.3, np.abs(wanted).max(initial=0)
    if chip.program.chip.core_model == "synapse-list":  # one exponent for all that a neuron sends, to any target
        part, greatest = 0.02, np.abs(wanted)
        for (sender, _), edge in chip.quantised.network.edges.items():
            for term in edge.terms if sender == source else ():
                greatest = np.maximum(greatest, np.abs(term.matrix.toarray()).max(axis=0)[pre])
    assert (np.abs(found - wanted) <= part * greatest + 1).all()
    synapses.w = found


def fed(synapses):
    """Give the group and the variable of the script that synapses add to."""
    variable = synapses.pre.code.split()[0]
    return getattr(synapses.target, "source", synapses.target).name, {"p": "v"}.get(variable, variable)


# What a script may do; ``rng`` is the same in both worlds.


def some(world, rng, what):
    things = getattr(world, what)
    return things[rng.integers(len(things))]


def run(world, rng):
    return world.run(int(rng.integers(4, 25)))


def store(world, rng):
    world.store(f"s{rng.integers(2)}")


def restore(world, rng):
    world.net.restore(sorted(world.names)[rng.integers(len(world.names))])


def restart(world, rng):
    world.net.restore("first")


def set_voltages(world, rng):
    group, values = some(world, rng, "groups"), rng.uniform(0.25, 0.8, 4)
    if world.on_chip:
        group.v = values
    elif world.chip is not None:
        group.v = np.rint((values - 0.25) * world.chip.quantised.nodes[group.name].scale)


def set_currents(world, rng):
    group, values = some(world, rng, "groups"), rng.uniform(0, 2, 4)
    if world.plan.kind == "currents" and world.on_chip:
        group.ge = values
    elif world.plan.kind == "currents" and world.chip is not None:
        group.ge = np.rint(values * unit_of(world.chip, group.name, "ge", slice(None)))


def set_parameters(world, rng):
    group, values = some(world, rng, "groups"), rng.uniform(0.7, 1.3, 4)
    if world.on_chip:
        group.theta = values
    elif world.chip is not None:
        group.theta = np.rint((values - 0.25) * world.chip.quantised.nodes[group.name].scale)


def set_time_constant(world, rng):
    world.namespace["te"] = rng.uniform(2, 9) * ms
    if not world.on_chip:
        for group in world.groups:
            group.keeps_ge = np.rint(4096 * np.exp(-world.dt / float(world.namespace["te"])))


def set_weights(world, rng):
    synapses, factor = some(world, rng, "synapses"), rng.uniform(-2, 2)  # noqa: F841 - Brian2 finds the factor
    synapses.w = "w * factor" if world.on_chip else "int(w * factor)"


def set_delays(world, rng):
    some(world, rng, "synapses").delay = rng.integers(0, 9) * 0.5 * ms


def replace_synapses(world, rng):
    """Other ends, or none of the old spikes, with the same weights and delays."""
    old = some(world, rng, "synapses")
    new = b2.Synapses(old.source, old.target, "w : 1", on_pre=old.pre.code, name=old.name)
    count = len(old)
    new.connect(i=rng.integers(0, len(old.source), count), j=rng.integers(0, len(old.target), count))
    new.delay = np.array(old.delay) * b2.second
    new.w = np.array(old.w)
    world.net.remove(old)
    world.net.add(new)
    world.synapses = [new if part is old else part for part in world.synapses]
    world.names = set()
    world.store("other")


def connect_more(world, rng):
    synapses = some(world, rng, "synapses")
    synapses.connect(i=0, j=0)
    value = 0.3
    if not world.on_chip and world.chip is not None:
        value = np.rint(value * unit_of(world.chip, *fed(synapses), ends_of(synapses)[1][-1]))
    synapses.w[len(synapses) - 1] = value
    synapses.delay[len(synapses) - 1] = 0 * ms
    world.names = set()
    world.store("other")


def switch_synapses(world, rng):
    synapses = some(world, rng, "synapses")
    part = (synapses, synapses.pre)[rng.integers(2)]
    part.active = not part.active


def switch_group(world, rng):
    group = some(world, rng, "groups")
    parts = (group, group.state_updater, group.thresholder["spike"], group.resetter["spike"])
    part = parts[rng.integers(4)]
    part.active = not part.active


def switch_source(world, rng):
    source = some(world, rng, "sources")
    source.active = not source.active


def set_order(world, rng):
    group, order = some(world, rng, "groups"), int(rng.choice([-2, 3]))
    parts = (group.state_updater, group.thresholder["spike"], group.resetter["spike"])
    parts[rng.integers(3)].order = order


def set_source_order(world, rng):
    source = some(world, rng, "sources")
    part = source.thresholder["spike"] if source.name == "P" else source
    part.order = int(rng.choice([-2, 0, 3]))


def set_slot(world, rng):
    group, synapses = some(world, rng, "groups"), some(world, rng, "synapses")
    parts = (group.state_updater, group.thresholder["spike"], group.resetter["spike"], synapses.pre)
    parts[rng.integers(4)].when = ("start", "groups", "after_thresholds", "end")[rng.integers(4)]


def set_schedule(world, rng):
    slots = ["start", "groups", "thresholds", "synapses", "resets", "end"]
    world.net.schedule = [slots, ["start", "synapses", "groups", "thresholds", "resets", "end"]][rng.integers(2)]


def set_dt(world, rng):
    world.dt = float(rng.choice([0.25e-3, 1e-3]))
    b2.defaultclock.dt = world.dt * b2.second


def set_chip(world, rng):
    world.chip_name = ("loihi1", "truenorth")[rng.integers(2)]
    if world.on_chip:
        b2.set_device("neuromap", chip=world.chip_name)


def at_threshold_too(world, rng):
    some(world, rng, "groups").events["spike"] = "v >= theta"


def change_regularly(world, rng):
    group = some(world, rng, "groups")
    what, amount = ("v", 0.3) if rng.random() < 0.5 else ("theta", 0.0)
    if not world.on_chip and world.chip is not None:
        amount = np.rint(amount * world.chip.quantised.nodes[group.name].scale)
    part = group if rng.random() < 0.5 else group[:2]
    world.kept = part
    part.run_regularly(f"{what} += {amount}", dt=1.0 * ms)
    world.names = set()
    world.store("other")


def change_weights_regularly(world, rng):
    synapses = some(world, rng, "synapses")
    synapses.run_regularly("w = -w", dt=3.0 * ms)
    world.names = set()
    world.store("other")


def change_rates_regularly(world, rng):
    if world.plan.has_poisson:
        world.sources[1].run_regularly("rates = (500*Hz) * rand()", dt=2.0 * ms)
        world.names = set()
        world.store("other")


def set_rates(world, rng):
    if world.plan.has_poisson:
        world.sources[1].rates = rng.uniform(0, 600, 2) * b2.Hz


def set_spikes(world, rng):
    neurons, steps = np.unique(np.stack([rng.integers(0, 3, 60), rng.integers(0, 200, 60)]), axis=1)
    world.sources[0].set_spikes(neurons, steps * 1.0 * ms)


def rest_at_first(world, rng):
    group = some(world, rng, "groups")
    if "lastspike" in group.variables:
        group.lastspike = world.net.t - 1 * ms


def watch_voltages(world, rng):
    when = ("start", "end", "after_groups", "thresholds", "synapses")[rng.integers(5)]
    world.voltages.append(b2.StateMonitor(world.groups[0], "v", record=True, when=when))
    world.net.add(world.voltages[-1])
    world.names = set()
    world.store("other")


def watch_heights(world, rng):
    when = ({}, {"when": "start"}, {"when": "end"}, {"when": "thresholds", "order": -1})[rng.integers(4)]
    world.heights.append(b2.SpikeMonitor(world.groups[0], ["v"], **when))
    world.net.add(world.heights[-1])
    world.names = set()
    world.store("other")


def watch_spikes(world, rng):
    order = {"when": "thresholds", "order": int(rng.choice([-1, 0, 1, 2]))}
    slot = {"when": ("start", "after_thresholds", "resets", "end")[rng.integers(4)]}
    added = b2.SpikeMonitor(some(world, rng, "groups"), **(order, slot)[rng.integers(2)])
    world.monitors.append(added)
    world.net.add(added)
    world.names = set()
    world.store("other")


PLAIN = [run, run, run, store, restore, restart, set_rates, set_spikes, switch_source]
CHANGES = [
    set_voltages, set_currents, set_parameters, set_time_constant, set_weights, set_delays, replace_synapses,
    connect_more, switch_synapses, switch_group, set_order, set_source_order, set_slot, set_schedule, set_dt, set_chip,
    at_threshold_too, change_regularly, change_weights_regularly, change_rates_regularly, rest_at_first, watch_voltages,
    watch_heights, watch_spikes,
]  # fmt: skip


def play(world, steps, chips=()):
    """Do what a script does; what is seen after every step, the chips of its runs, and the error that ended it."""
    seen, ran = [], []
    for k, step in enumerate(steps):
        if k < len(chips) and step is run:
            world.load(*chips[k])
        try:
            ran.append(step(world, np.random.default_rng((world.plan.seed, k))))
        except Exception as error:
            while isinstance(error, BrianObjectException) and error.__cause__ is not None:
                error = error.__cause__
            return seen, ran, error
        seen.append(world.seen())
    return seen, ran, None


def check(plan, steps):
    """Play a script in both worlds and compare; the error that ended it on the chip, and what was seen."""
    on_chip = World(plan, on_chip=True)
    seen, ran, error = play(on_chip, steps)
    own = World(plan, on_chip=False)
    is_refused = isinstance(error, NeuromapError)
    wanted, _, own_error = play(own, steps[: len(seen)] if is_refused else steps, ran)
    note(f"{len(seen)} steps, then {error!r}; Brian2: {own_error!r}")
    if not is_refused:
        assert type(error) is type(own_error)
    assert len(wanted) == len(seen)
    for (spikes, voltages, heights), (own_spikes, own_voltages, own_heights) in zip(seen, wanted, strict=True):
        for found, other in zip(spikes, own_spikes, strict=True):
            assert np.array_equal(found[0], other[0])
            assert np.array_equal(found[1], other[1])
        pairs = list(zip(heights, own_heights, strict=True))
        if not any(synapses.pre.code.startswith("p ") for synapses in own.synapses):  # pulses show a step later
            pairs += zip(voltages, own_voltages, strict=True)
        for found, other in pairs:
            if found.size:
                scale = on_chip.chip.quantised.nodes["A"].scale
                assert np.allclose(found, other / scale + 0.25)
    return error, seen


@st.composite
def scripts(draw):
    kind = draw(st.sampled_from(sorted(MODELS)))
    chip = draw(st.sampled_from(("loihi1", "truenorth"))) if kind == "leak" else "loihi1"
    refractory = draw(st.sampled_from(REFRACTORY if chip == "loihi1" else (False, False, 0.5 * ms)))
    seed = draw(st.integers(0, 2**31 - 1))
    plan = Plan(kind, chip, seed, refractory, draw(st.integers(1, 2)), draw(st.booleans()), draw(st.booleans()))
    plain, change = st.sampled_from(PLAIN), st.sampled_from(CHANGES)
    steps = draw(st.lists(st.one_of(plain, plain, change), min_size=1, max_size=8))
    return plan, [*steps, run]


def told(drawn):
    plan, steps = drawn
    error, seen = check(plan, steps)
    runs = sum(step is run for step in steps[: len(seen)])
    event(f"refused: {error is not None}, runs before: {min(runs, 3)}")
    return error, seen, runs


SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": False}


@settings(max_examples=15, **SETTINGS)
@given(scripts())
def test_random_scripts(drawn):
    told(drawn)


@pytest.mark.thorough
@settings(max_examples=500, **SETTINGS)
@given(scripts())
def test_many_random_scripts(drawn):
    told(drawn)
