"""What other tools write, read into values of this package. Imported only when asked for."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
