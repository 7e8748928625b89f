"""The law for neurons wider than a core: sums in parts give the same spikes, at the ticks that were predicted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import ChipSpec, NeuronRules
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import PHASES, SPLITTERS, MappingOptions
from neuromap.network import build_network
from neuromap.verification import measure

pytestmark = pytest.mark.law

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
CORES = [(10, 24), (16, 12), (24, 48), (32, 30)]


def weights(kind: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "ternary":
        return rng.integers(-1, 2, shape)
    if kind == "positive":
        return rng.integers(0, 2, shape)
    if kind == "sparse":
        return rng.integers(-3, 4, shape) * (rng.random(shape) < 0.2)
    return rng.integers(-9, 10, shape)


@st.composite
def wide_networks(draw: st.DrawFn, axons: int) -> nm.Network:
    """Fan-in of up to twenty times the axons of a core, over several edges; cycles, self-edges, several inputs."""
    inputs = [f"I{k}" for k in range(draw(st.integers(1, 2)))]
    inner = [f"H{k}" for k in range(draw(st.integers(1, 3)))]
    edges = {(draw(st.sampled_from(inputs + inner[:k])), v) for k, v in enumerate(inner)}
    edges |= {(u, draw(st.sampled_from(inner))) for u in inputs}
    edges |= set(draw(st.lists(st.tuples(st.sampled_from(inputs + inner), st.sampled_from(inner)), max_size=3)))
    size = {n: draw(st.integers(1, 20 * axons if n in inputs else 3 * axons)) for n in inputs + inner}
    size = {n: s if n in inputs else min(s, 24) for n, s in size.items()}
    seeds = st.integers(0, 2**32 - 1)
    kinds = st.sampled_from(["ternary", "positive", "sparse", "several"])
    matrices = {(u, v): weights(draw(kinds), (size[v], size[u]), draw(seeds)) for u, v in sorted(edges)}
    nodes: dict[str, Any] = {n: ((1, 1, size[n]), None) for n in inputs}
    for n in inner:
        rng = np.random.default_rng(draw(seeds))
        spread = draw(st.sampled_from([2, 20, 400]))
        nodes[n] = ((1, 1, size[n]), rng.integers(-spread, spread + 1, size[n]))
    return build_network(nodes, matrices, outputs=draw(st.lists(st.sampled_from(inner), min_size=1, unique=True)))


@st.composite
def chips(draw: st.DrawFn, make: Callable[..., ChipSpec]) -> ChipSpec:
    axons, neurons = draw(st.sampled_from(CORES))
    least = draw(st.integers(1, 3))
    rules = NeuronRules(
        number_format=draw(st.sampled_from(["sign_magnitude", "twos_complement"])),
        overflow=draw(st.sampled_from(["saturate", "wrap"])),
        negative_comparison=draw(st.sampled_from(["<", "<="])),
        signed_threshold=draw(st.booleans()),
    )
    return make(
        cores=(64, 64), axons=axons, neurons=neurons, rules=rules, axon_types=draw(st.sampled_from([4, 4, 3, 6])),
        weight_bits=draw(st.sampled_from([9, 9, 6])), delay=(least, draw(st.integers(max(2, least), 15))),
    )  # fmt: skip


@settings(QUIET, max_examples=15)
@given(data=st.data(), execution=st.sampled_from(["windowed", "pipelined", "pipelined:7"]))
def test_sums_in_parts_are_the_sums(valid_pattern, computes, chip, data, execution):
    spec = data.draw(chips(chip))
    net = data.draw(wide_networks(spec.axons))
    ticks = data.draw(st.one_of(st.none(), st.integers(1, 40)))
    options = MappingOptions(
        wide="partial-sums", wide_ticks=ticks, splitters=data.draw(st.sampled_from(SPLITTERS)),
        packing=data.draw(st.booleans()), placer="hilbert", phases=data.draw(st.sampled_from(PHASES)),
    )  # fmt: skip
    try:
        rollout = nm.Rollout(net, valid_pattern(data.draw, net), execution)
        mapped = map_with_stages(rollout, spec, options)
    except DoesNotFitError as refusal:
        event(f"refused: {refusal.infeasibility.limit}")
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
        return
    except InputError as error:
        assert "frame period" in str(error)  # noqa: PT017  the chosen one is too short
        return
    program = mapped.program
    event(f"parts: {program.is_part is not None}")
    event(f"phases at least cost: {mapped.phases is not None and mapped.phases.is_taken}")
    computes(rollout, program, n_frames=6, seed=data.draw(st.integers(0, 99)))
    frames = {i: np.random.default_rng(1).random((2, net.nodes[i].size)) < 0.5 for i in net.inputs}
    fast, slow = (nm.simulate(program, frames, engine=engine) for engine in ("fast", "numpy"))
    for output in net.outputs:
        np.testing.assert_array_equal(fast.frames(output), slow.frames(output))
    scale = 1 if mapped.rollout.is_tick_level else program.ticks_per_step
    for output, found in measure(program).items():
        if found.first_response_ticks is not None:
            assert found.first_response_ticks >= mapped.rollout.first_response(output) * scale
    assert core_bound(mapped.network, spec).total <= program.n_cores


def test_after_the_last_frame_sums_are_emptied_as_in_frames_of_silence(chip):
    # W reads A six frames late: when the stimulus has ended A's last frames still come, and the sums need their clocks.
    rng = np.random.default_rng(2)
    weights = {("I", "A"): rng.integers(0, 2, (8, 4)), ("A", "W"): rng.integers(-30, 31, (3, 8))}
    net = build_network({"I": (4, None), "A": (8, 1), "W": (3, 1)}, weights, outputs=["A", "W"])
    rollout = nm.Rollout(net, nm.RolloutPattern(net, (0, 6)), "pipelined")
    program = nm.map_rollout(rollout, chip(axons=20, neurons=40), options=MappingOptions(wide="partial-sums"))
    frames = nm.random_frames(net, n_frames=12, seed=0, density=0.7)
    trace = nm.simulate(program, frames)
    silence = {name: np.zeros((9, some.shape[1]), bool) for name, some in frames.items()}
    longer = nm.simulate(program, {name: np.concatenate([some, silence[name]]) for name, some in frames.items()})
    for output in ("A", "W"):
        spikes = longer.spikes(output)
        np.testing.assert_array_equal(trace.spikes(output), spikes[spikes[:, 0] < trace.n_ticks])
    assert nm.verify(rollout, program, frames).verified
