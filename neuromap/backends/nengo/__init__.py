"""A back end of Nengo: ``neuromap.backends.nengo.Simulator(network)`` (``docs/nengo.md``)."""

from __future__ import annotations

import importlib

from neuromap.registry import require_package

_DOORS = {
    "Placement": "placement",
    "RunReport": "simulator",
    "Simulator": "simulator",
    "add_params": "placement",
}

TYPE_CHECKING = False  # as typing has it, which takes longer to import than all else here
if TYPE_CHECKING:
    from neuromap.backends.nengo.placement import Placement as Placement
    from neuromap.backends.nengo.placement import add_params as add_params
    from neuromap.backends.nengo.simulator import RunReport as RunReport
    from neuromap.backends.nengo.simulator import Simulator as Simulator

__all__ = sorted(_DOORS)


def __getattr__(name: str) -> object:
    if name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_package("neuromap.backends.nengo", "nengo", "nengo", "Nengo", imports=False)
    return getattr(importlib.import_module(f"{__name__}.{_DOORS[name]}"), name)


def __dir__() -> list[str]:
    return __all__
