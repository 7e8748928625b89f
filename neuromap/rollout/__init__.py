"""The theory of rollouts: patterns, windows, counting, bounds, behaviour classes and schedules."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
