"""The mapper: legalise, partition, place, route, emit; what does not fit is refused as data."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
