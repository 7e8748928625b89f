"""Sealed files whose digest is made anew as docs/file-digests.md tells other programs to make it, with no code of ours.

Tests that damage such a file, and want to see what the checks behind the digest say, need it.
"""

import json
import re
import sqlite3
from contextlib import closing
from hashlib import blake2b

import pytest


@pytest.fixture(scope="session")
def resealed():
    """The file with the digest that its bytes give; one in whose header no digest is found is left as it is."""

    def resealed(data):
        head = 8 + int.from_bytes(data[:8], "little")
        found = re.search(rb'"digest":"blake2b-128:([0-9a-f]{32})"', data[:head])
        if found is None:
            return data
        first, last = found.span(1)
        blank = data[:first] + b"0" * 32 + data[last:]
        return data[:first] + blake2b(blank, digest_size=16).hexdigest().encode() + data[last:]

    return resealed


@pytest.fixture(scope="session")
def flipped_bits():
    """All files that differ from one in a single bit, each with the number of that bit."""

    def flipped_bits(data, step=1):
        flipped = bytearray(data)
        for bit in range(0, 8 * len(data), step):
            flipped[bit // 8] ^= 1 << bit % 8
            yield bit, bytes(flipped)
            flipped[bit // 8] ^= 1 << bit % 8

    return flipped_bits


@pytest.fixture(scope="session")
def bits_flipped_in_place():
    """The numbers of the bits of a file, each while that bit is flipped; afterwards the file is as it was."""

    def bits_flipped_in_place(path, step=1):
        data = path.read_bytes()
        with path.open("r+b", buffering=0) as file:  # a file that is cut and written anew is slow on some disks
            for bit in range(0, 8 * len(data), step):
                for mask in (1 << bit % 8, 0):
                    file.seek(bit // 8)
                    file.write(bytes([data[bit // 8] ^ mask]))
                    if mask:
                        yield bit

    return bits_flipped_in_place


@pytest.fixture(scope="session")
def rows_resealed():
    """Rows of a store changed by a statement of SQL, their digests made anew."""

    def rows_resealed(path, statement):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(statement)
            database.row_factory = sqlite3.Row
            database.text_factory = lambda data: data.decode(errors="surrogateescape")
            for row in database.execute("SELECT * FROM runs").fetchall():
                held = {name: value for name, value in dict(row).items() if name != "digest"}
                text = json.dumps(held, sort_keys=True, separators=(",", ":"), default=bytes.hex)
                digest = f"blake2b-128:{blake2b(text.encode(), digest_size=16).hexdigest()}"
                database.execute("UPDATE runs SET digest = ? WHERE place = ?", (digest, row["place"]))

    return rows_resealed
