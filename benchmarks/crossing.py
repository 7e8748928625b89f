"""From how many cores on streaming answers first: predicted, and found by timing every tick on each number of cores.

python -m benchmarks.crossing                        all networks, spread evenly: half an hour of CPU
python -m benchmarks.crossing --networks sr,random   some of them
python -m benchmarks.crossing --times mapped         programs that the mapper makes for the shortest ticks
python -m benchmarks.crossing --times filled         programs that fill smaller cores, one after the other
python -m benchmarks.crossing --json FILE            the rows as JSON too; those that it holds are not found again

Predicted is ``FrameWork``: every core holds an Nth of every node side by side, spikes are those of the streaming
pattern. Found is the mean over frames of every tick of programs that are mapped onto so many cores and simulated: with
the same placement, by pins (``spread``), or another one.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import neuromap as nm
from neuromap.rollout.schedule.tick_seconds import Seconds, seconds_of_ticks
from neuromap.simulation.cost.frame_work import count_frame_work

ROOT = Path(__file__).resolve().parents[1]
FRAMES = 24
FINENESS = 1.1
"""Ratio of the numbers of cores that are tried."""
PATTERNS = ("streaming", "sequential")
Times = Callable[[nm.Rollout, nm.ChipSpec, dict[str, Any], int], Seconds | None]


def networks(names: Sequence[str]) -> Iterator[nm.Network]:
    """Load or draw the networks."""
    for name, path in {"digits": "digits/sr", **{n: f"on_chip/{n}" for n in ("sr", "dsr1", "dsr4")}}.items():
        if name in names:
            yield nm.load_network(ROOT / "examples" / f"{path}.toml")
    if "random" in names:
        yield from map(random_network, range(10))


def random_network(seed: int) -> nm.Network:
    """Draw a chain with a self-edge and skips, none from input to output; a neuron reads 10 to 50 % of its sources.

    They are small, so that work and barrier are alike on some number of cores of the chip.
    """
    draw = np.random.default_rng(seed)
    sizes = [int(draw.integers(24, 97)) for _ in range(draw.integers(4, 7))]
    last = len(sizes) - 1
    nodes = {f"n{k}": ((1, 1, size), None if k == 0 else int(draw.integers(1, 4))) for k, size in enumerate(sizes)}
    skips = [(a, b) for a in range(last) for b in range(a + 2, last + 1) if (a, b) != (0, last)]
    chosen = draw.choice(len(skips), min(len(skips), 1 + int(draw.integers(0, 3))), replace=False)
    own = int(draw.integers(1, last + 1))
    edges = {}
    for a, b in sorted({*((k, k + 1) for k in range(last)), *(skips[k] for k in chosen), (own, own)}):
        is_read = draw.random((sizes[b], sizes[a])) < draw.uniform(0.1, 0.5)
        edges[f"n{a}", f"n{b}"] = csr_array(draw.integers(-2, 4, is_read.shape) * is_read)
    return nm.build_network(nodes, edges, name=f"random {seed}", outputs=[f"n{last}"])


def spread(rollout: nm.Rollout, chip: nm.ChipSpec, frames: dict[str, Any], n_cores: int) -> Seconds | None:
    """Time every tick of the program in which each core holds an Nth of every node."""
    nodes = {name: node for name, node in rollout.network.nodes.items() if name not in rollout.network.inputs}
    # cores fill one tile after the other, as the prediction's do: the barrier grows with the tiles
    (width, height), (columns, rows) = chip.tile, (a * b for a, b in zip(chip.cores, chip.chips, strict=True))
    y, x = np.indices((rows, columns)).reshape(2, -1)
    core = np.lexsort((x % width, y % height, x // width, y // height))
    tables = {name: core[np.arange(node.size) * n_cores // node.size] for name, node in nodes.items()}
    return _simulated(rollout, chip, frames, nm.MappingOptions(pins=nm.mapping.Pins(neurons=tables)))


def mapped(rollout: nm.Rollout, chip: nm.ChipSpec, frames: dict[str, Any], n_cores: int) -> Seconds | None:
    """Time every tick of the program that the mapper makes for at most so many cores; none where it does not fit."""
    return _simulated(rollout, chip, frames, nm.MappingOptions(objective="tick", max_cores=n_cores))


def filled(rollout: nm.Rollout, chip: nm.ChipSpec, frames: dict[str, Any], n_cores: int) -> Seconds | None:
    """Time every tick of a program for cores of fewer neurons: most hold neurons of one node, so of one phase."""
    n_neurons = sum(node.size for name, node in rollout.network.nodes.items() if name not in rollout.network.inputs)
    small = nm.load_chip("loihi1", {"grid.chips": list(chip.chips), "core.neurons": -(-n_neurons // n_cores)})
    return _simulated(rollout, small, frames, nm.MappingOptions())


def _simulated(
    rollout: nm.Rollout, chip: nm.ChipSpec, frames: dict[str, Any], options: nm.MappingOptions
) -> Seconds | None:
    try:
        program = nm.map_rollout(rollout, chip, options=options)
    except nm.errors.DoesNotFitError:
        return None
    found = nm.measure_steady_activity(program, [frames]).seconds
    assert found is not None
    by_tick = found.measured.reshape(-1, int(program.period)).mean(axis=0)
    # tick 0 of the rollout is that in which its input of phase 0 is sampled
    first = min(rollout.phases[name] for name in rollout.network.inputs)
    return seconds_of_ticks(rollout, np.roll(by_tick, int(first)))


def row_of(net: nm.Network, times: Times) -> dict[str, Any]:
    """Predict and find the crossing of a network."""
    chip = nm.load_chip("loihi1")
    if sum(node.size for node in net.nodes.values()) > 100 * chip.neurons:
        chip = nm.load_chip("loihi1", {"grid.chips": [2, 2]})
    frames = nm.random_frames(net, FRAMES, density=0.2, seed=0)
    work = count_frame_work(net, chip, frames)
    streaming, sequential = (nm.Rollout(net, name) for name in PATTERNS)
    found: dict[str, Any] = {"network": net.name, "least_cores": work.least_cores, "most_cores": work.most_cores}
    numbers = sorted(
        {
            *np.geomspace(
                work.least_cores,
                work.most_cores,
                2 + int(math.log(work.most_cores / work.least_cores) / math.log(FINENESS)),
            )
            .round()
            .astype(int)
            .tolist()
        }
    )
    measured = {n: [times(rollout, chip, frames, n) for rollout in (streaming, sequential)] for n in numbers}
    figures = ("first", "reaction")
    for figure, [ranges] in zip(figures, work.leads(streaming, [sequential], figures), strict=True):
        ahead = {n: getattr(a, figure) < getattr(b, figure) for n, (a, b) in measured.items() if a and b}
        found[f"{figure}_predicted"] = ranges[-1][0] if ranges and ranges[-1][1] == work.most_cores else None
        found[f"{figure}_found"] = _from(ahead)
    pairs = [
        (work.seconds(r, n).first, one.first)
        for n, pair in measured.items()
        for r, one in zip((streaming, sequential), pair, strict=True)
        if one
    ]
    found["mean_error_of_first"] = float(np.mean([abs(a / b - 1) for a, b in pairs]))
    return found


def _from(ahead: dict[int, bool]) -> int | None:
    """Give the least number from which on streaming is ahead on all that were tried."""
    found = None
    for n in sorted(ahead, reverse=True):
        if not ahead[n]:
            break
        found = n
    return found


_TIMES: dict[str, Times] = {"spread": spread, "mapped": mapped, "filled": filled}
_KEYS = (
    "network",
    "least_cores",
    "first_predicted",
    "first_found",
    "reaction_predicted",
    "reaction_found",
    "mean_error_of_first",
)


def told(row: dict[str, Any]) -> str:
    """Write a row."""
    values = [row[key] for key in _KEYS]
    return " | ".join("-" if v is None else f"{v:.3f}" if isinstance(v, float) else str(v) for v in values)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default="digits,sr,dsr1,dsr4,random")
    parser.add_argument("--times", choices=tuple(_TIMES), default="spread")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    times = _TIMES[asked.times]
    known = json.loads(asked.json.read_text(encoding="utf-8")) if asked.json and asked.json.exists() else []
    rows = {row["network"]: row for row in known}
    print(" | ".join(_KEYS))
    for net in networks(asked.networks.split(",")):
        rows[net.name] = rows.get(net.name) or row_of(net, times)
        print(told(rows[net.name]), flush=True)
        if asked.json:
            asked.json.write_text(json.dumps(list(rows.values()), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
