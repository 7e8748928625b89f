"""Texts of an HDF5 file, read where its global heap holds them (HDF5 File Format Specification 3.0, III.E).

A text of any length is stored as its length, the address of a collection and its number there. The HDF5 library makes
room for whatever length is stated, before it looks; this reader looks first.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from neuromap.errors import InputError

__all__ = ["GlobalHeap"]

_REFERENCE = struct.Struct("<IQI")
_COLLECTION = struct.Struct("<4sB3xQ")
_MOST = 2**26
"""Bytes of all texts of a dataset: many references may lead to one."""
_OBJECT = struct.Struct("<HH4xQ")


class GlobalHeap:
    """The collections of a file, each looked through once.

    Parameters
    ----------
    stream : BinaryIO
        The file.
    size : int
        Its bytes.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._size = stream, size
        self._collections: dict[int, dict[int, tuple[int, int]]] = {}

    def texts(self, offset: int, count: int, longest: int, where: str) -> list[bytes]:
        """Read the texts of a dataset.

        Parameters
        ----------
        offset : int
            Where its references begin in the file.
        count : int
            Texts.
        longest : int
            Bytes of a text at most, four for each character.
        where : str
            The dataset, for messages.

        Raises
        ------
        InputError
            If a reference leads nowhere, or to a text that is too long.
        """
        references = self._read(offset, count * _REFERENCE.size, where)
        found: list[bytes] = []
        total = 0
        for length, address, number in _REFERENCE.iter_unpack(references):
            if not length:
                found.append(b"")
                continue
            place, size = self._objects(address, where).get(number, (0, -1))
            if length > size:
                raise InputError(f"{where}: holds a text that leads nowhere; write the file anew")
            total += length
            if length > 4 * longest or total > _MOST:
                raise InputError(f"{where}: holds {total} bytes of text; at most {min(4 * longest, _MOST)} are allowed")
            found.append(self._read(place, length, where).rstrip(b"\0"))
        return found

    def _objects(self, address: int, where: str) -> dict[int, tuple[int, int]]:
        """Look through a collection: place and bytes of every object by its number."""
        known = self._collections.get(address)
        if known is not None:
            return known
        sign, version, size = _COLLECTION.unpack(self._read(address, _COLLECTION.size, where))
        end = address + size
        if sign != b"GCOL" or version != 1 or end > self._size:
            raise InputError(f"{where}: holds a text that leads nowhere; write the file anew")
        found: dict[int, tuple[int, int]] = {}
        place = address + _COLLECTION.size
        while place + _OBJECT.size <= end:
            number, _, length = _OBJECT.unpack(self._read(place, _OBJECT.size, where))
            if not number or place + _OBJECT.size + length > end:
                break  # object 0 is the room that is left
            found[number] = (place + _OBJECT.size, length)
            place += _OBJECT.size + (length + 7) // 8 * 8
        self._collections[address] = found
        return found

    def _read(self, offset: int, count: int, where: str) -> bytes:
        if not 0 <= offset <= offset + count <= self._size:
            raise InputError(f"{where}: lies beyond the end of the file; write it anew")
        self._stream.seek(offset)
        return self._stream.read(count)
