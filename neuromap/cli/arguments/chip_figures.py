"""Figures of a chip as they are typed: ``--set core.axons=256,512``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from neuromap.errors import ChipError, InputError
from neuromap.files.toml_file import parse_toml
from neuromap.options import option

OTHER_FIGURES = option(
    "--set FIGURE=VALUES  Give the chip another figure, called as in chip files: core.axons=512. Of several values, "
    "with commas between, each makes a chip, and with several --set every combination: one table of all, at most 256 "
    "chips."
)


def read_figures(given: list[str] | None) -> dict[str, list[Any]]:
    """Take the values of ``--set`` apart."""
    figures: dict[str, list[Any]] = {}
    for words in given or ():
        name, sign, values = words.partition("=")
        name, parts = name.strip(), _at_commas(values)
        if not sign or not name or not all(parts):
            raise InputError(f"--set {words}: needs a figure and its values, such as core.axons=256,512")
        if name in figures:
            raise InputError(f"--set {words}: {name} is set twice; give all its values in one --set, commas between")
        figures[name] = list({repr(value): value for value in map(_value, parts)}.values())
    return figures


def is_sweep(figures: dict[str, list[Any]]) -> bool:
    """Whether they make more than one chip."""
    return any(len(values) > 1 for values in figures.values())


def one_value_each(figures: dict[str, list[Any]]) -> dict[str, Any]:
    """Give the only value of every figure."""
    return {name: values[0] for name, values in figures.items()}


def refuse_in_sweep(**given: object) -> None:
    """Refuse options that are about one chip."""
    # **given: what was typed, by the name of its option; what was not is None or False
    for name, value in given.items():
        if value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option}: is of one chip, and --set makes several; leave it away, or set one value each")


def _at_commas(text: str) -> list[str]:
    """Split at commas outside of brackets and quotation marks."""
    cuts, depth, quote = [-1], 0, ""
    for place, character in enumerate(text):
        quote = "" if character == quote else quote or (character if character in "\"'" else "")
        depth += 0 if quote else (character == "[") - (character == "]")
        if character == "," and depth <= 0 and not quote:
            cuts.append(place)
    return [text[start + 1 : end].strip() for start, end in pairwise([*cuts, len(text)])]


def _value(text: str) -> Any:
    """Read a value as in a file; what is none there is a text, which needs no quotation marks here."""
    try:
        found = parse_toml(f"value = {text}".encode(errors="replace"), ChipError)
    except ChipError:
        return text
    return found["value"] if len(found) == 1 else text
