"""A program or network written for another tool, and what of it the tool takes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.exchange.imported import Note
from neuromap.forms.formed import Formed

__all__ = ["Exported"]


@dataclass(frozen=True, eq=False)
class Exported(Formed):
    """What an export gives: the content of its files, not yet written, with a summary.

    Attributes
    ----------
    name : str
        Of the network or program.
    format : str
        As :data:`neuromap.exchange.formats.EXPORT_FORMATS` calls it.
    contents : mapping of str to str or bytes
        Content of every file by its name in the folder that is written; the only one of a format that is one file.
    figures : mapping of str to int or str
        What was written, in numbers: names with units, as the summary prints them.
    kept, approximated, refused : tuple of Note
        What the tool is given exactly; what it computes otherwise; what it has no place for, with a way out. A source
        of which nothing can be written is refused with an error instead.
    """

    name: str
    format: str
    contents: Mapping[str, str | bytes]
    figures: Mapping[str, int | str] = field(default_factory=dict)
    kept: tuple[Note, ...] = ()
    approximated: tuple[Note, ...] = ()
    refused: tuple[Note, ...] = ()

    _called = "an export"

    def __post_init__(self) -> None:
        object.__setattr__(self, "contents", ReadOnlyMapping(self.contents))
        object.__setattr__(self, "figures", ReadOnlyMapping(self.figures))

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "format": self.format,
            "files": ", ".join(self.contents),
            **self.figures,
            "kept": len(self.kept),
            "approximated": len(self.approximated),
            "refused": len(self.refused),
        }
