"""The drive of the characterisation network: leak and threshold that make a neuron fire at a rate."""

from __future__ import annotations

import math
from typing import NamedTuple

from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["Drive", "drive_for"]

_THRESHOLD = 50
"""Least threshold: far above what the noise adds in one tick, so that the leak sets the rate."""


class Drive(NamedTuple):
    """What makes a neuron fire."""

    # leak, threshold: lambda and alpha
    leak: int
    threshold: int
    rate_hz: float  # leak / threshold in spikes per second: the exact rate without the excess at the threshold


def drive_for(rate_hz: float, chip: ChipSpec) -> Drive:
    """Choose leak and threshold for a rate."""
    # rate_hz: spikes per second and neuron, above 0, at most one per tick
    tick = chip.tick_seconds
    greatest = min(chip.threshold_range[1], chip.potential_range[1])
    slowest, fastest = 1 / (greatest * tick), min(1.0, chip.leak_range[1] / min(_THRESHOLD, greatest)) / tick
    if not slowest <= rate_hz <= fastest * (1 + 1e-12):  # NaN is refused too
        raise InputError(f"rate {rate_hz:g} Hz: chip {chip.name} allows {slowest:.3g} to {fastest:.6g} Hz here")
    per_tick = rate_hz * tick
    first = max(1, math.ceil(per_tick * min(_THRESHOLD, greatest) - 1e-9))
    best, least_error = Drive(0, 1, 0.0), math.inf
    for leak in range(first, min(4 * first, chip.leak_range[1]) + 1):
        threshold = min(max(leak, round(leak / per_tick)), greatest)
        error = abs(leak / threshold / per_tick - 1)
        if error < least_error - 1e-12:
            best, least_error = Drive(leak, threshold, leak / threshold / tick), error
        if least_error <= 1e-3:
            break
    return best
