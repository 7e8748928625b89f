"""Sweeps: a network on many variants of a chip; and many runs, read from a spec and kept in a store."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
