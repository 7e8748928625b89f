"""Which network under which rollout: patterns and weights searched together, with data, a chip and a budget."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
