"""Chips, programs, their files, and the checker of a program against its chip."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
