"""How much a streaming rollout gains when all its layers run at once, over processes of one machine.

    python benchmarks/parallel_stream.py --network examples/structures/dsr4.toml --processes 2

Three ways of computing the same frames take turns in one run, each on one thread per process: streaming over processes,
streaming in one process, and the sequential pattern in one process. Printed are ratios of the medians per frame.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import neuromap as nm
from neuromap.training.torch.parallel_stream import ParallelStream
from neuromap.training.torch.rollout_model import RolloutModel


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="examples/structures/dsr4.toml", help="a network file (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--batch", type=int, default=8, help="inputs at the same time (%(default)s)")
    parser.add_argument("--frames", type=int, default=12, help="frames in a turn (%(default)s)")
    parser.add_argument("--turns", type=int, default=7, help="turns of every way (%(default)s)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = RolloutModel(nm.load_network(args.network)).eval()
    name = model.network.inputs[0]
    frame = {name: torch.rand((args.batch, *(model.network.nodes[name].shape or ())))}
    with torch.no_grad(), ParallelStream(model, args.batch, args.processes) as stream:
        ways: dict[str, Callable[[], object]] = {
            f"streaming over {len(stream.shares)} processes": lambda: stream.step(frame),
            "streaming in one process": in_one(model, "streaming", frame),
            "sequential in one process": in_one(model, "sequential", frame),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(args.turns + 1):
            for way, step in ways.items():
                started = time.perf_counter()
                for _ in range(args.frames):
                    step()
                if turn:  # the first one warms up
                    seconds[way].append(time.perf_counter() - started)
        print(f"{model.network.name}, batch {args.batch}; nodes of the processes: {stream.shares}")
    fastest = statistics.median(next(iter(seconds.values())))
    for way, found in seconds.items():
        print(f"{way}: {statistics.median(found) / fastest:.2f} times the time per frame of the first")


def in_one(model: RolloutModel, pattern_name: str, frame: dict[str, torch.Tensor]) -> Callable[[], object]:
    """Make the step of one process, which goes on from frame to frame."""
    pattern = nm.RolloutPattern.named(model.network, pattern_name)
    state = [model.blank(frame)]

    def step() -> None:
        state[0] = model.step(pattern, state[0], frame)

    return step


if __name__ == "__main__":
    main()
