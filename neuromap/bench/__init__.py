"""The bench command: measures an engine on a network commonly used to measure simulators."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
