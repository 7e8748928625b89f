"""Float networks on integer neurons, with the price told (``docs/brian2.md``); graded ones as rates."""

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
