"""The mapper: legalise, partition, place, route, emit; what does not fit is refused as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "DryRun": "diagnosis.dry_run",
    "Infeasibility": "options.infeasibility",
    "MappedRollout": "map_rollout",
    "MappingOptions": "options.options",
    "Pins": "options.options",
    "Remedy": "options.infeasibility",
    "core_bound": "bounds.lower_bounds",
    "dry_run": "diagnosis.dry_run",
    "load_pins": "options.pins_file",
    "map_with_stages": "map_rollout",
}

if TYPE_CHECKING:
    from neuromap.mapping.bounds.lower_bounds import core_bound as core_bound
    from neuromap.mapping.diagnosis.dry_run import DryRun as DryRun
    from neuromap.mapping.diagnosis.dry_run import dry_run as dry_run
    from neuromap.mapping.map_rollout import MappedRollout as MappedRollout
    from neuromap.mapping.map_rollout import map_with_stages as map_with_stages
    from neuromap.mapping.options.infeasibility import Infeasibility as Infeasibility
    from neuromap.mapping.options.infeasibility import Remedy as Remedy
    from neuromap.mapping.options.options import MappingOptions as MappingOptions
    from neuromap.mapping.options.options import Pins as Pins
    from neuromap.mapping.options.pins_file import load_pins as load_pins

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
