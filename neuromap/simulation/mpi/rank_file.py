"""A program file for ranks: one of them checks it, and each reads what is its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

from neuromap.errors import ProgramError
from neuromap.files.messages import show_name
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program_file import map_program
from neuromap.simulation.mpi.exchange import Exchange

_STAMP_BYTES = 6
"""As many as a float holds."""
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 14
"""Pieces of a file that are compared, and their length."""


def load_on_ranks(path: str | Path, exchange: Exchange) -> ChipProgram:
    """Open a program file on all ranks; each calls this."""
    # The file is mapped into memory, and nothing of it is copied before a rank takes out its cores. Rank 0 checks all
    # of it, as :func:`neuromap.load_program` does, while the others wait. What a rank takes out is asked again for all
    # that could make an engine read or write past an array.
    # path: the same file, or one of the same bytes. It must not be changed while the ranks run
    program = map_program(path, check=exchange.rank == 0)
    mine = _stamp(Path(path))
    if exchange.agree(mine) != mine:
        raise ProgramError(f"{show_name(str(path))}: is another program than on rank 0; give all ranks the same file")
    return program


def _stamp(path: Path) -> float:
    """Tell files apart by their size and samples; a small file is read as a whole."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        digest = hashlib.blake2b(str(size).encode(), digest_size=_STAMP_BYTES)
        for k in range(_SAMPLES):
            file.seek(size * k // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
    return float(int.from_bytes(digest.digest(), "little"))
