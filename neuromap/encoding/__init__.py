"""Encodings: what the host makes of images before they reach the input nodes as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

_HOMES = {
    "InputEncoding": "frames",
    "encode": "frames",
    "encode_set": "frames",
    "input_encodings": "input_tables",
}

if TYPE_CHECKING:
    from neuromap.encoding.frames import InputEncoding as InputEncoding
    from neuromap.encoding.frames import encode as encode
    from neuromap.encoding.frames import encode_set as encode_set
    from neuromap.encoding.input_tables import input_encodings as input_encodings

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
