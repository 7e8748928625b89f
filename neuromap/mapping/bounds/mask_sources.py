"""How many sources n neurons of a convolution with holes read at least (docs/lower-bounds.md has the proof)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.bounds.masks import Masks
from neuromap.mapping.bounds.whole_windows import TOO_MANY

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
MASKS = 4000
"""Different masks of a channel up to which all are looked at."""


def mask_sources(masks: Masks, most: int) -> Ints:
    """Bound the sources that n of the rows read."""
    # One of a group's features has at least its share of the group's neurons, and they read the feature's masks.
    # shapes: returns (most + 1,)
    least = np.full(most + 1, TOO_MANY)
    for flip in (False, True):
        offsets = masks.offsets.transpose(0, 1, 3, 2) if flip else masks.offsets
        stride, extent = (pair[::-1] if flip else pair for pair in (masks.stride, masks.extent))
        here = least_of_masks(offsets, (stride[0], stride[1]), (extent[0], extent[1]), most)
        least = np.maximum(least, here) if flip else here
    return shared_out(least, masks.features, masks.groups)


def least_of_masks(offsets: Bools, stride: tuple[int, int], extent: tuple[int, int], most: int) -> Ints:
    """Bound the sources that p positions of one feature read, by chains of columns: whichever feature reads fewest."""
    # shapes: offsets (features, channels, rows, columns); returns (most + 1,)
    area = np.full(most + 1, TOO_MANY)
    area[0] = 0
    most = min(most, extent[0] * extent[1])
    if most == 1:  # a window and no more: what chains of columns say too
        area[1] = int(offsets.reshape(len(offsets), -1).sum(axis=1).min())
        return area
    p, w, h = _columns_of_positions(most, extent)
    numbers = np.packbits(offsets.reshape(len(offsets) * offsets.shape[1], -1), axis=1)
    names = numbers.view(np.dtype((np.bytes_, numbers.shape[1]))).ravel()
    _, heads, code = np.unique(names, return_index=True, return_inverse=True)
    if len(heads) > MASKS:
        return np.zeros(len(area), np.int64)
    channels = offsets.reshape(-1, *offsets.shape[2:])[heads]
    # of a channel's columns only how many offsets they have, and in how many classes, matters
    kinds, kind = np.unique(_offsets_and_classes(channels, stride[0]), axis=0, return_inverse=True)
    of_kind = [_places(both, stride[1] or 1, p, w, h) for both in kinds]
    of_channel = [of_kind[k] for k in kind.ravel()]
    code = np.unique(np.sort(code.reshape(offsets.shape[:2]), axis=1), axis=0)
    starts = np.flatnonzero(np.diff(p, prepend=0))
    for feature in code:
        used, times = np.unique(feature, return_counts=True)
        places = sum((n * of_channel[k] for k, n in zip(used, times, strict=True)), np.zeros(len(p), np.int64))
        area[1 : most + 1] = np.minimum(area[1 : most + 1], np.minimum.reduceat(places, starts))
    return area


def _columns_of_positions(most: int, extent: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """List how p positions may lie in w columns, the tallest of h or more; p ascending, from 1."""
    p, w = np.divmod(np.arange((most + 1) * (extent[1] + 1)), extent[1] + 1)
    h = -(-p // np.maximum(w, 1))
    here = (p > 0) & (w > 0) & (w <= p) & (h <= extent[0])
    return p[here], w[here], h[here]


def _offsets_and_classes(channels: Bools, stride: int) -> Ints:
    """Count the offsets of every column, and their classes modulo the stride; shape (channels, 2, columns)."""
    offsets = channels.sum(axis=1)
    classes = sum((channels[:, k::stride].any(axis=1).astype(np.int64) for k in range(stride)), np.zeros_like(offsets))
    return np.stack([offsets, classes], axis=1)


def _places(columns: Ints, step: int, p: Ints, w: Ints, h: Ints) -> Ints:
    """Bound the places of one channel, its columns modulo the stride one after the other."""
    places = np.zeros(len(p), np.int64)
    for k in range(min(step, columns.shape[1])):
        part = columns[:, k::step]
        part = part[:, part[0] > 0]
        if part.size:
            places += _in_chains(part[0], part[1], p, w, h)
    return places


def _in_chains(d: Ints, r: Ints, p: Ints, w: Ints, h: Ints) -> Ints:
    """Bound them: the tallest column meets all slices, or every column the same slice; whichever is more."""
    # q positions of a column and a slice of d offsets, in r classes modulo the stride, reach r q + d - r places or
    # more.
    gain = d - r
    # columns on one side of the tallest take the first slice, those on the other side the last
    best = r.sum() * h + gain.sum() + min(r[0], r[-1]) * (p - h) + min(gain[0], gain[-1]) * (w - 1)
    for b in range(len(d)):
        best = np.maximum(best, r[b] * p + gain[b] * w + (d.sum() - d[b]))
    return np.asarray(best, np.int64)


# Sources of neurons that lie in several groups of channels, from those of one group.


def shared_out(of_positions: Ints, features: int, groups: int) -> Ints:
    """Share n neurons out among groups that have no source in common, in the best way."""
    # of_positions: sources that p neurons of one feature read at least, in any group
    # features: features of a group, at most; n of its neurons lie at n / features positions or more
    # gives sources that n neurons read at least
    # shapes: of_positions (m + 1,); returns (m + 1,)
    n = np.arange(len(of_positions))
    least: Ints = np.maximum.accumulate(of_positions[-(-n // features)])
    if groups > 1:
        for k in range(2, len(least)):
            least[k] = min(int(least[k]), int((least[1:k] + least[k - 1 : 0 : -1]).min()))
    return least
