"""Options of the mapper, shared by commands that map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import neuromap as nm
from neuromap.cli.arguments.command import Given
from neuromap.cli.arguments.options import CHIP, chosen_chip, read_pattern, read_rollout
from neuromap.errors import ChipError, InputError, prefixed
from neuromap.mapping.options.options import OF_CROSSBARS, MappingOptions, Pins
from neuromap.options import COMMON, option

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram


class MappingFlags(Given[MappingOptions]):
    """Options of the mapper, and defects of the chip."""

    _group: ClassVar = "mapping"
    defects: Path | None = option("FILE  Dead cores, routers and links (TOML) instead of the chip's own.")

    def require_none(self, program_file: Path | None) -> None:
        """Refuse options of the mapper if a program is given, which is already mapped."""
        if program_file is not None:
            for name in self:
                raise InputError(
                    f"{self.said[name].flag}: has no meaning with --program {program_file}; leave one of them away"
                )

    @property
    def files(self) -> dict[str, Path | None]:
        """Files to read, by their role."""
        return {"pins file": self.get("pins"), "defects file": self.defects, "activity file": self.get("activity")}

    def chip(self, name: str, figures: Mapping[str, Any] | None = None) -> nm.ChipSpec:
        """Load a chip, with other figures and the defects of a file if given."""
        spec = nm.load_chip(name, figures)
        if self.defects is None:
            return spec
        defects = nm.hardware.load_defects(self.defects)
        with prefixed(f"{self.defects}: ", ChipError):
            return spec.with_defects(defects)

    def options(self, network: nm.Network, chip: nm.ChipSpec) -> MappingOptions:
        """Make the mapper's options from typed ones."""
        from neuromap.mapping.options.pins_file import check_pins, load_pins

        file = self.get("pins")
        pins = Pins() if file is None else load_pins(file)
        with prefixed(f"{file}: ", InputError):
            check_pins(pins, network, chip)
        options = self.made(pins=pins)
        for name in OF_CROSSBARS:  # controls how neurons share crossbars; elsewhere it would have no effect
            if name in self and name not in chip.kind.structure.OPTIONS:
                raise InputError(
                    f"{self.said[name].typed(self[name])}: is about crossbar cores, and chip {chip.name} has "
                    f"{chip.core_model} cores, on which it changes nothing; leave it out"
                )
        return options


class SeededMappingFlags(MappingFlags):
    """The same for a command without another seed: ``--seed`` is that of the mapper."""

    flags: ClassVar = {"seed": ("--seed", "--mapping-seed")}


class ProgramFlags(Given[None]):
    """A program to compare with its rollout: that of a file, or one that is mapped."""

    _group: ClassVar = COMMON
    pattern: str | None = option(
        "PATTERN  Rollout pattern: a name or streaming edges ('H1 -> O, H2 -> O').  [default: that of --program, else "
        "streaming]"
    )
    execution: str | None = option(
        "EXECUTION  windowed, pipelined, pipelined:P or pipelined:best.  [default: that of --program, else windowed]"
    )
    chip: str | None = CHIP
    program_file: Path | None = option("--program FILE  The program.")

    def check(self, flags: MappingFlags) -> None:
        """Refuse a chip, and options of the mapper, beside a program."""
        chosen_chip(self.chip, self.program_file)
        flags.require_none(self.program_file)

    def read(
        self, net: nm.Network, flags: MappingFlags, progress: Callable[[int, int, str], None]
    ) -> tuple[nm.Rollout, ChipProgram]:
        """Read the program and make the rollout to compare it with, or map one."""
        if self.program_file is not None:
            program = nm.load_program(self.program_file)
            return read_rollout(net, program, self.program_file, self.pattern, self.execution), program
        pattern = read_pattern(net, self.get("pattern", "streaming"))
        rollout, spec = nm.Rollout(net, pattern, self.get("execution", "windowed")), flags.chip(chosen_chip(self.chip))
        mapping = nm.mapping.map_with_stages(rollout, spec, flags.options(net, spec), progress)
        return mapping.rollout, mapping.program  # splitters may have turned the schedule into one in ticks
