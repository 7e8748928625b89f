"""What a script of another simulator left, as an import with a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from neuromap.files.messages import counted
from neuromap.render.numbers import joules, seconds

if TYPE_CHECKING:
    from neuromap.backends.imported import Imported as FromScript
    from neuromap.exchange.imported import Imported


def import_of_script(format: str, script: Path, found: FromScript) -> Imported:
    """Give the network of a script as an import, with what its run told as notes."""
    from neuromap.exchange.imported import Imported, Note
    from neuromap.quantise.quantisation import read_quantisation

    run = found.figures["report"]
    notes = [
        Note("groups", _named(found.figures["groups"])),
        Note("sources", _named(found.figures["sources"])),
        Note(
            "run",
            f"{counted(run['spikes'], 'spike')} in {counted(run['ticks'], 'tick')}, {seconds(run['model_seconds'])} of "
            f"the model and {seconds(run['chip_seconds'])} of {run['chip']}",
        ),
    ]
    if run["is_exact"]:
        notes.append(Note("chip", "gave exactly the spikes of the network in integers"))
    if run["joules"] is not None:
        notes.append(Note("energy", f"{joules(run['joules'])} in that run, by the figures that the chip file has"))
    return Imported(
        network=found.network,
        format=format,
        source=str(script),
        kept=tuple(note for note in notes if note.text),
        quantisation=read_quantisation(run["quantisation"]),
    )


def _named(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({counted(size, 'neuron')})" for name, size in sizes.items())
