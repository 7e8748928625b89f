"""Simulation: stimulus, engine, trace, and the reference that defines what a network computes."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
