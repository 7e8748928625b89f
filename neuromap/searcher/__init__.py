"""Joint search of patterns and weights, for given data, a chip and a budget."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
