"""Sets of labelled images: read from the original files, and split into parts by stated rules."""

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
