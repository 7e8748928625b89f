"""PyTorch, which is an extra: asked for before the rooms that need it are entered, and what it says without memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any

from neuromap.errors import InputError, NotSupportedError, TrainingError
from neuromap.files.given import whole_number
from neuromap.files.messages import show
from neuromap.render.value import Card

_NO_MEMORY = re.compile("allocate memory|out of memory")
"""As PyTorch says it of the processor's memory and of that of a device."""


def require_torch(what: str) -> None:
    """Refuse to go on without PyTorch."""
    if find_spec("torch") is None:
        raise NotSupportedError(
            f"{what}: needs PyTorch, which is not installed; pip install 'neuromap-rollouts[training]'"
        )


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
    """Say in our words that memory does not suffice; PyTorch says it by a ``RuntimeError``."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise
        raise TrainingError(
            f"training: the memory does not suffice for batches of {options.batch} images, {options.frames} frames "
            "each; take smaller batches, fewer frames or a smaller network"
        ) from None


# ``TrainingOptions``: how long, in which steps and with which optimiser a network is trained.


OPTIMISERS = ("rmsprop", "adam", "sgd")
"""RMSprop with squares averaged over ten steps (0.9), Adam with its usual constants, plain gradient descent."""
_AT_MOST = {"epochs": 100_000, "batch": 65_536, "frames": 1_000, "threads": 1_024, "preceding": 1_000}
_FROM_0 = ("seed", "preceding")
_LATER = ("preceding",)  # runs from before these options were had their defaults
_GREATEST_RATE = 1e30  # steps of it are still numbers of 32 bits


@dataclass(frozen=True)
class TrainingOptions(Card):
    """What is asked of a training run; the defaults are the paper's for MNIST.

    Attributes
    ----------
    epochs : int
        Passes over the training images.
    batch : int
        Images in a step of the optimiser.
    frames : int
        Frames of the output, from its first response on, over which the loss is the mean.
    optimiser : str
        One of :data:`OPTIMISERS`.
    learning_rate : float
        Of the first step.
    decay : float
        The learning rate of step n is ``learning_rate / (1 + decay * n)``.
    schedule : {"decay", "cosine"}
        Cosine: the learning rate falls to 0 as half a cosine over all steps; ``decay`` is not used.
    flip : bool
        Whether every training image is mirrored, left for right, with probability one half.
    seed : int
        Of first weights, order of images, noise and dropout.
    threads : int or None
        Of PyTorch on the CPU; results are the same for the same number. ``None``: as PyTorch chooses.
    device : {"cpu", "cuda"}
        Where it runs. Images are encoded, and noise is drawn, on the processor: the same for both. Dropout is drawn
        on the device, and CUDA adds up in another order, so runs of the two differ as runs of two seeds do.
    preceding : int
        Frames in which another image of the batch is shown before each image, and nothing is reset between the two:
        for networks that are shown one image after another. The loss is of the second image alone.

    Raises
    ------
    InputError
        If a value is of a wrong type or out of range.
    """

    epochs: int = 100
    batch: int = 128
    frames: int = 8
    optimiser: str = "rmsprop"
    learning_rate: float = 1e-4
    decay: float = 1e-6
    schedule: str = "decay"
    flip: bool = False
    seed: int = 0
    threads: int | None = None
    device: str = "cpu"
    preceding: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "frames", "seed", "threads", "preceding"):
            value = getattr(self, name)
            if not (name == "threads" and value is None):
                whole_number(f"training: {name}", value)
                _check_range(name, value, 0 if name in _FROM_0 else 1, _AT_MOST.get(name, 2**63 - 1))
        for name, allowed in (
            ("optimiser", OPTIMISERS),
            ("schedule", ("decay", "cosine")),
            ("device", ("cpu", "cuda")),
            ("flip", (False, True)),
        ):
            if getattr(self, name) not in allowed:
                words = ", ".join(map(str, allowed))
                raise InputError(f"training: {name} {show(getattr(self, name))}: allowed are {words}")
        for name in ("learning_rate", "decay"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= sys.float_info.max:
                raise InputError(f"training: {name} {show(value)}: must be a number of 0 or more, and finite")
        if self.learning_rate > _GREATEST_RATE:
            raise InputError(f"training: learning_rate {show(self.learning_rate)}: must be 0 to {_GREATEST_RATE:g}")

    def differences(self, other: dict[str, Any]) -> list[str]:
        """Name what differs from options that were stored, leaving out what changes no result.

        More epochs continue a run of the decay schedule; those of a cosine schedule shape every step.
        """
        free = {"threads"} | ({"epochs"} if self.schedule == "decay" else set())
        other = {name: _default(name) for name in _LATER} | other
        mine = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in free}
        return [
            f"{name} {other.get(name)!r} (now {value!r})" for name, value in mine.items() if other.get(name) != value
        ]

    def told(self) -> dict[str, Any]:
        """Give all options by name, as results that are kept are known by; later ones only if they are not default."""
        mine = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in mine.items() if name not in _LATER or value != _default(name)}


def _default(name: str) -> Any:
    return getattr(TrainingOptions, name)


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise InputError(f"training: {name} {value}: must be {low} to {high}")
