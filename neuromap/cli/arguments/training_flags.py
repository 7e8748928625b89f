"""How a network is trained, as it is asked for at the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from neuromap.cli.arguments.options import said_option

if TYPE_CHECKING:
    from neuromap.training.options.training_options import TrainingOptions

__all__ = ["DataOption", "EpochsOption", "LimitOption", "TrainingFlags"]

DataOption = Annotated[
    str,
    typer.Option(
        "--data",
        metavar="SOURCE",
        help="Labelled images: mnist:PATH, cifar10:PATH, gtsrb:PATH, or digits (scikit-learn's).",
    ),
]
EpochsOption = Annotated[
    int | None, said_option("--epochs", metavar="N", text="Passes over the training images.  [default: 100]")
]
LimitOption = Annotated[
    int | None,
    said_option("--limit", metavar="N", text="Only the first N images of every part, for a quick look."),
]


@dataclass(frozen=True)
class TrainingFlags:
    """Options of ``train``; one parameter of the command (see ``option_blocks``)."""

    epochs: EpochsOption = None
    batch: Annotated[int, typer.Option("--batch", metavar="N", help="Images in a step of the optimiser.")] = 128
    frames: Annotated[
        int,
        typer.Option(
            "--frames",
            metavar="N",
            help="Frames of the output, from its first response on, over which the loss is the mean.",
        ),
    ] = 8
    optimiser: Annotated[str, typer.Option("--optimiser", metavar="NAME", help="rmsprop, adam or sgd.")] = "rmsprop"
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", metavar="RATE", help="Learning rate of the first step.")
    ] = 1e-4
    decay: Annotated[
        float,
        typer.Option("--decay", metavar="D", help="Step n has the learning rate RATE / (1 + D n)."),
    ] = 1e-6
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule", metavar="NAME", help="decay; or cosine: from RATE to 0 as half a cosine over all steps."
        ),
    ] = "decay"
    preceding: Annotated[
        int,
        typer.Option(
            "--preceding",
            metavar="N",
            help="Show N frames of another image before each, without a reset between: the loss is of the second.",
        ),
    ] = 0
    flip: Annotated[bool, typer.Option("--flip", help="Mirror every training image with probability one half.")] = False
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of first weights, order, noise and dropout.")
    ] = 0
    threads: Annotated[
        int | None,
        said_option(
            "--threads",
            metavar="N",
            text="Threads of PyTorch; the same number gives the same weights.  [default: PyTorch's choice]",
        ),
    ] = None
    device: Annotated[str, typer.Option("--device", metavar="NAME", help="cpu or cuda.")] = "cpu"

    def options(self) -> TrainingOptions:
        """Make the library's options."""
        from neuromap.training.options.training_options import TrainingOptions

        return TrainingOptions(
            epochs=TrainingOptions.epochs if self.epochs is None else self.epochs,
            batch=self.batch,
            frames=self.frames,
            optimiser=self.optimiser,
            learning_rate=self.learning_rate,
            decay=self.decay,
            schedule=self.schedule,
            flip=self.flip,
            seed=self.seed,
            threads=self.threads,
            device=self.device,
            preceding=self.preceding,
        )
