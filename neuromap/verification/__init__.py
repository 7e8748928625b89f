"""The law and how it is checked: chip against reference, the dependency wave, the first real difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "MeasuredResponse": "wave",
    "Verification": "verdict",
    "first_difference": "law",
    "measure": "wave",
    "require_verified": "law",
    "verify": "law",
}

if TYPE_CHECKING:
    from neuromap.verification.law import first_difference as first_difference
    from neuromap.verification.law import require_verified as require_verified
    from neuromap.verification.law import verify as verify
    from neuromap.verification.verdict import Verification as Verification
    from neuromap.verification.wave import MeasuredResponse as MeasuredResponse
    from neuromap.verification.wave import measure as measure

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
