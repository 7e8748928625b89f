"""Neo (NeuralEnsemble): spike trains, signals and epochs as its blocks, made of plain values (``docs/traces.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "FrameTimes": "plain",
    "Recorded": "plain",
    "SpikeTimes": "plain",
    "Values": "plain",
    "mat_bytes": "blocks",
    "neo_block": "blocks",
}

if TYPE_CHECKING:
    from neuromap.formats.neo.blocks import mat_bytes as mat_bytes
    from neuromap.formats.neo.blocks import neo_block as neo_block
    from neuromap.formats.neo.plain import FrameTimes as FrameTimes
    from neuromap.formats.neo.plain import Recorded as Recorded
    from neuromap.formats.neo.plain import SpikeTimes as SpikeTimes
    from neuromap.formats.neo.plain import Values as Values

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
