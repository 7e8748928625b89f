"""Encodings: how the host turns images into frames of input nodes."""

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
