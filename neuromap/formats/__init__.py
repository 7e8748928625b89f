"""What other tools write, read into values of this package. Imported only when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_ROOMS = ("nir", "ranc")

if TYPE_CHECKING:
    from neuromap.formats import nir as nir
    from neuromap.formats import ranc as ranc

__all__ = sorted(_ROOMS)
__getattr__, __dir__ = lazy_names(__name__, {}, _ROOMS)
