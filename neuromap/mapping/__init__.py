"""The mapper: legalise, partition, place, route, emit; a network that does not fit gets a structured refusal."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
