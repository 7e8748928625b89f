"""Training of rolled-out networks, with PyTorch (the extra ``training``): for any network file and valid pattern."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
