"""Sweeps: what a network takes on every chip of several; and many runs, by their spec and in their store."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
