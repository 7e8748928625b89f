"""Random networks with a skip edge and a loop, mapped, and input frames for them."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.network import build_network


@st.composite
def mapped_runs(draw, chip="truenorth", lengths=(1, 2, 4, 18), largest=6):
    """Thresholds of either sign, any execution; the program and its frames. The longest network takes relays."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = [f"H{k}" for k in range(draw(st.sampled_from(lengths)))]
    pairs = {*zip(["I", *names], [*names, "O"], strict=True), (names[0], "O"), (names[0], names[0])}
    size = draw(st.integers(1, largest))
    nodes = {"I": (size, None)} | {name: (size, rng.integers(-2, 4, size)) for name in [*names, "O"]}
    net = build_network(nodes, {pair: rng.integers(-2, 3, (size, size)) for pair in sorted(pairs)})
    pattern = draw(st.sampled_from(["streaming", "sequential"]))
    rollout = nm.Rollout(net, pattern, execution=draw(st.sampled_from(["windowed", "pipelined"])))
    try:
        program = nm.map_rollout(rollout, chip)
    except DoesNotFitError:
        assume(False)
    return program, {"I": rng.random((draw(st.integers(2, 8)), size)) < 0.5}
