"""Quantise float networks to integer neurons, with stated errors (``docs/brian2.md``), and graded ones to rates."""

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
