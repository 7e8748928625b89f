"""Chips and networks that the mapper's tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import neuromap as nm
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network import build_network
from neuromap.proof.prove import prove


def _chip(**changes: Any) -> ChipSpec:
    figures: dict[str, Any] = {
        "name": "tiny",
        "cores": (16, 16),
        "chips": (1, 1),
        "axons": 256,
        "neurons": 256,
        "axon_types": 4,
        "weight_bits": 9,
        "leak_bits": 9,
        "threshold_bits": 18,
        "potential_bits": 20,
    }
    return ChipSpec(**(figures | changes))


@pytest.fixture(scope="session")
def chip() -> Callable[..., ChipSpec]:
    """A TrueNorth-like chip with any figure changed."""
    return _chip


@pytest.fixture(scope="session")
def chain() -> Callable[..., nm.Network]:
    """A network from nodes ``{name: (size, threshold)}`` and edges ``{(u, v): matrix}``."""

    def make(nodes: dict[str, tuple[int, Any]], edges: dict[tuple[str, str], Any], **more: Any) -> nm.Network:
        return build_network({n: ((1, 1, size), theta) for n, (size, theta) in nodes.items()}, edges, **more)

    return make


@pytest.fixture(scope="session")
def computes() -> Callable[..., None]:
    """Assert that chip equals reference on every output, with no stray spike: on some frames, and by proof on all."""

    def check(rollout: nm.Rollout, program: nm.Program, *, n_frames: int = 10, seed: int = 0) -> None:
        assert nm.check_program(program) == []
        net = rollout.network
        rng = np.random.default_rng(seed)
        frames = {i: rng.random((n_frames, net.nodes[i].size)) < rng.random() for i in net.inputs}
        expected, trace = nm.reference(rollout, frames), nm.simulate(program, frames)
        for output in net.outputs:
            np.testing.assert_array_equal(trace.frames(output), expected[output])
            assert len(trace.strays(output)) == 0
        proof = prove(rollout, program)
        assert proof.examined.holds, proof.faults[:3]

    return check


@pytest.fixture(scope="session")
def agrees(computes: Callable[..., None]) -> Callable[..., nm.Program]:
    """Map, check, simulate; assert that chip equals reference on every output, with no stray spike."""

    def check(
        net: nm.Network,
        pattern: nm.RolloutPattern,
        execution: str,
        spec: ChipSpec,
        *,
        n_frames: int = 10,
        seed: int = 0,
        **choices: Any,
    ) -> nm.Program:
        rollout = nm.Rollout(net, pattern, execution=execution)
        program = nm.map_rollout(rollout, spec, **choices)
        computes(rollout, program, n_frames=n_frames, seed=seed)
        return program

    return check


@pytest.fixture(scope="session")
def valid_pattern() -> Callable[[st.DrawFn, nm.Network], nm.RolloutPattern]:
    """Draw a pattern, with edges that bridge frames or none, and stream an edge of every cycle that is sequential."""

    def draw_pattern(draw: st.DrawFn, net: nm.Network) -> nm.RolloutPattern:
        values = draw(st.sampled_from([st.integers(0, 1), st.sampled_from([0, 1, 1, 2, 3])]))
        pattern = nm.RolloutPattern.from_values(net, [draw(values) for _ in net.edges])
        while not pattern.is_valid:
            cycle = pattern.cycle
            streaming = [*pattern.streaming_edges, (cycle[0], cycle[1 % len(cycle)])]
            pattern = nm.RolloutPattern.from_streaming_edges(net, streaming, bridging=pattern.bridging_edges)
        return pattern

    return draw_pattern
