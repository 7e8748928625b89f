"""PyTorch modules, read through ``torch.export`` into graphs of operators. Needs the extra ``training``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"read_module": "module_graph"}

if TYPE_CHECKING:
    from neuromap.formats.pytorch.module_graph import read_module as read_module

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
