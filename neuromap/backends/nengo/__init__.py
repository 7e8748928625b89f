"""Nengo back end: ``neuromap.backends.nengo.Simulator(network)`` (``docs/nengo.md``)."""

from neuromap.lazy_names import lazy_names
from neuromap.registry import require_package

_get, __dir__ = lazy_names(__spec__)


def __getattr__(name: str) -> object:
    if name in __dir__():
        require_package("neuromap.backends.nengo", "nengo", "nengo", "Nengo", imports=False)
    return _get(name)
