"""Verification of programs: chip against reference, the dependency wave, the first real difference."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
