"""The independent checker of a program against the rules of its chip.

It shares no code with the mapper and believes nothing that the mapper says: everything is read again from the
program and the chip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from neuromap.errors import ProgramError
from neuromap.files.given import needs
from neuromap.hardware.check import (
    arrival_rules,
    chip_rules,
    index_rules,
    list_index_rules,
    list_rules,
    mapping_rules,
)
from neuromap.hardware.check.violation import Finding, Place, Violation, dead_cores, dead_routes
from neuromap.hardware.chip.chip_spec import CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.structure import require_well_formed

__all__ = ["Place", "Violation", "check_program", "require_legal"]

_Rule = Callable[[Any], Iterator[Finding]]


class _Rules(NamedTuple):
    """What is asked of programs for one kind of core; a rule takes the program of its kind."""

    # Where a rule of ``starts`` is broken, nothing else can be asked.

    starts: tuple[_Rule, ...]
    indices: tuple[_Rule, ...]
    chip: tuple[_Rule, ...]
    mapped: tuple[_Rule, ...]


_TABLES: tuple[_Rule, ...] = (
    index_rules.labels,
    index_rules.splitters,
    index_rules.parts,
    index_rules.host_rows,
    index_rules.output_rows,
    index_rules.row_kinds,
)
_BOARD: tuple[_Rule, ...] = (chip_rules.reach, dead_cores, dead_routes)
_CROSSBAR_INDICES: tuple[_Rule, ...] = (
    index_rules.axon_types,
    index_rules.reset_modes,
    index_rules.noise_bits,
    index_rules.targets,
    index_rules.delays,
    *_TABLES,
)
_CROSSBAR_CHIP: tuple[_Rule, ...] = (
    chip_rules.coordinates,
    chip_rules.weights,
    chip_rules.leaks,
    chip_rules.thresholds,
    chip_rules.potentials,
    chip_rules.stochastic_modes,
    chip_rules.output_targets,
    *_BOARD,
)
_CROSSBAR_MAPPED: tuple[_Rule, ...] = (
    mapping_rules.chosen_periods,
    mapping_rules.axon_sources,
    mapping_rules.bias_frames,
    mapping_rules.input_labels,
    mapping_rules.output_labels,
    mapping_rules.part_targets,
    mapping_rules.unused_neurons,
    arrival_rules.arrivals,
    mapping_rules.potential_widths,
)
_LIST_INDICES: tuple[_Rule, ...] = (
    list_index_rules.synapses,
    list_index_rules.list_targets,
    list_index_rules.decays,
    list_index_rules.refractory_periods,
    list_index_rules.joins,
    *_TABLES,
    list_index_rules.host_axons,
)
_LIST_CHIP: tuple[_Rule, ...] = (
    chip_rules.coordinates,
    list_rules.axons,
    list_rules.synapse_memory,
    list_rules.output_axons,
    list_rules.weights,
    list_rules.thresholds,
    list_rules.biases,
    list_rules.initial_state,
    *_BOARD,
)
_RULES: Mapping[CoreKind, _Rules] = {
    "crossbar": _Rules((), _CROSSBAR_INDICES, _CROSSBAR_CHIP, _CROSSBAR_MAPPED),
    "synapse-list": _Rules((list_index_rules.starts,), _LIST_INDICES, _LIST_CHIP, (mapping_rules.chosen_periods,)),
}


def check_program(program: ChipProgram, *, mapped: bool | None = None, most: int = 1000) -> list[Violation]:
    """Return every way in which a program breaks the rules of its chip.

    Parameters
    ----------
    program : ChipProgram
    mapped : bool, optional
        Whether the rules of mapped programs are asked too (an axon has one source, and so on;
        ``docs/program-file.md``). By default they are asked of programs that name an execution: a program by
        hand names none and may, for example, let several neurons spike on one axon.
    most : int
        Violations that are described per rule and array; the rest is left out.

    Returns
    -------
    list of Violation
        Empty for a legal program.

    Raises
    ------
    ProgramError
        If the program is not well formed (wrong dtypes, shapes, labels or clocks), so that its rules cannot
        be asked.
    """
    needs("check_program", program, ChipProgram, ProgramError)
    return [
        finding.violation(i) for finding in _findings(program, mapped=mapped) for i in range(min(len(finding), most))
    ]


def require_legal(program: ChipProgram, *, mapped: bool | None = None, indices_only: bool = False) -> None:
    """Refuse a program that breaks a rule of its chip."""
    broken = [f for f in _findings(program, mapped=mapped, indices_only=indices_only) if len(f)]
    if not broken:
        return
    number = sum(len(finding) for finding in broken)
    more = f"; {number - 1} more violations" if number > 2 else "; 1 more violation" if number == 2 else ""
    raise ProgramError(f"program {program.name} on chip {program.chip.name}: {broken[0].violation(0).message}{more}")


def _findings(program: ChipProgram, *, mapped: bool | None, indices_only: bool = False) -> Iterator[Finding]:
    require_well_formed(program)
    if mapped is None:
        mapped = program.execution != ""
    of_kind = _RULES[program.chip.core_model]
    broken = [finding for rule in of_kind.starts for finding in rule(program) if len(finding)]
    if broken:
        yield from broken
        return
    rules = of_kind.indices
    if not indices_only:
        rules += of_kind.chip + (of_kind.mapped if mapped else ())
    for rule in rules:
        yield from rule(program)
