"""PyTorch, which is an extra: asked for before the rooms that need it are entered, and what it says without memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from neuromap.errors import NotSupportedError, TrainingError
from neuromap.training.options.training_options import TrainingOptions

__all__ = ["memory_told", "require_device", "require_torch"]

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
