"""Programs with wide neurons: proven where they are right, and with no single fault that changes what they compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError, NeuromapError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS
from neuromap.proof.checker import Checker
from neuromap.proof.prove import check_certificate, prove, save_certificate

SIZE = 10


def mapped(axons, ticks, execution="pipelined", seed=0, *, cyclic=False, size=SIZE, theta=None):
    """A node that few axons make wide, on its own; with cyclic, it reads itself and another one reads it.

    With theta, its second neuron reads nothing and has this threshold.
    """
    rng = np.random.default_rng(seed)
    nodes = {"I": (size, None), "W": (2, rng.integers(-1, 4, 2))}
    edges = {("I", "W"): rng.choice([-2, -1, 0, 1, 1, 2], (2, size))}
    if theta is not None:
        nodes["W"][1][1], edges["I", "W"][1] = theta, 0
    if cyclic:
        nodes |= {"O": (2, 1)}
        edges |= {("W", "W"): rng.integers(-1, 2, (2, 2)), ("W", "O"): rng.integers(-1, 3, (2, 2))}
    network = nm.build_network(nodes, edges, outputs=["O" if cyclic else "W"])
    chip = ChipSpec(
        name="tiny", cores=(16, 16), chips=(1, 1), axons=axons, neurons=16, axon_types=4, weight_bits=9, leak_bits=9,
        threshold_bits=18, potential_bits=12,
    )  # fmt: skip
    rollout = nm.Rollout(network, "streaming", execution)
    return rollout, nm.map_rollout(rollout, chip, wide="partial-sums", wide_ticks=ticks)


def computes(rollout, program):
    """Whether it does so for all inputs, one after the other in a random order."""
    inputs = np.arange(1 << SIZE)[:, None] >> np.arange(SIZE) & 1
    frames = {"I": inputs[np.random.default_rng(5).permutation(1 << SIZE)].astype(np.bool_)}
    trace, expected = nm.simulate(program, frames), nm.reference(rollout, frames)
    outputs = rollout.network.outputs
    return all(np.array_equal(trace.frames(n), expected[n]) and not len(trace.strays(n)) for n in outputs)


@given(
    axons=st.integers(6, 10), ticks=st.sampled_from([1, 2, 3, 5, None]), seed=st.integers(0, 99),
    execution=st.sampled_from(["windowed", "pipelined", "pipelined:9", "pipelined:best"]), size=st.integers(10, 40),
)  # fmt: skip
@example(axons=10, ticks=1, seed=60, execution="windowed", size=10)  # refused
@settings(max_examples=30, deadline=None)
def test_programs_with_wide_neurons_are_proven(axons, ticks, seed, execution, size):
    try:
        rollout, program = mapped(axons, ticks, execution, seed, cyclic=True, size=size)
    except (DoesNotFitError, InputError):
        return  # too few axons, or too short a frame period
    proof = prove(rollout, program)
    assert proof.proven, proof.faults[:3]
    assert program.is_part is None or proof.lemmas["counts a part of a sum"] == program.is_part.sum()


@pytest.mark.parametrize("theta", [0, 1])
def test_a_neuron_of_an_empty_sum_is_proven_too(theta):
    """The host adds its threshold up in several ticks, and takes it off again, as of those that gather parts."""
    rollout, program = mapped(6, 3, theta=theta)
    assert prove(rollout, program).proven
    assert computes(rollout, program)
    core, neuron = np.argwhere((program.neuron_node == 1) & (program.neuron_index == 1) & ~program.is_part)[0]
    for by in (-1, 1):
        wrong = table(program, "threshold", core, neuron, lambda value, by=by: value + by)
        assert computes(rollout, wrong) or not prove(rollout, wrong).proven


def table(program, name, core, neuron, change):
    values = getattr(program.neurons, name).copy()
    values[core, neuron] = change(values[core, neuron])
    return replace(program, neurons=replace(program.neurons, **{name: values}))


def host(program, row, name, value):
    values = getattr(program.host, name).copy()
    values[row] = value
    return replace(program, host=replace(program.host, **{name: values}))


def roles(program):
    """A slice that rests below 0, a merger of most wires, a gathering neuron; and clocks of the first and the last."""
    parts, sent = program.is_part, np.zeros((*program.shape[:1], program.chip.axons), np.bool_)
    sent[program.target_core[parts], program.target_axon[parts]] = True
    bits = np.unpackbits(program.crossbar, axis=-1, bitorder="little", count=program.shape[1]).astype(np.bool_)
    reads = (bits & sent[:, :, None]).sum(axis=1)
    low = parts & (program.neurons.potential < 0)
    found = [np.unravel_index(np.argmax(mask), program.shape) for mask in (low, parts * reads, ~parts * reads)]
    clocks = np.flatnonzero(program.host.node == BIAS)
    of = [clocks[bits[program.host.core[clocks], program.host.axon[clocks], n] & (program.host.core[clocks] == c)]
          for c, n in (found[0], found[2])]  # fmt: skip
    return *found, *of


FAULTS = {
    "a slice's threshold": lambda p, s, m, g, cs, cg: table(p, "threshold", *s, lambda v: v + 1),
    "a slice's floor": lambda p, s, m, g, cs, cg: table(p, "negative_threshold", *s, lambda v: v - 1),
    "where a slice begins": lambda p, s, m, g, cs, cg: table(p, "potential", *s, lambda v: v + 1),
    "a slice's reset": lambda p, s, m, g, cs, cg: table(p, "reset_mode", *s, lambda v: 0),
    "a slice's weights": lambda p, s, m, g, cs, cg: table(p, "weights", *s, lambda v: np.where(v > 0, v + 1, v)),
    "a slice's clock is late": lambda p, s, m, g, cs, cg: host(p, cs[0], "arrival", p.host.arrival[cs[0]] - 1),
    "a slice's clock is weak": lambda p, s, m, g, cs, cg: table(p, "weights", *s, lambda v: np.where(v < 0, -1, v)),
    "a slice is never cleared": lambda p, s, m, g, cs, cg: host(p, cs[0], "node", 0),
    "a slice feeds another axon": lambda p, s, m, g, cs, cg: replace(p, target_axon=moved(p.target_axon, s)),
    "a slice is late": lambda p, s, m, g, cs, cg: replace(p, delay=moved(p.delay, s, 6)),
    "a merger's weight": lambda p, s, m, g, cs, cg: table(p, "weights", *m, lambda v: 2 * v),
    "a merger's threshold": lambda p, s, m, g, cs, cg: table(p, "threshold", *m, lambda v: v + 1),
    "a merger forgets": lambda p, s, m, g, cs, cg: table(p, "reset_mode", *m, lambda v: 0),
    "a merger is late": lambda p, s, m, g, cs, cg: replace(p, delay=moved(p.delay, m, 6)),
    "a gathering threshold": lambda p, s, m, g, cs, cg: table(p, "threshold", *g, lambda v: v + 1),
    "a gathering weight": lambda p, s, m, g, cs, cg: table(p, "weights", *g, lambda v: np.where(v == 1, 2, v)),
    "asked too early": lambda p, s, m, g, cs, cg: host(p, cg[len(cg) // 2], "arrival", p.host.arrival[cg].min()),
    "not lifted": lambda p, s, m, g, cs, cg: host(p, cg[np.argmin(p.host.arrival[cg])], "node", 0),
    "not emptied": lambda p, s, m, g, cs, cg: host(p, cg[np.argmax(p.host.arrival[cg])], "node", 0),
    "a leak": lambda p, s, m, g, cs, cg: table(p, "leak", *g, lambda v: 1),
    "no label": lambda p, s, m, g, cs, cg: replace(p, is_part=moved(p.is_part.astype(int), s, -1).astype(bool)),
}


def moved(values, place, by=1):
    values = values.copy()
    values[place] += by
    return values


@pytest.fixture(scope="module")
def small():
    rollout, program = mapped(7, 2)
    assert prove(rollout, program).proven
    assert computes(rollout, program)
    return rollout, program


@pytest.mark.parametrize("fault", FAULTS)
def test_a_single_fault_is_not_proven(small, fault):
    rollout, program = small
    wrong = FAULTS[fault](program, *roles(program))
    assert not prove(rollout, wrong).proven


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_what_is_proven_all_inputs_agree_with(small, data):
    """Any change of a number of a part, a gathering neuron, a wire or the host: proven only if nothing differs."""
    rollout, program = small
    core, neuron = data.draw(st.sampled_from(np.argwhere(program.neuron_node >= 0).tolist()))
    row = data.draw(st.integers(0, len(program.host) - 1))
    by = data.draw(st.sampled_from([-2, -1, 1, 2]))
    names = ["threshold", "negative_threshold", "potential", "reset", "leak", "weights"]
    kind = data.draw(st.sampled_from([*names, "arrival", "delay", "axon"]))
    if kind == "arrival":
        changed = host(program, row, kind, program.host.arrival[row] + by)
    elif kind == "axon":
        changed = host(program, row, kind, data.draw(st.integers(0, 6)))
    elif kind == "delay":
        changed = replace(program, delay=moved(program.delay, (core, neuron), abs(by)))
    else:
        changed = table(program, kind, core, neuron, lambda value: value + by)
    try:
        proven = prove(rollout, changed).proven
        assert not proven or computes(rollout, changed)
    except NeuromapError:
        return  # no program at all


def test_the_example_is_proven():
    network = nm.load_network(Path(__file__).parents[2] / "examples/wide/mlp.toml")
    rollout = nm.Rollout(network, "streaming")
    program = nm.map_rollout(rollout, "truenorth", wide="partial-sums")
    proof = prove(rollout, program)
    assert proof.proven, proof.faults[:3]


def test_the_reason_names_what_is_wrong(small):
    rollout, program = small
    part, merger, *_ = roles(program)
    forgets = table(program, "reset_mode", *merger, lambda v: 0)
    faults = "\n".join(prove(rollout, forgets).faults)
    assert f"core {merger[0]}, neuron {merger[1]}: does not hand on every spike, one a tick" in faults
    assert "reads a part of a sum of which nothing is shown" in faults
    faults = "\n".join(prove(rollout, table(program, "threshold", *part, lambda v: v + 1)).faults)
    assert "reads parts that do not count the sum between them" in faults or "remembers more than a frame" in faults


def test_a_certificate_of_parts_is_confirmed_without_the_rollout(small, tmp_path):
    rollout, program = small
    save_certificate(prove(rollout, program).certificate, program, tmp_path / "wide.proof")
    assert check_certificate(tmp_path / "wide.proof", program).holds


def test_a_forged_certificate_cannot_hide_an_output_among_the_parts():
    """What is said to hold a part is claimed to be nobody, whatever else the certificate says of it."""
    nodes, edges = {"I": (4, None), "O": (1, 1)}, {("I", "O"): np.ones((1, 4), int)}
    always, never = (
        nm.Rollout(nm.build_network(nodes | {"O": (1, theta)}, edges, outputs=["O"]), "streaming") for theta in (1, 9)
    )
    program = nm.map_rollout(always, "truenorth")
    certificate = prove(never, program).certificate
    forged = replace(certificate, holds=certificate.neuron >= 0)
    assert not Checker(program, forged).examine().holds
