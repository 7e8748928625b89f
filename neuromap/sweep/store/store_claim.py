"""``StoreClaim``: of all commands that are given one store, one writes it."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from neuromap.errors import InputError

__all__ = ["StoreClaim"]


class StoreClaim:
    """The right to write a store, held until it is released or the process ends, however it ends."""

    # It is a lock of SQLite on an empty file beside the store, ``FILE-lock``, since every system takes such a lock away
    # with the process that held it; a lock on the store itself would keep readers out. A file that a killed command
    # left is locked by nobody.

    def __init__(self, store: Path) -> None:
        self._path = store.absolute().with_name(f"{store.name}-lock")
        self._lock = sqlite3.connect(self._path, timeout=0, isolation_level=None)
        try:
            self._lock.execute("PRAGMA journal_mode = OFF")  # nothing is ever written
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._lock.close()
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            raise InputError(
                f"store {store}: another command writes it (it holds {self._path.name}); wait until that has ended, "
                "or give another file"
            ) from None

    def release(self) -> None:
        """Let others write the store."""
        with suppress(OSError):  # as where a system keeps open files; the next command takes it as it is
            self._path.unlink()
        self._lock.close()
