"""What was measured of a candidate as a record of its row in a store, checked when it is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from typing import Any

from neuromap.arrays.times import Time, whole
from neuromap.errors import InputError
from neuromap.explorer.search.measured import Measured
from neuromap.explorer.search.setting import Setting
from neuromap.forms.printable import printable_line
from neuromap.jobs.fingerprint import Fingerprint
from neuromap.jobs.results_file import with_checksum
from neuromap.version import __version__

__all__ = ["FORMAT", "fingerprint_of_setting", "measured_of", "record_of"]

FORMAT = "neuromap-explorer-results-2"
_LARGEST = 1 << 53
"""Larger whole numbers are not exact as floating-point numbers, and no figure of a chip."""
_LONGEST_MESSAGE = 2000
_WHOLE = ("first_response_ticks", "full_response_ticks", "worst_case_reaction_ticks", "cores")
_FRACTION = re.compile(r"[1-9][0-9]{0,15}/[1-9][0-9]{0,15}", re.ASCII)
_ENERGIES = ("energy_joules", "energy_half_width_joules")
_KEPT = tuple(field.name for field in fields(Measured) if field.name != "cut_short")
"""What a record has: what was cut short is not kept."""
_FIGURES = tuple(field.name for field in fields(Measured) if field.default is None)


def fingerprint_of_setting(setting: Setting) -> str:
    """Give the digest of network, stimuli and noise seed: everything but chip and candidate."""
    # Engine and threads make no difference to any spike.
    found = Fingerprint(f"{FORMAT} {__version__} {setting.engine.noise_seed}")
    found.add_network(setting.network)
    for frames in setting.stimuli:
        found.add_frames(frames)
    return found.text()


def record_of(fingerprint: str, measured: Measured) -> str:
    """Write what was measured as the record of its row."""
    period = measured.frame_period_ticks
    found = {name: value for name, value in asdict(measured).items() if name in _KEPT}
    found["frame_period_ticks"] = str(period) if isinstance(period, Fraction) else period
    checksum = with_checksum({"key": fingerprint, **found})["checksum"]
    return json.dumps({**found, "checksum": checksum}, allow_nan=False)


def measured_of(fingerprint: str, record: str) -> Measured:
    """Read what :func:`record_of` wrote."""
    try:
        found = json.loads(record)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("record: is no JSON object")
    if found.get("checksum") != with_checksum({"key": fingerprint, **found})["checksum"]:
        raise InputError("record: was changed since it was written (its checksum differs)")
    measured = _measured(found)
    if measured is None:
        raise InputError("record: is damaged")
    return measured


def _measured(record: Mapping[str, Any]) -> Measured | None:
    """Check a record: every figure where it was mapped, none where it does not fit; ``None`` if it is wrong."""
    found = {name: record[name] for name in _KEPT if name in record}
    if len(found) != len(_KEPT) or not isinstance(found["message"], str):
        return None
    if found["schedule"] not in ("steps", "ticks"):
        return None
    message = printable_line(found["message"], _LONGEST_MESSAGE)
    if found["status"] == "does not fit":
        plain = Measured("does not fit", message=message, schedule=found["schedule"])
        return plain if message and all(found[name] is None for name in _FIGURES) else None
    if found["status"] != "mapped" or not all(_is_count(found[name]) for name in _WHOLE):
        return None
    if (period := _period(found["frame_period_ticks"])) is None:
        return None
    energies = {name: found[name] for name in _ENERGIES}
    if not all(energy is None or _is_energy(energy) for energy in energies.values()):
        return None
    if not isinstance(found["full_response_exact"], bool) or not isinstance(found["verified"], bool | None):
        return None
    energies = {name: None if energy is None else float(energy) for name, energy in energies.items()}
    return Measured(**{**found, "message": message, "frame_period_ticks": period, **energies})


def _period(value: Any) -> Time | None:
    """Read a frame period, a count or ``"p/q"``; ``None`` if it is neither."""
    if not isinstance(value, str):
        return value if _is_count(value) else None
    if not _FRACTION.fullmatch(value):
        return None
    period = whole(Fraction(value))
    return period if 1 <= period <= _LARGEST else None


def _is_energy(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value) and value >= 0) or _is_whole(value)


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value > 0
