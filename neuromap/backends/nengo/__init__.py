"""A back end of Nengo: ``neuromap.backends.nengo.Simulator(network)`` (``docs/nengo.md``)."""

from __future__ import annotations

import importlib.util

from neuromap.errors import InstallationError
from neuromap.lazy_names import lazy_names

if importlib.util.find_spec("nengo") is None:
    raise InstallationError("neuromap.backends.nengo needs Nengo; install it with: pip install neuromap-rollouts[nengo]")

_HOMES = {
    "Placement": "placement",
    "RunReport": "run_report",
    "Simulator": "simulator",
    "add_params": "on_chip",
}

TYPE_CHECKING = False  # as typing has it, which takes longer to import than all else here
if TYPE_CHECKING:
    from neuromap.backends.nengo.on_chip import add_params as add_params
    from neuromap.backends.nengo.placement import Placement as Placement
    from neuromap.backends.nengo.run_report import RunReport as RunReport
    from neuromap.backends.nengo.simulator import Simulator as Simulator

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
