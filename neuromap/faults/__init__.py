"""Faults that strike a chip after mapping: output error, first response and accuracy over fault rates."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
