"""The bench command: an engine measured on a network that simulators are measured on."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
