"""Networks, programs and traces from other tools and for them, with a word on what became of each part."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
