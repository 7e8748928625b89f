"""The folder that figures are written to: made where it is missing, and taken away where they fail."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from neuromap.errors import InputError

KINDS = ("network", "window", "timeline", "chip", "neurons", "copies", "spikes", "links", "raster")
"""What the figures of patterns and rows show: ends of their names."""
_ALONE = ("overview", "accuracy", "faults")
_SUFFIXES = (".svg", ".pdf")


@contextmanager
def figure_folder(folder: str | Path | None, names: Iterable[str] = ()) -> Iterator[None]:
    """Make a folder where it is missing, and take it away again with its figures if what follows fails."""
    # folder: ``None`` for none
    made = None
    if folder is not None and not (place := check_figure_folder(folder)).exists():
        try:
            place.mkdir()
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
        made = place
    try:
        yield
    except BaseException:
        if made is not None:
            with suppress(OSError):  # what failed is to be heard of, and nothing else that lies there is touched
                for name in names:
                    (made / name).unlink(missing_ok=True)
                made.rmdir()
        raise


def check_figure_folder(folder: str | Path) -> Path:
    """Refuse what is no folder and cannot become one."""
    place = Path(folder)
    try:
        if not str(folder):
            raise InputError(f"{str(folder)!r}: is not a folder; give it a name")
        if "\0" in str(folder):
            raise InputError(f"{str(folder)!r}: is not a folder (the name holds a null character)")
        if place.exists() and not place.is_dir():
            raise InputError(f"{folder}: is a file; give the name of a folder")
        if not place.exists() and not place.parent.is_dir():
            raise InputError(f"{folder}: cannot be made, folder {place.parent} does not exist; create it first")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: is not a folder ({error})") from None
    return place


def check_no_figure(path: str | Path, folder: str | Path) -> None:
    """Refuse a file that a figure may be written over; asked before it is known which figures there will be."""
    try:
        place, figures = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    except (OSError, ValueError):  # no path; whoever opens it says so
        return
    stem, suffix = place.stem.casefold(), place.suffix.casefold()
    may_be = suffix in _SUFFIXES and (stem in _ALONE or stem.endswith(tuple(f"-{kind}" for kind in KINDS)))
    if place.parent == figures and may_be:
        raise InputError(
            f"{path}: may be the name of a figure in {folder}; give a file in another folder, or one whose name ends "
            f"in another way than {place.name!r}"
        )
