"""A program file for ranks: one of them checks it, and each reads what is its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

from neuromap.errors import ProgramError
from neuromap.files.messages import show_name
from neuromap.hardware.load.load_program import map_program
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.ranks.exchange import Exchange

__all__ = ["load_on_ranks"]

_STAMP_BYTES = 6
"""As many as a float holds."""


def load_on_ranks(path: str | Path, exchange: Exchange) -> ChipProgram:
    """Open a program file on all ranks; each calls this.

    The file is mapped into memory, and nothing of it is copied before a rank takes out its cores. Rank 0 checks all of
    it, as :func:`neuromap.load_program` does, while the others wait. What a rank takes out is asked again for all that
    could make an engine read or write past an array.

    Parameters
    ----------
    path : str or Path
        The same file, or one of the same bytes. It must not be changed while the ranks run.
    exchange : Exchange
        To the other ranks.

    Returns
    -------
    ChipProgram
        The whole one.

    Raises
    ------
    ProgramError
        As :func:`neuromap.load_program`; also if a rank finds another file than rank 0.
    """
    program = map_program(path, check=exchange.rank == 0)
    mine = _stamp(program, Path(path))
    if exchange.agree(mine) != mine:
        raise ProgramError(f"{show_name(str(path))}: is another program than on rank 0; give all ranks the same file")
    return program


def _stamp(program: ChipProgram, path: Path) -> float:
    """Tell files apart by their size, their head (names, shapes and places of tensors, chip, nodes) and some rows."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        digest = hashlib.blake2b(file.read(length), digest_size=_STAMP_BYTES)
    for table in (program.coordinates, program.host.core, program.host.axon, program.outputs.core):
        digest.update(table.tobytes())
    return float(int.from_bytes(digest.digest(), "little"))
