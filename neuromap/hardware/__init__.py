"""Chips, programs, their files, and the checker of a program against its chip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "ChipSpec": "chip.chip_spec",
    "Defects": "chip.chip_spec",
    "Program": "neuromap.cores.crossbar.program",
    "check_program": "checker",
    "list_chips": "chip.chip_file",
    "load_chip": "chip.chip_file",
    "load_defects": "chip.chip_document",
    "load_program": "program_file",
    "route_difference": "program.chip_program",
    "walk_routes": "program.chip_program",
}

if TYPE_CHECKING:
    from neuromap.cores.crossbar.program import Program as Program
    from neuromap.hardware.checker import check_program as check_program
    from neuromap.hardware.chip.chip_document import load_defects as load_defects
    from neuromap.hardware.chip.chip_file import list_chips as list_chips
    from neuromap.hardware.chip.chip_file import load_chip as load_chip
    from neuromap.hardware.chip.chip_spec import ChipSpec as ChipSpec
    from neuromap.hardware.chip.chip_spec import Defects as Defects
    from neuromap.hardware.program.chip_program import route_difference as route_difference
    from neuromap.hardware.program.chip_program import walk_routes as walk_routes
    from neuromap.hardware.program_file import load_program as load_program

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
