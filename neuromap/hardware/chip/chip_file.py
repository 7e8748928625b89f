"""Chips by name or path: those that come with neuromap, and files of one's own.

``docs/chip-file.md`` is the reference of the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from neuromap.errors import ChipError
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.files.toml_file import parse_toml, read_toml
from neuromap.hardware.chip.chip_document import chip_document, chip_from_document
from neuromap.hardware.chip.chip_figures import with_figures
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["is_chip_path", "list_chips", "load_chip"]

MAX_FILE_BYTES = 1 << 20
"""A chip file is a page of text; anything longer is another kind of file."""


def load_chip(chip: str | Path | ChipSpec, figures: Mapping[str, Any] | None = None) -> ChipSpec:
    """Read a chip by name, from a file, or check one that was made in Python.

    Parameters
    ----------
    chip : str, Path or ChipSpec
        The name of a packaged chip ("truenorth"), or a path: a ``Path``, or a string that holds a path
        separator or ends with ``.toml``. A ``ChipSpec`` is checked by the same rules and returned.
    figures : mapping of str to value, optional
        Figures that take the place of its own, such as ``{"core.axons": 512}``; see
        :func:`neuromap.hardware.chip.chip_figures.with_figures`.

    Returns
    -------
    ChipSpec

    Raises
    ------
    ChipError
        If no chip of that name is packaged, or the file cannot be read or breaks the format; if a figure is unknown
        or out of range.
    NotSupportedError
        If the chip is well described but of a kind that neuromap does not map to
        (``targets_per_neuron`` above 1).

    Examples
    --------
    >>> from neuromap import load_chip
    >>> load_chip("truenorth", {"core.axons": 512}).name
    'truenorth with core.axons = 512'
    """
    spec = _load(chip)
    return spec if figures is None else with_figures(spec, figures)


def _load(chip: str | Path | ChipSpec) -> ChipSpec:
    if isinstance(chip, ChipSpec):
        chip_from_document(chip_document(chip), f"chip {chip.name}")
        return chip
    if not isinstance(chip, (str, Path)):
        raise ChipError(f"chip {show(chip)}: needs a name such as truenorth, a path or a ChipSpec")
    if is_chip_path(chip):
        return _read_chip_file(Path(chip))
    packaged = _packaged_chips()
    chip = str(chip)
    if chip not in packaged:
        where = "; a file needs its path, as in ./" + show_name(chip) if _is_file(chip) else ""
        raise ChipError(
            f"chip {show(chip)}: is not known; known are {', '.join(packaged)}, or give the path of a chip file "
            f"(.toml){where}{did_you_mean(chip, packaged)}"
        )
    return packaged[chip]


def is_chip_path(chip: str | Path) -> bool:
    """Tell the path of a chip file from the name of a packaged chip; see :func:`load_chip`."""
    return isinstance(chip, Path) or "/" in chip or "\\" in chip or chip.endswith(".toml")


def list_chips() -> tuple[ChipSpec, ...]:
    """Return the chips that come with neuromap, ordered by name.

    Returns
    -------
    tuple of ChipSpec
    """
    return tuple(_packaged_chips().values())


@cache
def _packaged_chips() -> Mapping[str, ChipSpec]:
    files = [f for f in resources.files("hardware_models").iterdir() if f.name.endswith(".toml")]
    chips = [chip_from_document(parse_toml(f.read_bytes(), ChipError), f"hardware_models/{f.name}") for f in files]
    return {chip.name: chip for chip in sorted(chips, key=lambda chip: chip.name)}


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _read_chip_file(path: Path) -> ChipSpec:
    origin = show_name(str(path))
    try:
        document = read_toml(path, "chip file", MAX_FILE_BYTES, ChipError)
    except ChipError as error:
        raise ChipError(f"{origin}: {error}") from None
    return chip_from_document(document, origin)
