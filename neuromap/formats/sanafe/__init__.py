"""SANA-FE (SLAM-Lab/SANA-FE, GPL-3): programs written as its architecture and network, to be run beside neuromap.

Nothing of SANA-FE is imported or contained: its YAML is written as text (``docs/sanafe.md``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "SanafeCells": "network",
    "sanafe_architecture": "network",
    "sanafe_cells": "network",
    "sanafe_network": "network",
}

if TYPE_CHECKING:
    from neuromap.formats.sanafe.network import SanafeCells as SanafeCells
    from neuromap.formats.sanafe.network import sanafe_architecture as sanafe_architecture
    from neuromap.formats.sanafe.network import sanafe_cells as sanafe_cells
    from neuromap.formats.sanafe.network import sanafe_network as sanafe_network

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
