"""What a chip was loaded with, to compare with what a script says before the chip goes on: whatever differs is refused.

The chip goes on from a state of its own and has read all else once. So all that the translation read is remembered:
numbers by value, objects of Brian2 by identity, and the state that Brian2 shows as it was left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from neuromap.backends.brian2.translate import Translated
from neuromap.errors import NotSupportedError
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = [
    "Fingerprint",
    "fingerprint",
    "replaced_parts",
    "require_same_state",
    "require_unchanged",
    "shown_state",
]

_STATE = ("voltage", "currents")
"""Of float neurons: what changes in a run, and is compared as the state that Brian2 shows."""
_REMEDY = "set it before the first run, or restore a state from before"


class Fingerprint(NamedTuple):
    """What a chip was loaded with."""

    values: Mapping[str, Any]  # numbers, arrays and settings that were read, by what they are of
    objects: Mapping[str, Any]  # objects of Brian2 that the chip stands for


def fingerprint(translated: Translated, chip: ChipSpec, engine: str) -> Fingerprint:
    """Remember all that a translation read, with the chip and the engine that a script asks for."""
    network = translated.network
    values: dict[str, Any] = {"set_device: chip": chip, "set_device: engine": engine, "dt": network.dt}
    values |= {f"{name}: size": size for name, size in network.inputs.items()}
    for name, neuron in network.nodes.items():
        model = translated.models[name]
        values[f"{name}: variables"] = (model.v, *model.currents)
        values |= {f"{name}: {f.name}": getattr(neuron, f.name) for f in fields(neuron) if f.name not in _STATE}
    for synapses in translated.synapses:
        values[f"{synapses.name}: active"] = tuple(pathway.active for pathway in synapses._pathways)
    for k, (label, part) in enumerate(zip(translated.labels, network.synapses, strict=True)):
        which = translated.labels[:k].count(label)
        of = label if which == 0 else f"{label} ({which + 1})"
        values |= {f"{of}: {f.name}": getattr(part, f.name) for f in fields(part)}
    objects = {**translated.groups, **translated.sources, **{thing.name: thing for thing in translated.synapses}}
    return Fingerprint(values, objects)


def shown_state(translated: Translated) -> dict[str, Any]:
    """Copy what Brian2 shows of the chip's state; a script that sets it is not heard by the chip."""
    found: dict[str, Any] = {}
    for name, model in translated.models.items():
        variables = translated.groups[name].variables
        rest = [part for part in ("lastspike", "not_refractory") if part in variables]
        found |= {f"{name}.{part}": np.array(variables[part].get_value()) for part in (model.v, *model.currents, *rest)}
    return found


def replaced_parts(translated: Translated) -> Iterator[Any]:
    """Go through the parts of Brian2's objects that the chip stands for."""
    for group in translated.groups.values():
        yield from (group.state_updater, group.thresholder["spike"], group.resetter["spike"])
    for synapses in translated.synapses:
        yield from synapses._pathways


def require_unchanged(before: Fingerprint, now: Fingerprint) -> None:
    """Refuse to go on where anything that was read is not as it was."""
    for name in [*before.objects, *now.objects]:
        if (name in before.objects) != (name in now.objects):
            raise _changed(f"{name}: was {'taken out of' if name in before.objects else 'added to'} the network")
        if before.objects[name] is not now.objects[name]:
            raise _changed(f"{name}: was replaced by another object")
    for what in [*before.values, *now.values]:
        old, new = before.values.get(what), now.values.get(what)
        if (what in before.values) != (what in now.values) or not _alike(old, new):
            raise _changed(f"{what}: was changed{_told(old, new)}")


def require_same_state(written: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on where a script has set what the chip computes."""
    for name, values in now.items():
        if name not in written or not np.array_equal(values, written[name], equal_nan=True):
            raise _changed(f"{name}: was changed")


def _alike(old: Any, new: Any) -> bool:
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(_alike(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return np.array_equal(old, new)
    return bool(old == new)


def _told(old: Any, new: Any) -> str:
    told = [getattr(value, "name", value) for value in (old, new)]
    return f" from {told[0]!r} to {told[1]!r}" if all(isinstance(value, (str, float, int)) for value in told) else ""


def _changed(what: str) -> NotSupportedError:
    return NotSupportedError(f"{what} between two runs, while the chip goes on from its own state; {_REMEDY}")
