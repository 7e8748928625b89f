"""One run of one curve: trained, then measured on test images. What a worker process does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from neuromap.datasets.image_set import PARTS, ImageSet
from neuromap.datasets.sources import load_images
from neuromap.datasets.tracks import cut_tracks
from neuromap.experiments.experiment import Curve
from neuromap.training.network_training import train_network
from neuromap.training.options.training_options import TrainingOptions
from neuromap.training.training_result import TrainingResult

__all__ = ["CurveResult", "CurveRun", "checkpoint_name", "run_curve"]


@dataclass(frozen=True)
class CurveResult:
    """What a run of a curve came to.

    Attributes
    ----------
    curve : str
        Its name.
    repetition : int
        Counted from 0.
    epochs : int
        Epochs that were trained.
    loss : float
        Mean of the last epoch, in nats.
    images : int
        Test images.
    accuracy : tuple of float
        Fraction of them that a frame alone names rightly, frame by frame from the first response on.
    by_start : tuple of tuple of float
        The same at every start index of the experiment, of one run of pictures for every track that is long enough.
    tracks : tuple of int
        How many these are, at every start index.
    """

    curve: str
    repetition: int
    epochs: int
    loss: float
    images: int
    accuracy: tuple[float, ...]
    by_start: tuple[tuple[float, ...], ...] = ()
    tracks: tuple[int, ...] = ()


@dataclass(frozen=True)
class CurveRun:
    """A run that is to be done; it travels to a worker process."""

    curve: Curve  # network and pattern
    repetition: int  # added to the seed of the options
    options: TrainingOptions  # of the experiment
    data: str  # where the images are
    limit: int | None  # only so many images of every part
    folder: Path  # holds the checkpoints
    starts: tuple[int, ...] = ()  # start indices within a track


def checkpoint_name(curve: Curve, repetition: int) -> str:
    """File name of the checkpoint of a run."""
    return f"{curve.name.replace(' ', '-')}-{repetition}.safetensors"


def run_curve(run: CurveRun) -> CurveResult:
    """Train a curve, from its checkpoint on if there is one, and measure it on the test images."""
    options = replace(run.options, seed=run.options.seed + run.repetition)
    images = {part: load_images(run.data, part, limit=run.limit) for part in PARTS}
    # Before all work: a start index that no track has is refused here.
    of_start = [cut_tracks(images["test"], start, options.frames) for start in run.starts]
    checkpoint = run.folder / checkpoint_name(run.curve, run.repetition)
    found = train_network(run.curve.rollout, images, options, checkpoint)

    def measured(test: ImageSet) -> TrainingResult:  # of the trained network: its checkpoint holds all epochs
        return train_network(run.curve.rollout, {**images, "test": test}, options, checkpoint)

    of_starts = [measured(test) for test in of_start]
    return CurveResult(
        run.curve.name,
        run.repetition,
        len(found.history),
        found.history[-1].loss,
        found.n_images,
        found.accuracy,
        tuple(at_start.accuracy for at_start in of_starts),
        tuple(at_start.n_images for at_start in of_starts),
    )
