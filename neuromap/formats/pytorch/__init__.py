"""Readers of PyTorch modules, through ``torch.export``, into graphs of operators. Needs the extra ``training``."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
