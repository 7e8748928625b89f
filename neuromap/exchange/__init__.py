"""Import and export of networks, programs and traces, with notes on what became of each part."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
