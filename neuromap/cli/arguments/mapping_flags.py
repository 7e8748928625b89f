"""The options of the mapper, shared by the commands that map."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuromap.cli.arguments.options import said_option
from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.hardware.chip.chip_spec import ChipSpec
    from neuromap.mapping.options.options import MappingOptions
    from neuromap.network.network import Network

__all__ = ["MappingFlags", "SeededMappingFlags"]

_OF_CROSSBARS = ("splitters", "packing", "partitioner", "wide", "wide_ticks")
_SEED_TEXT = "Seed of placement and METIS; the same seed gives the same program."


@dataclass(frozen=True)
class MappingFlags:
    """Options of the mapper as they are typed; ``None`` where one is not given."""

    # One parameter of such a command (see ``option_blocks``).

    placer: Annotated[
        str | None,
        said_option(
            "--placer",
            metavar="NAME",
            text="How to place cores: auto, row-major, hilbert, spectral, assignment or exchange.  [default: auto]",
        ),
    ] = None
    splitters: Annotated[
        str | None,
        said_option(
            "--splitters",
            metavar="WHERE",
            text="Where splitters may be placed: slack (where delays leave room, at no tick), anywhere (the schedule "
            "grows by ticks) or never (all fan-out is copies).  [default: slack]",
        ),
    ] = None
    packing: Annotated[
        bool | None,
        typer.Option("--packing/--no-packing", help="Whether nodes may share a core.  [default: they may]"),
    ] = None
    partitioner: Annotated[
        str | None,
        said_option(
            "--partitioner",
            metavar="NAME",
            text="Order in which neurons fill cores: blocks, overlap, metis (extra partition), or auto for what costs "
            "least.  [default: auto]",
        ),
    ] = None
    pins: Annotated[
        Path | None,
        said_option("--pins", metavar="FILE", text="Tile shapes, cores, regions and splitters that are fixed (TOML)."),
    ] = None
    defects: Annotated[
        Path | None,
        said_option(
            "--defects", metavar="FILE", text="Dead cores, routers and links (TOML) instead of the chip's own."
        ),
    ] = None
    mapping_seed: Annotated[
        int | None,
        said_option("--mapping-seed", metavar="N", text=_SEED_TEXT),
    ] = None
    seconds: Annotated[
        float | None,
        said_option("--seconds", metavar="S", text="Time limit for mapping; searches end with the best so far."),
    ] = None
    ticks_per_step: Annotated[
        int | None,
        said_option(
            "--ticks-per-step", metavar="N", text="Ticks of an update step.  [default: as few as the delays need]"
        ),
    ] = None
    keep: Annotated[
        str | None,
        said_option(
            "--keep",
            metavar="NODES",
            text="Nodes that are mapped whole though they lead to no output, so that they can be recorded: names with "
            "commas between them, or all.",
        ),
    ] = None
    phases: Annotated[
        str | None,
        said_option(
            "--phases",
            metavar="WHICH",
            text="When nodes between inputs and outputs are computed: least (as early as they can be) or cheapest (as "
            "takes fewest cores, with the same frame period and responses).  [default: least]",
        ),
    ] = None
    wide: Annotated[
        str | None,
        said_option(
            "--wide",
            metavar="HOW",
            text="Neurons that read more than a core has axons: refuse them, or compute them exactly in partial-sums, "
            "which takes ticks.  [default: refuse]",
        ),
    ] = None
    wide_ticks: Annotated[
        int | None,
        said_option(
            "--wide-ticks",
            metavar="T",
            text="Ticks of a partial sum: fewer take more cores.  [default: as many as it counts, on fewest cores]",
        ),
    ] = None

    @property
    def given(self) -> list[str]:
        """The options that were typed, as they are typed."""
        return [f"--{f.name.replace('_', '-')}" for f in fields(self) if getattr(self, f.name) is not None]

    def require_none(self, program_file: Path | None) -> None:
        """Refuse options of the mapper where a program is given, which is mapped already."""
        if program_file is not None and self.given:
            raise InputError(f"{self.given[0]}: has no meaning with --program {program_file}; leave one of them away")

    @property
    def files(self) -> dict[str, Path | None]:
        """The files that are read, by what they are."""
        return {"pins file": self.pins, "defects file": self.defects}

    def chip(self, name: str, figures: Mapping[str, Any] | None = None) -> ChipSpec:
        """Load a chip, with other figures and the defects of the file if they are given."""
        from neuromap.errors import ChipError
        from neuromap.hardware.chip.chip_document import load_defects
        from neuromap.hardware.chip.chip_file import load_chip

        spec = load_chip(name, figures)
        if self.defects is None:
            return spec
        defects = load_defects(self.defects)
        try:
            return spec.with_defects(defects)
        except ChipError as error:
            raise ChipError(f"{self.defects}: {error}") from None

    def options(self, network: Network, chip: ChipSpec) -> MappingOptions:
        """Make the mapper's options of what was typed."""
        from neuromap.mapping.options.options import PLACERS, MappingOptions, Pins
        from neuromap.mapping.options.pins_file import check_pins, load_pins

        if self.placer is not None and self.placer not in PLACERS:
            raise InputError(f"--placer {self.placer}: is not known; choose one of {', '.join(PLACERS)}")
        if self.seconds is not None and not (math.isfinite(self.seconds) and self.seconds > 0):
            raise InputError(f"--seconds {self.seconds:g}: allowed are numbers above 0")
        if self.keep is not None and not all(name.strip() for name in self.keep.split(",")):
            found = f"--keep {self.keep}: has an empty name" if self.keep.strip() else "--keep: is empty"
            raise InputError(f"{found}; give names of nodes, such as H1,H2, or all")
        pins = Pins() if self.pins is None else load_pins(self.pins)
        try:
            check_pins(pins, network, chip)
        except InputError as error:
            raise InputError(f"{self.pins}: {error}") from None
        typed = {
            "placer": self.placer,
            "splitters": self.splitters,
            "packing": self.packing,
            "partitioner": self.partitioner,
            "seed": self.mapping_seed,
            "seconds": self.seconds,
            "ticks_per_step": self.ticks_per_step,
            "keep": self.keep,
            "phases": self.phases,
            "wide": self.wide,
            "wide_ticks": self.wide_ticks,
        }
        chosen: dict[str, Any] = {name: value for name, value in typed.items() if value is not None}
        options = MappingOptions(pins=pins, **chosen)
        self._refuse_what_means_nothing(chip)
        return options

    def _refuse_what_means_nothing(self, chip: ChipSpec) -> None:
        """Refuse what says how neurons share crossbars: elsewhere it would change nothing."""
        for name in _OF_CROSSBARS:
            value = getattr(self, name)
            if value is not None and name not in chip.kind.structure.OPTIONS:
                typed = f"--{name.replace('_', '-')} {value}"
                if name == "packing":
                    typed = "--packing" if value else "--no-packing"
                raise InputError(
                    f"{typed}: is about crossbar cores, and chip {chip.name} has {chip.core_model} cores, on which it "
                    "changes nothing; leave it out"
                )


@dataclass(frozen=True)
class SeededMappingFlags(MappingFlags):
    """The same for a command that has no other seed: ``--seed`` means that of the mapper."""

    mapping_seed: Annotated[int | None, said_option("--seed", "--mapping-seed", metavar="N", text=_SEED_TEXT)] = None
