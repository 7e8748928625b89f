"""Code as a user with types writes it: `nox -s consumer` holds it to mypy --strict against the installed package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import neuromap as nm
from neuromap.errors import NeuromapError


def small_network(seed: int) -> nm.Network:
    """Build a chain with a skip edge."""
    draw = np.random.default_rng(seed)
    edges = {
        ("I", "H"): draw.integers(-1, 3, (5, 4)),
        ("H", "O"): draw.integers(-1, 3, (2, 5)),
        ("I", "O"): draw.integers(-1, 3, (2, 4)),
    }
    return nm.build_network({"I": ((1, 1, 4), None), "H": ((1, 1, 5), 2), "O": ((1, 1, 2), 1)}, edges, outputs=["O"])


def responses(network: nm.Network) -> dict[str, int]:
    """Give the first response under three patterns, in update steps."""
    return {name: int(nm.Rollout(network, name).first_response("O")) for name in ("streaming", "sequential")}


def spikes(network: nm.Network, n_frames: int) -> NDArray[np.bool_]:
    """Run the streaming program, checked against the reference."""
    rollout = nm.Rollout(network, "streaming")
    program = nm.map_rollout(rollout, "truenorth")
    frames = nm.random_frames(network, n_frames, seed=1)
    assert nm.verify(rollout, program, frames).verified
    return np.asarray(nm.reference(rollout, frames)["O"], dtype=np.bool_)


def main() -> None:
    """Print responses, and how a mistake is told."""
    network = small_network(0)
    print(responses(network), spikes(network, 10).shape)
    try:
        nm.load_chip("truesouth")
    except NeuromapError as error:
        print(error)


if __name__ == "__main__":
    main()
