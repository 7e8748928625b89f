"""Defects as tables: of a chip file, of a program's header, or of a TOML file of their own.

``docs/chip-file.md`` is the reference of the format.
"""

from __future__ import annotations

from pathlib import Path

from neuromap.errors import ChipError
from neuromap.files.given import path_given
from neuromap.files.messages import show, show_name
from neuromap.files.toml_file import read_toml
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.defects import Defects

__all__ = ["DEFECT_KEYS", "defects_document", "defects_from_table", "load_defects"]

DEFECT_KEYS = {"cores": ("x", "y"), "routers": ("x", "y"), "links": ("x", "y", "x2", "y2")}
"""Keys of the table ``[defects]``, and the integers of one entry."""

MAX_FILE_BYTES = 1 << 24
"""Room for every core of a board of a million cores."""


def load_defects(path: str | Path) -> Defects:
    """Read a file of defects.

    Parameters
    ----------
    path : str or Path
        TOML with ``format = 1`` and the keys ``cores``, ``routers`` and ``links``, each optional.

    Returns
    -------
    Defects
        Join them with a chip by :meth:`neuromap.hardware.chip.chip_spec.ChipSpec.with_defects`, which asks whether
        they lie on its board.

    Raises
    ------
    ChipError
        If the file cannot be read or breaks the format: one line with file, key and value.
    """
    path = path_given("load_defects", path, ChipError)
    origin = show_name(str(path))
    try:
        document = read_toml(Path(path), "defects file", MAX_FILE_BYTES, ChipError)
        top = TomlTable(document, "", ChipError)
        top.check_format(1, "defects file")
        top.allow(("format", *DEFECT_KEYS))
        return defects_from_table(top)
    except ChipError as error:
        raise ChipError(f"{origin}: {error}") from None


def defects_from_table(table: TomlTable) -> Defects:
    """Check a table of defects."""
    cores, routers, links = (_entries(table, key) for key in DEFECT_KEYS)
    for i, (x, y, x2, y2) in enumerate(links):
        if abs(x - x2) + abs(y - y2) != 1:
            raise ChipError(
                f"{table.key_path('links')}[{i}]: found {show([x, y, x2, y2])}; allowed are cores side by side: "
                "x and x2, or y and y2, differ by 1 and the others are equal"
            )
    return Defects(
        cores=tuple((x, y) for x, y in cores),
        routers=tuple((x, y) for x, y in routers),
        links=tuple(((x, y), (x2, y2)) for x, y, x2, y2 in links),
    )


def _entries(table: TomlTable, key: str) -> list[list[int]]:
    names = DEFECT_KEYS[key]
    value = table.values.get(key, [])
    allowed = f"[{', '.join(names)}], integers from 0"
    if not isinstance(value, list):
        raise table.wrong(key, f"is a list of {allowed}")
    for i, entry in enumerate(value):
        if (
            not isinstance(entry, list)
            or len(entry) != len(names)
            or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in entry)
        ):
            raise ChipError(f"{table.key_path(key)}[{i}]: found {show(entry)}; allowed is {allowed}")
    return value


def defects_document(defects: Defects) -> dict[str, list[list[int]]]:
    """Return defects as the table of a file."""
    document = {
        "cores": [list(core) for core in defects.cores],
        "routers": [list(router) for router in defects.routers],
        "links": [[*one, *other] for one, other in defects.links],
    }
    return {key: entries for key, entries in document.items() if entries}
