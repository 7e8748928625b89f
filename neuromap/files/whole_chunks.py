"""Chunks of HDF5 datasets that hold all the bytes that they stand for.

Where a damaged file stores fewer, HDF5 (2.0) fills the rest of the chunk with whatever was in that memory before: other
numbers in every run, and bytes of other data. So every chunk is unpacked once before, for its length.
"""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h5py

# Filters of HDF5 by their registered numbers.
_GZIP, _SHUFFLE, _FLETCHER32, _LZF = 1, 2, 3, 32000
# What ``has_whole_chunks`` can unpack, in the words of HDF5.
FILTERS = {_GZIP: "gzip", _SHUFFLE: "shuffle", _FLETCHER32: "fletcher32", _LZF: "lzf"}


def has_whole_chunks(data: h5py.Dataset) -> bool:
    """Whether every stored chunk has its full length, packed with :data:`FILTERS` or not at all."""
    if not data.chunks:
        return True
    plan = data.id.get_create_plist()
    found: list[h5py.h5d.StoreInfo] = []
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    each = data.dtype.itemsize
    if data.dtype.kind == "O":  # a length, and the place of the values: an address and a number
        each = 8 + data.file.id.get_create_plist().get_sizes()[0]
    whole = math.prod(data.chunks) * each
    data.id.chunk_iter(found.append)  # one that is not stored has the fill value
    for chunk in found:
        if not filters:  # where HDF5 says whole, whatever is stored
            if chunk.size != whole:
                return False
            continue
        mask, packed = data.id.read_direct_chunk(chunk.chunk_offset)
        used = [filter_ for k, filter_ in enumerate(filters) if not mask >> k & 1]
        if len(packed) != chunk.size or _unpacked_length(packed, used, whole) != whole:
            return False
    return True


def _unpacked_length(packed: bytes, filters: list[int], whole: int) -> int:
    """Length of a chunk before these filters, the last of which packed it; -1 where it cannot be unpacked."""
    for k in reversed(range(len(filters))):
        if filters[k] == _FLETCHER32:
            packed = packed[:-4]
        elif filters[k] == _GZIP:
            try:
                packed = zlib.decompressobj().decompress(packed, whole + 5)
            except zlib.error:
                return -1
        elif filters[k] == _LZF:
            return -1 if {*filters[:k]} - {_SHUFFLE} else _length_of_lzf(packed)
        elif filters[k] != _SHUFFLE:
            return -1
    return len(packed)


def _length_of_lzf(packed: bytes) -> int:
    """Sum the runs of an LZF stream: a byte below 32 begins so many and one more literal bytes, others a copy."""
    at = length = 0
    while at < len(packed):
        control = packed[at]
        if control < 32:
            at, length = at + control + 2, length + control + 1
            continue
        extra = packed[at + 1] if control >> 5 == 7 and at + 1 < len(packed) else 0
        at, length = at + 2 + (control >> 5 == 7), length + (control >> 5) + extra + 2
    return length
