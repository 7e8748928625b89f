"""Import from NIR and export to it: ``from_nir``, ``to_nir`` (``docs/nir.md``)."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
