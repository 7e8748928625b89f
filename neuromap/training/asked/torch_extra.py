"""PyTorch, which is an extra: asked for before the rooms that need it are entered, and what it says without memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from neuromap.errors import NotSupportedError, TrainingError
from neuromap.training.asked.training_options import TrainingOptions

__all__ = ["memory_told", "require_processor", "require_torch"]


def require_torch(what: str) -> None:
    """Refuse to go on without PyTorch.

    Parameters
    ----------
    what : str
        What needs it.

    Raises
    ------
    NotSupportedError
        If it is not installed.
    """
    if find_spec("torch") is None:
        raise NotSupportedError(
            f"{what}: needs PyTorch, which is not installed; pip install 'neuromap-rollouts[training]'"
        )


def require_processor(options: TrainingOptions) -> None:
    """Refuse what is asked to run elsewhere.

    Parameters
    ----------
    options : TrainingOptions
        Its device.

    Raises
    ------
    NotSupportedError
        If the device is not ``"cpu"``.
    """
    if options.device != "cpu":
        raise NotSupportedError(f"training: device {options.device}: is not supported yet, cpu is; leave --device out")


@contextmanager
def memory_told(options: TrainingOptions) -> Iterator[None]:
    """Say in our words that memory does not suffice; PyTorch says it by a ``RuntimeError``.

    Parameters
    ----------
    options : TrainingOptions
        Whose batches and frames take the memory.

    Raises
    ------
    TrainingError
        If memory runs out in the block.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
            raise
        raise TrainingError(
            f"training: the memory does not suffice for batches of {options.batch} images, {options.frames} frames "
            "each; take smaller batches, fewer frames or a smaller network"
        ) from None
