"""A file from another tool as a network, with a summary."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any, cast

from neuromap.errors import InputError
from neuromap.exchange.formats import IMPORT_FORMATS, format_named
from neuromap.exchange.imported import Imported
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["import_file"]


def import_file(
    path: str | Path, format: str | None = None, *, chip: str | Path | ChipSpec | None = None, **options: Any
) -> Imported:
    """Take over a network from a file of another tool. A file is data: nothing in it is executed.

    Parameters
    ----------
    path : str or Path
        The file.
    format : str or None
        Of :data:`~neuromap.exchange.formats.IMPORT_FORMATS`; by default as the suffix says.
    chip : str, Path, ChipSpec or None
        Into whose integers float neurons are put, and by whose cores an estimate counts; by default as the format does.
    **options
        Further ones of the format's function, such as ``dt`` and ``tool`` of NIR.

    Returns
    -------
    Imported

    Raises
    ------
    InputError
        If there is no such format, option or file, or the file is not what its format says: truncated, too large,
        malformed.
    NotSupportedError
        If a package is missing, or nothing of the file can be taken over.
    NetworkError
        If what the file says is no network.
    """
    suffix = Path(path).suffix.lower()
    name = format or next((name for name, known in IMPORT_FORMATS.items() if suffix in known.suffixes), None)
    if name is None:
        known = ", ".join(f"{s} ({n})" for n, f in IMPORT_FORMATS.items() for s in f.suffixes)
        raise InputError(f"{path}: suffix {suffix!r} is that of no format; known are {known}; or name the format")
    spec = None if chip is None else load_chip(chip)
    function = format_named(name, IMPORT_FORMATS).load()
    taken = list(signature(function).parameters)[1:]
    for option in options:
        if option not in taken:
            raise InputError(f"format {name}: takes no {option}; it takes {', '.join(taken)}")
    return cast("Imported", function(Path(path), chip=spec, **options))
