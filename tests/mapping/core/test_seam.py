"""The seam of core models: which rooms of the mapper read a chip; the stages between ask a core alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import neuromap
from neuromap.hardware.chip.chip_spec import Defects
from neuromap.mapping.core.core_of import core_of, cores_of

MAPPING = Path(neuromap.__file__).parent / "mapping"
CHIP = "neuromap.hardware.chip"
MAY_READ_A_CHIP = {
    "map_rollout",
    "asked",  # pins lie on the board
    "bounds",
    "core/core_of",  # the seam itself
    "core/refuse_spiking",  # the chip's name
    "emit/emit",  # the program is for a chip
    "legalise",  # delays
    "lists",  # limits of many-target cores, whose stages these are
    "partition/choose_phases",  # delays, and whether neurons have one target
    "partition/partition_rollout",  # from the chip to its delays and cores
    "partition/schedule",  # delays
    "place",  # the board
    "remedy",  # figures of the chip that a remedy changes
    "wide",  # widths of thresholds, potentials and weights
}


def imports_a_chip(tree: ast.Module) -> bool:
    """Whether a module imports something of the chip's folder, anywhere in it."""
    found = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return any(name == CHIP or name.startswith(f"{CHIP}.") for name in found)


def test_only_the_rooms_that_may_read_a_chip_do():
    readers = {
        path.relative_to(MAPPING).with_suffix("").as_posix()
        for path in MAPPING.rglob("*.py")
        if imports_a_chip(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert not {name for name in readers if not {name, name.split("/")[0]} & MAY_READ_A_CHIP}
    rooms = readers | {name.split("/")[0] for name in readers}
    assert rooms >= MAY_READ_A_CHIP  # the list is no longer than it has to be


@pytest.mark.parametrize(
    "line", [f"from {CHIP}.chip_spec import ChipSpec", f"import {CHIP}", f"def f():\n    from {CHIP} import ChipSpec"]
)
def test_the_check_finds_what_it_looks_for(line):
    assert imports_a_chip(ast.parse(line))


def test_margins_are_cores_like_any_other(chip):
    core = core_of(chip(axons=8, neurons=8, axon_types=2, potential_bits=6))
    assert core.with_neurons(5).neurons == 5
    assert core.with_ample_axons().axons > 1000 * core.axons
    assert core.with_axon_types(3).axon_types == 3
    assert core.highest_potential == 31
    assert core.without_rails().highest_potential > 2**60
    assert core == core.with_neurons(5).with_neurons(8)


def test_the_cores_of_a_board_are_counted_with_and_without_the_dead(chip):
    spec = chip(cores=(3, 2), defects=Defects(cores=((0, 0),)))
    cores = cores_of(spec)
    assert (cores.number, cores.usable, cores.model) == (6, 5, core_of(spec))
