"""Readers and writers of other tools' files. Imported only on demand."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
