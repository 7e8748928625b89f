"""Accuracy over ticks of three rollouts under noise, from the simulated chip and from PyTorch, spike by spike the same.

    python examples/mnist/noisy/over_ticks.py mnist:PATH --csv over_ticks.csv --svg over_ticks.svg

Both are shown the same noise. PyTorch computes what the network file says in deep windows, with convolutions and
products of its own; it knows nothing of cores, ticks or axons.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure
from rich.progress import track

import neuromap as nm
from neuromap.accuracy.accuracy import decide
from neuromap.accuracy.measure import ImageFrames
from neuromap.datasets import ImageSet, load_images
from neuromap.errors import NeuromapError
from neuromap.files.whole_file import write_whole
from neuromap.training.torch.rollout_model import NetworkModel

HERE = Path(__file__).parent
PATTERNS = {
    "streaming": ("streaming.toml", "#1f5fa8", "o"),
    "hybrid": ("sequential.toml", "#3a7d44", "^"),  # one behaviour class with sequential: the same network
    "sequential": ("sequential.toml", "#b4501e", "s"),
}


@dataclass(frozen=True)
class Row:
    """A frame of the output of one network; the tick at which it is known counts from the onset of the image."""

    pattern: str
    cores: int
    frame: int
    tick: int
    images: int
    right_on_chip: int
    right_in_pytorch: int
    differing_spikes: int


def rows_of(pattern: str, images: ImageSet, n_frames: int) -> list[Row]:
    """Run all images through the network of a pattern, on the chip and in PyTorch."""
    rollout = nm.Rollout(nm.load_network(HERE / PATTERNS[pattern][0]), pattern)
    program, model = nm.map_rollout(rollout, chip="truenorth"), NetworkModel(rollout.network)
    shown = ImageFrames.of(rollout, images, n_frames, seed=0)
    right, differing, done = np.zeros((2, n_frames), int), np.zeros(n_frames, int), 0
    for stimuli in track(list(shown.portions()), description=f"{pattern}: {len(images.images):,} images"):
        both = (on_chip(program, stimuli, shown), in_pytorch(model, rollout, stimuli, shown))
        labels = images.labels[done : done + len(both[0]), np.newaxis]
        right += [(decide(spikes, len(images.classes)) == labels).sum(axis=0) for spikes in both]
        differing += (both[0] != both[1]).sum(axis=(0, 2))
        done += len(labels)
    ticks = [
        (rollout.first_response(shown.output) + k * rollout.frame_period) * program.ticks_per_step
        for k in range(n_frames)
    ]
    found = zip(ticks, *right.tolist(), differing.tolist(), strict=True)
    return [Row(pattern, program.n_cores, k, tick, done, *rest) for k, (tick, *rest) in enumerate(found, start=1)]


def on_chip(program: nm.Program, stimuli: dict[str, np.ndarray], shown: ImageFrames) -> np.ndarray:
    """Give the output spikes of the simulated chip, shape (images, frames, size)."""
    return nm.simulate_batch(program, stimuli).frames(shown.output)[:, shown.first :]


def in_pytorch(
    model: NetworkModel, rollout: nm.Rollout, stimuli: dict[str, np.ndarray], shown: ImageFrames
) -> np.ndarray:
    """Give the output spikes of PyTorch, shape (images, frames, size)."""
    inputs = {
        name: torch.from_numpy(spikes.swapaxes(0, 1).astype(np.float32)).unflatten(2, rollout.network.nodes[name].shape)
        for name, spikes in stimuli.items()
    }
    with torch.no_grad():
        window = model.window(rollout.pattern, inputs)
    return window[shown.output].flatten(2).numpy().swapaxes(0, 1)[:, shown.first :] != 0


def as_csv(rows: list[Row]) -> str:
    """Give the rows as CSV text."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(asdict(rows[0])), lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, rows))
    return stream.getvalue()


def as_svg(rows: list[Row]) -> str:
    """Draw lines for the chip, and rings around its points for PyTorch."""
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    panel = figure.subplots()
    for pattern, (_, colour, marker) in PATTERNS.items():
        mine = [row for row in rows if row.pattern == pattern]
        ticks = [row.tick for row in mine]
        label = f"{pattern}, {mine[0].cores} cores"
        panel.plot(ticks, [row.right_on_chip / row.images for row in mine], color=colour, marker=marker, label=label)
        panel.plot(
            ticks, [row.right_in_pytorch / row.images for row in mine], "o", color=colour, fillstyle="none", ms=11
        )
    panel.plot([], [], "o", color="grey", fillstyle="none", ms=11, label="the same, in PyTorch")
    panel.set(xlabel="ticks since the onset of the image [1 tick = 1 ms]", xticks=range(0, panel_end(rows), 2))
    panel.set_ylabel("accuracy of a single frame\n[fraction of test images]")
    panel.grid(alpha=0.3)
    panel.legend()
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def panel_end(rows: list[Row]) -> int:
    """Give the end of the axis of ticks."""
    return max(row.tick for row in rows) + 2


def main() -> int:
    """Parse the command line, print the rows; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="mnist:PATH", help="where the four files of MNIST are")
    parser.add_argument("--frames", type=int, default=8, help="frames of the output (%(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many test images")
    parser.add_argument("--csv", type=Path, help="write the rows to this file")
    parser.add_argument("--svg", type=Path, help="write the picture to this file")
    args = parser.parse_args()
    try:
        images = load_images(args.data, "test", limit=args.limit)
        rows = [row for pattern in PATTERNS for row in rows_of(pattern, images, args.frames)]
        print(as_csv(rows), end="")
        for path, text in ((args.csv, as_csv), (args.svg, as_svg)):
            if path is not None:
                write_whole(path, text(rows))
    except NeuromapError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
