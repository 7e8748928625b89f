"""The independent checker of a program against the rules of its chip.

It shares no code with the mapper and believes nothing that the mapper says: everything is read again from the
program and the chip.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuromap.errors import ProgramError
from neuromap.files.argument_checks import needs
from neuromap.hardware.check.violation import Finding, Violation
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.structure import require_well_formed


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
    of_kind = program.chip.kind.rules.RULES
    broken = [finding for rule in of_kind.starts for finding in rule(program) if len(finding)]
    if broken:
        yield from broken
        return
    rules = of_kind.indices
    if not indices_only:
        rules += of_kind.chip + (of_kind.mapped if mapped else ())
    for rule in rules:
        yield from rule(program)
