"""Load chips by name or path: those packaged with neuromap, and the user's own files.

``docs/chip-file.md`` is the reference of the format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from neuromap.errors import ChipError, prefixed
from neuromap.files.argument_checks import mapping_given
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.files.toml_table import parse_toml, read_toml
from neuromap.hardware.chip.chip_document import chip_document, chip_from_document, keys_of_tables
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.registry import Registry, imported

# A chip file is a page of text; anything longer is another kind of file.
MAX_FILE_BYTES = 1 << 20


def load_chip(chip: str | Path | ChipSpec, figures: Mapping[str, Any] | None = None) -> ChipSpec:
    """Load a chip by name or from a file, or check one made in Python.

    Parameters
    ----------
    chip : str, Path or ChipSpec
        The name of a packaged chip ("truenorth"), or a path: a ``Path``, or a string that holds a path
        separator or ends with ``.toml``. A ``ChipSpec`` is checked by the same rules and returned.
    figures : mapping of str to value, optional
        Figures that replace its own, such as ``{"core.axons": 512}``; see
        :func:`neuromap.hardware.chip.chip_file.with_figures`.

    Returns
    -------
    ChipSpec

    Raises
    ------
    ChipError
        If no chip of that name is packaged, or the file cannot be read or breaks the format; if a figure is unknown
        or out of range.
    NotSupportedError
        If the chip is valid but of a kind that neuromap does not map to (``targets_per_neuron`` above 1).

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
    known, chip = _known_chips(), str(chip)
    if chip not in known:
        where = "; a file needs its path, as in ./" + show_name(chip) if _is_file(chip) else ""
        raise ChipError(
            f"chip {show(chip)}: is not known; known are {', '.join(known)}, or give the path of a chip file "
            f"(.toml){where}{did_you_mean(chip, known)}"
        )
    return known[chip]


def is_chip_path(chip: str | Path) -> bool:
    """Tell the path of a chip file from the name of a packaged chip; see :func:`load_chip`."""
    return isinstance(chip, Path) or "/" in chip or "\\" in chip or chip.endswith(".toml")


def list_chips() -> tuple[ChipSpec, ...]:
    """Return the chips that come with neuromap, ordered by name, then those of other installed packages.

    Returns
    -------
    tuple of ChipSpec
    """
    return tuple(_known_chips().values())


def chip_names() -> tuple[str, ...]:
    """Return the names of all known chips, without reading their files."""
    return tuple(_known_chips())


def chip_text(name: str) -> str:
    """Return the text of a chip file, by name or path, with its comments."""
    _load(name)  # refuses unknown names and invalid files
    if is_chip_path(name):
        return Path(name).read_text(encoding="utf-8")
    return (files(str(_known_chips().reference(name))) / f"{name}.toml").read_text(encoding="utf-8")


@cache
def _known_chips() -> Registry[ChipSpec]:
    """Return the registry of packaged chip files, by name."""
    ours = sorted(f.name.removesuffix(".toml") for f in files("hardware_models").iterdir() if f.name.endswith(".toml"))
    return Registry("chip", "neuromap.chips", dict.fromkeys(ours, "hardware_models"), ChipError, made=_in_package)


def _in_package(name: str, package: str) -> ChipSpec:
    """Read ``NAME.toml`` of a package."""
    imported(f"chip {name}", package, ChipError)
    file, origin = files(package) / f"{name}.toml", f"{package}/{name}.toml"
    if not file.is_file():
        raise ChipError(f"chip {name}: {package} has no {name}.toml; docs/plugins.md says what it needs")
    chip = chip_from_document(parse_toml(file.read_bytes(), ChipError), origin)
    if chip.name != name:
        raise ChipError(f"{origin}: name: found {show(chip.name)}; a packaged chip is named as its file, {name}")
    return chip


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _read_chip_file(path: Path) -> ChipSpec:
    origin = show_name(str(path))
    with prefixed(f"{origin}: ", ChipError):
        document = read_toml(path, "chip file", MAX_FILE_BYTES, ChipError)
    return chip_from_document(document, origin)


# Chips with other figures than their file's: one chip, or a chip for every combination of several values.
#
# Figures are named as in chip files, ``table.key``, and obey the same rules (``docs/chip-file.md``).


# Most chips made from one: nobody reads a longer table.
MOST_CHIPS = 256
_LONGEST_NAME = 100
_LONGEST_TEXT = 4000


class ChipPoint(NamedTuple):
    """A chip, and the values that were set to make it."""

    values: tuple[Any, ...]  # as given, one per figure
    chip: ChipSpec  # the chip


def with_figures(chip: ChipSpec, figures: Mapping[str, Any]) -> ChipSpec:
    """Return a chip with other figures.

    Parameters
    ----------
    chip : ChipSpec
        The chip to change.
    figures : mapping of str to value
        New values by their names in chip files, such as ``{"core.axons": 512}``: whole numbers, numbers, texts,
        booleans or lists, as in the file.

    Returns
    -------
    ChipSpec
        Named after the figures that differ: ``"truenorth with core.axons = 512"``. The chip itself if none does.

    Raises
    ------
    ChipError
        If no chip file has such a figure, or the new chip breaks a rule of chip files.
    NotSupportedError
        If neuromap does not map to such a chip.
    """
    mapping_given(f"chip {chip.name}: figures", figures, "{'core.axons': 512}", ChipError)
    figures = {name: _plain(value) for name, value in figures.items()}
    document = before = chip_document(chip)
    for name, value in figures.items():
        table, key = _parts_of(name, chip)
        document = {**document, table: {**document.get(table, {}), key: value}}
    made = chip_from_document(document, f"chip {_name(chip, figures)}")
    after = chip_document(made)
    changed = {name: value for name, value in figures.items() if _figure(after, name) != _figure(before, name)}
    if not changed:
        return chip
    # its file no longer describes it
    source = f"set for a trial: {_words(changed)}" + (f"; all others: {chip.source}" if chip.source else "")
    description = f"{chip.name}, but with {_words(changed)}"[:_LONGEST_TEXT]
    return replace(made, name=_name(chip, changed), description=description, source=source[:_LONGEST_TEXT])


def chips_with_figures(chip: ChipSpec, figures: Mapping[str, Sequence[Any]]) -> tuple[ChipPoint, ...]:
    """Make a chip for every combination of values."""
    # chip: the chip to change
    mapping_given(f"chip {chip.name}: figures", figures, "{'core.axons': [256, 512]}", ChipError)
    values = [_distinct(name, given) for name, given in figures.items()]
    if (number := prod(map(len, values))) > MOST_CHIPS:
        raise ChipError(
            f"chip {chip.name}: the values of {', '.join(figures)} make {number} chips; at most {MOST_CHIPS} are "
            "allowed, so give fewer values"
        )
    return tuple(
        ChipPoint(point, with_figures(chip, dict(zip(figures, point, strict=True)))) for point in product(*values)
    )


def figure_text(value: Any) -> str:
    """Format the value of a figure for a table: texts without quotes, the rest as in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return value if isinstance(value, str) else show(value)


def _parts_of(name: object, chip: ChipSpec) -> tuple[str, str]:
    """Split the name of a figure into table and key; refuse one that no chip file has."""
    figures = [f"{table}.{key}" for table, keys in keys_of_tables(chip.kind).items() for key in keys]
    if name not in figures:
        table = str(name).partition(".")[0]
        near = [known for known in figures if known.startswith(f"{table}.")]
        tables = list(dict.fromkeys(known.partition(".")[0] for known in figures))
        allowed = ", ".join(near) if near else f"table.key, of the tables {', '.join(tables)}"
        ending = [known for known in figures if known.endswith(f".{name}")]
        meant = f"; did you mean {ending[0]!r}?" if ending else did_you_mean(str(name), near or figures)
        raise ChipError(f"figure {show(name)}: chip files have none of this name; allowed are {allowed}{meant}")
    table, _, key = str(name).partition(".")
    return table, key


def _plain(value: Any) -> Any:
    """Convert NumPy numbers, arrays and tuples to what chip files hold."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [_plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def _figure(document: Mapping[str, Any], name: str) -> Any:
    table, _, key = name.partition(".")
    return document.get(table, {}).get(key)


def _distinct(name: str, values: Any) -> list[Any]:
    """Deduplicate the values of a figure; 1, true and 1.0 are distinct."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ChipError(f"figure {name}: found {show(values)}; give a list of its values")
    found = list({repr(value): value for value in map(_plain, values)}.values())
    if not found:
        raise ChipError(f"figure {name}: has no value; give one or several")
    return found


def _name(chip: ChipSpec, figures: Mapping[str, Any]) -> str:
    """Name a chip after its figures or, if that is too long, after their number with a digest."""
    words = _words(figures)
    name = f"{chip.name} with {words}"
    if len(name) <= _LONGEST_NAME and name.isprintable():
        return name
    digest = hashlib.sha256(repr(sorted(figures.items())).encode()).hexdigest()[:8]
    tail = f" with {len(figures)} other figure{'s' * (len(figures) != 1)} ({digest})"
    return chip.name[: _LONGEST_NAME - len(tail)] + tail


def _words(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {figure_text(value)}" for name, value in figures.items())
