"""A network, program or trace file as files of another tool, written whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from neuromap.errors import InputError
from neuromap.exchange.exported import Exported
from neuromap.exchange.formats import EXPORT_FORMATS, format_named
from neuromap.files.given import path_given
from neuromap.files.whole_file import write_whole
from neuromap.files.whole_folder import write_folder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from neuromap.simulation.choose_frames import RandomFrames

__all__ = ["export_file"]


def export_file(
    source: str | Path,
    format: str,
    destination: str | Path,
    *,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
    program: str | Path | None = None,
) -> Exported:
    """Write a network, program or trace for another tool: all of its files, or none.

    Parameters
    ----------
    source : str or Path
        A network, program or trace file, whichever the format is made of.
    format : str
        Of :data:`~neuromap.exchange.formats.EXPORT_FORMATS`.
    destination : str or Path
        The file; where the format is several files, their folder, which is made if it is not there.
    frames : mapping of str to array_like of shape (n_frames, size), or path, optional
        Input frames that go with a program, as :func:`neuromap.simulate` takes them, or a file of them.
    random : RandomFrames, optional
        Which random frames go with it where none are given; 32 of mixed densities by default.
    program : str or Path, optional
        The program file of a trace, for formats that show where cores are.

    Returns
    -------
    Exported
        What was written, with what was kept, approximated and refused.

    Raises
    ------
    InputError
        If there is no such format or file, the format takes no frames or no program, or the destination cannot be
        written, or holds files of another export, or a README.md of someone else.
    NotSupportedError
        If a package is missing, or the other tool has not what the source asks for.
    """
    known = format_named(format, EXPORT_FORMATS)
    path_given("export_file", source)
    options: dict[str, Any] = {}
    if known.fed:
        options = {"frames": frames, "random": random}
    elif frames is not None or random is not None:
        raise InputError(f"format {format}: holds a {known.source} without input frames; give none")
    if known.placed:
        options["program"] = program
    elif program is not None:
        raise InputError(f"format {format}: takes no program beside its {known.source} file; give none")
    found = cast("Exported", known.load()(Path(source), **options))
    if known.folder:
        _require_no_others(Path(destination), found)
        write_folder(destination, found.contents)
    else:
        (content,) = found.contents.values()
        write_whole(destination, content)
    return found


_SIGN = b"\nWritten by neuromap: "
"""Stands in every README.md of an export."""


def _require_no_others(folder: Path, found: Exported) -> None:
    """Refuse a folder in which files would be mixed with those of a larger export, or someone's text would be lost."""
    numbered = {re.sub("[0-9]+", "*", name) for name in found.contents if re.search("[0-9]", name)}
    try:
        older = sorted({path.name for pattern in numbered for path in folder.glob(pattern)} - set(found.contents))
        readme = folder / "README.md"
        is_strange = readme.is_file() and _SIGN not in readme.read_bytes()[:4096]
    except OSError:  # what cannot be read is told where it cannot be written
        return
    if older:
        raise InputError(
            f"{folder}: holds {older[0]} of another export, which would be read with these files; remove it, or name "
            "another folder"
        )
    if is_strange:
        raise InputError(f"{readme}: was not written by neuromap and would be lost; name another folder")
