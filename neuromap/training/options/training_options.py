"""``TrainingOptions`` and ``HardwareOptions``, and checks for PyTorch, run before modules that need it are imported."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from neuromap.errors import InputError, NotSupportedError, TrainingError
from neuromap.files.messages import counted, show
from neuromap.options import COMMON, check_options, documented, option
from neuromap.registry import require_package
from neuromap.render.value import Card
from neuromap.training.options.loss_over_time import LossOverTime, read_over_time

# Matches PyTorch's messages on exhausted memory, of the processor or a device.
_NO_MEMORY = re.compile("allocate memory|out of memory")


def require_torch(what: str) -> None:
    """Refuse to continue without PyTorch."""
    require_package(what, "torch", "training", "PyTorch", imports=False)


def require_device(options: TrainingOptions) -> None:
    """Refuse a device that PyTorch does not find."""
    if options.device == "cpu":
        return
    import torch

    if not torch.cuda.is_available():
        raise NotSupportedError(
            f"training: device {options.device}: PyTorch {torch.__version__} finds none here; leave --device out, or "
            "install a driver and a build of PyTorch for it"
        )


@contextmanager
def memory_told(options: TrainingOptions) -> Iterator[None]:
    """Raise our own error if memory does not suffice; PyTorch raises a ``RuntimeError``."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise
        raise TrainingError(
            f"training: the memory does not suffice for batches of {options.batch} images, {options.frames} frames "
            "each; take smaller batches, fewer frames or a smaller network"
        ) from None


# ``TrainingOptions``: duration, optimiser and data of training.


# RMSprop with squares averaged over ten steps (0.9), Adam with its usual constants, plain gradient descent.
OPTIMISERS = ("rmsprop", "adam", "sgd")

_LATER = (
    "preceding",
    "loss_over_time",
    "weight_time",
    "precision",
    "graphs",
)  # runs from before these options existed had their defaults
_GREATEST_RATE = 1e30  # steps of this size still fit 32-bit floats
_RATES, _FINITE = (0, sys.float_info.max), "must be a number of 0 or more, and finite"


@documented
@dataclass(frozen=True)
class TrainingOptions(Card):
    """What is asked of a training run; the defaults are the paper's for MNIST.

    Images are encoded, and noise is drawn, on the processor whatever the device. Dropout is drawn on the device, and
    CUDA adds up in another order, so runs of the two differ as runs of two seeds do. Between the frames of a preceding
    image and those of the image itself nothing is reset: for networks that are shown one image after another.

    Raises
    ------
    InputError
        If a value is of a wrong type or out of range.
    """

    _group: ClassVar = "training"
    epochs: int = option("N  Passes over the training images.", 100, within=(1, 100_000), group=COMMON)
    batch: int = option("N  Images in a step of the optimiser.", 128, within=(1, 65_536))
    frames: int = option(
        "N  Frames of the output, from its first response on, over which the loss is the mean.",
        8,
        within=(1, 1_000),
        group=COMMON,
    )
    optimiser: str = option("NAME  rmsprop, adam or sgd.", "rmsprop", choices=OPTIMISERS, group=COMMON)
    learning_rate: float = option(
        "RATE  Learning rate of the first step.", 1e-4, within=_RATES, must=_FINITE, group=COMMON
    )
    decay: float = option("D  Step n has the learning rate RATE / (1 + D n).", 1e-6, within=_RATES, must=_FINITE)
    schedule: str = option(
        "NAME  decay; or cosine: from RATE to 0 as half a cosine over all steps.", "decay", choices=("decay", "cosine")
    )
    flip: bool = option("--flip  Mirror every training image with probability one half.", False, choices=(False, True))
    seed: int = option("N  Seed of first weights, order, noise and dropout.", 0, within=(0, 2**63 - 1))
    threads: int | None = option(
        "N  Threads of PyTorch; the same number gives the same weights.  [default: PyTorch's choice]", within=(1, 1_024)
    )
    device: str = option("NAME  cpu or cuda.", "cpu", choices=("cpu", "cuda"))
    preceding: int = option(
        "N  Show N frames of another image before each, without a reset between: the loss is of the second.",
        0,
        within=(0, 1_000),
    )
    loss_over_time: str = option(
        "FORM  What of the accuracy over time counts: mean or final of --frames; deadline=TIME, area=TIME (from the "
        "onset on) or by=TIME:PART (right that often by then). TIME is update steps, or with --for such as 3ms.",
        "mean",
        reads=read_over_time,
    )
    weight_time: float = option(
        "NATS  With --pattern learned: what every update step costs until the frames that count are known.",
        0.0,
        within=_RATES,
        must=_FINITE,
    )
    precision: str = option(
        "NAME  float32; or bfloat16: while training, products of convolutions and dense layers have 8 bits. What is "
        "kept and measured has 32.",
        "float32",
        choices=("float32", "bfloat16"),
    )
    graphs: bool = option(
        "--graphs  With --device cuda: start the kernels of a step all at once, as a captured graph.",
        False,
        choices=(False, True),
    )

    def __post_init__(self) -> None:
        check_options(self, "training: {name} {value}: ", "training: {name} {shown}: allowed are {choices}")
        if self.graphs and self.device != "cuda":
            raise InputError("training: graphs: are captured on CUDA; give --device cuda too, or drop --graphs")
        if self.schedule != "decay" and self.decay != _default("decay"):
            raise InputError(
                f"training: decay {show(self.decay)}: is of schedule decay, and schedule is {self.schedule}; give "
                "--schedule decay too, or drop --decay"
            )
        LossOverTime.read(self.loss_over_time, "training: loss_over_time")
        if self.learning_rate > _GREATEST_RATE:
            raise InputError(f"training: learning_rate {show(self.learning_rate)}: must be 0 to {_GREATEST_RATE:g}")

    def differences(self, other: dict[str, Any], *, is_learned: bool = False) -> list[str]:
        """List the differences from stored options, ignoring options that change no result.

        More epochs continue a run of the decay schedule; those of a cosine schedule, or of a learned pattern, shape
        every step.
        """
        free = {"threads"} | ({"epochs"} if self.schedule == "decay" and not is_learned else set())
        other = {name: _default(name) for name in _LATER} | other
        mine = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in free}
        return [
            f"{name} {other.get(name)!r} (now {value!r})" for name, value in mine.items() if other.get(name) != value
        ]

    def told(self) -> dict[str, Any]:
        """Return all options by name, as stored results are identified by; newer ones only if not default."""
        mine = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in mine.items() if name not in _LATER or value != _default(name)}


def _default(name: str) -> Any:
    return getattr(TrainingOptions, name)


# ``HardwareOptions``: options of training for a chip.
@documented
@dataclass(frozen=True)
class HardwareOptions(Card):
    """What is asked of training for a chip.

    Images are moved along rows and columns, drawn anew in every epoch; what comes in is 0. Without biases thresholds
    stay at 1 to 255 on TrueNorth, and a network that sees nothing is silent.

    Raises
    ------
    InputError
        If a value is of a wrong type or out of range.
    """

    _group: ClassVar = "chip"
    shift: int = option(
        "N  With --for: move every training image by up to N pixels.", 0, within=(0, 16), must="must be 0 to 16 pixels"
    )
    no_bias: bool = option(
        "--no-bias  With --for: keep thresholds within what the leak holds: no axons for biases.",
        False,
        choices=(False, True),
    )
    levels: int | None = option(
        "N  With --for: levels of the thermometer of an input whose code the network file leaves open.  [default: up "
        "to 7, as fit a core]",
        within=(1, 256),
    )
    votes: int | None = option(
        "N  With --for: neurons that vote for a class where the output has one for each and sends spikes.  [default: "
        "32]",
        within=(1, 256),
    )
    weight_cores: float = option(
        "NATS  With --for and --pattern learned: what every core costs that copies and relays for delays would fill.",
        0.0,
        within=_RATES,
        must=_FINITE,
    )

    def __post_init__(self) -> None:
        check_options(self, "training: {name} {value}: ", "training: {name} {shown}: allowed are {choices}")


# Advice when training goes wrong, while it runs and at its end.


# Times chance: on 100 images of ten classes, an untrained network stays below it.
_NEAR = 1.5


def near_chance(accuracy: float, classes: int) -> bool:
    """Return whether an accuracy is hardly better than chance."""
    return classes > 1 and accuracy < min(_NEAR / classes, (1 + 1 / classes) / 2)


def what_to_try(options: TrainingOptions) -> str:
    """Suggest what to try if a network does not learn."""
    slow = options.optimiser != "adam" or options.learning_rate < 1e-3
    better = ["--optimiser adam --learning-rate 1e-2 --schedule cosine"] if slow else []
    better += ["more --epochs", "a network with more features", "labels that fit the images"]
    return f"try {', '.join(better[:-1])}, and see to {better[-1]}"


# Options chosen for a chip by default: optimiser, its steps and random shifts of images.


# Optimiser steps after which small networks of either kind learn no more.
_STEPS = 2500
_BATCHES_OF_EPOCH = 32
# Most pixels of an image for which one thread trains as fast as two.
_SMALL = 1024
# Latent weights of spikes lie within 1 of 0 and must cross half a unit; those of graded nodes start smaller.
_LEARNING_RATES = {"spikes": 2e-2, "graded": 4e-3}


def chosen_options(
    given: Mapping[str, Any], n_images: int, shape: tuple[int, int, int], frames: int, *, graded: bool
) -> tuple[TrainingOptions, HardwareOptions, tuple[str, ...]]:
    """Choose the options of training for a chip that are not given, with lines on the choices and their reasons."""
    batch = int(given.get("batch", min(128, max(32, 2 ** round(math.log2(max(1, n_images) / _BATCHES_OF_EPOCH))))))
    steps = -(-n_images // max(1, batch))
    epochs = min(100, max(8, round(_STEPS / max(1, steps))))
    side = min(shape[:2])
    chosen: dict[str, Any] = {
        "batch": batch,
        "epochs": epochs,
        "frames": frames,
        "optimiser": "adam",
        "schedule": "cosine",
        "learning_rate": _LEARNING_RATES["graded" if graded else "spikes"],
        "shift": 0 if side < 8 else 1 if side < 16 else 2,
        # waiting threads spin: small layers become much slower when another process wants the core
        "threads": 1 if math.prod(shape) <= _SMALL else None,
    }
    found = chosen | {name: value for name, value in given.items() if value is not None}
    hardware = {f.name for f in fields(HardwareOptions)}
    options = TrainingOptions(**{name: value for name, value in found.items() if name not in hardware})
    steps_told = f"{n_images:,} images make {steps} steps an epoch, {steps * options.epochs:,} in all"
    rates = f"{options.optimiser}, learning rate {options.learning_rate:g}, schedule {options.schedule}"
    moved = counted(int(found["shift"]), "pixel")
    told = {
        ("batch", "epochs"): f"batches of {options.batch}, {options.epochs} epochs: {steps_told}",
        ("optimiser", "learning_rate", "schedule"): f"{rates}: large steps to integers first, rest at the end",
        ("threads",): f"threads: {options.threads}, as layers are small",
        ("shift",): f"images of {shape[0]} x {shape[1]} move by up to {moved}, other ones every epoch",
        ("frames",): f"frames of the output that are trained, from the first response on: {options.frames}",
    }
    lines = tuple(line for names, line in told.items() if not {*names} <= given.keys() and found[names[0]])
    return options, HardwareOptions(**{name: value for name, value in found.items() if name in hardware}), lines
