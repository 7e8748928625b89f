"""Training of any rolled-out network under any valid pattern, with PyTorch (the extra ``training``)."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
