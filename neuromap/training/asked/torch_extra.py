"""PyTorch, which is an extra: asked for before the rooms that need it are entered."""

from __future__ import annotations

from importlib.util import find_spec

from neuromap.errors import NotSupportedError

__all__ = ["require_torch"]


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
