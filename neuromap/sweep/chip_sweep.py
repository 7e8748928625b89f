"""ChipSweep: what a network takes on every chip of a sweep over figures of a chip, as one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError, PatternError, VerificationError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.value import Card, Documented, Paged, Printed, Tabled
from neuromap.version import __version__


class SweepColumn(NamedTuple):
    """A figure of every row.

    Attributes
    ----------
    key : str
        Its name in rows and in JSON, with its unit. Of ``..._ticks`` documents have ``..._seconds`` too.
    title : str
        What people read.
    unit : {"", "ticks", "J", "yes"}
        In which it is counted; ``""`` for counts that the title names, ``"yes"`` for what holds or does not. What is
        counted in ticks is shown in seconds too, by the tick of the row's chip.
    is_drawn : bool
        Whether the page shows it over the first figure of the chip; of counts and ticks.
    """

    key: str
    title: str
    unit: Literal["", "ticks", "J", "yes"] = ""
    is_drawn: bool = False


@dataclass(frozen=True, eq=False)
class SweepRow(Card):
    """One chip of a sweep, with one pattern and execution where a sweep has several.

    Attributes
    ----------
    values : tuple
        Of the figures that were set.
    chip : ChipSpec
        The chip that they make.
    labels : tuple of str
        What else tells the row from others, such as pattern and execution.
    figures : mapping of str to number or bool
        By the keys of the sweep's columns; absent where it is not known. Of what is counted in ticks that last as long
        as their work, ``..._seconds`` are figures too, where they were timed.
    reason : str
        Why it does not fit or is no valid rollout, in one line without remedies; empty where it fits.
    message : str
        The same with its remedies.
    is_refused : bool
        Whether the chip is what it does not fit; else the rollout is not valid.
    cut_short : tuple of str
        Stages whose search ended because its time was over.
    """

    values: tuple[Any, ...]
    chip: ChipSpec
    labels: tuple[str, ...] = ()
    figures: Mapping[str, float | bool] = field(default_factory=dict)
    reason: str = ""
    message: str = ""
    is_refused: bool = True
    cut_short: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = {key: value for key, value in self.figures.items() if value is not None}
        object.__setattr__(self, "figures", ReadOnlyMapping(known))

    @property
    def fits(self) -> bool:
        """Whether it was mapped."""
        return not self.reason

    def seconds_of(self, key: str) -> float | None:
        """Give a figure that is counted in ticks in seconds; ``None`` where it is not known, or was not timed."""
        ticks = self.figures.get(key)
        if ticks is None or self.chip.is_timed:
            return self.figures.get(key.replace("_ticks", "_seconds"))
        return ticks * self.chip.tick_seconds

    def _facts(self) -> dict[str, object]:
        return {"chip": self.chip.name, "fits": self.reason or "yes", **self.figures}


@dataclass(frozen=True, eq=False)
class ChipSweep(Documented, Tabled, Paged, Printed):
    """What a network takes on every chip of several that differ in some figures.

    Attributes
    ----------
    network : str
        Name of the network.
    what : str
        What was mapped onto every chip, for the line above the table, such as ``"streaming, windowed"``; empty where
        the rows say it.
    chip : ChipSpec
        The chip whose figures were changed.
    parameters : tuple of str
        Names of the figures, as in chip files.
    label_titles : tuple of str
        Titles of the rows' labels.
    columns : tuple of SweepColumn
        Figures of the rows.
    rows : tuple of SweepRow
        Chips outermost, the values of the last figure change first.
    notes : tuple of str
        What the figures hold for, a sentence each.
    version : str
        Version of neuromap.
    """

    _called = "a sweep"
    _forms = ("neuromap.sweep.sweep_forms",)

    network: str
    what: str
    chip: ChipSpec
    parameters: tuple[str, ...]
    label_titles: tuple[str, ...]
    columns: tuple[SweepColumn, ...]
    rows: tuple[SweepRow, ...]
    notes: tuple[str, ...] = ()
    version: str = __version__

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network,
            "chip": self.chip.name,
            "over": ", ".join(self.parameters),
            "chips": self.n_chips,
            "fit": f"{self.n_fitting} of {self.n_chips}",
        }

    def documented(self, row: SweepRow) -> dict[str, Any]:
        """Give the figures of a row as documents have them: those in ticks in seconds too, ``None`` where not known."""
        found: dict[str, Any] = {}
        for column in self.columns:
            found[column.key] = row.figures.get(column.key)
            if column.unit == "ticks":
                found[column.key.replace("_ticks", "_seconds")] = row.seconds_of(column.key)
        return found

    @property
    def n_chips(self) -> int:
        """Chips of the sweep."""
        return len({row.chip.name for row in self.rows})

    @property
    def n_fitting(self) -> int:
        """Chips on which a row was mapped."""
        return len({row.chip.name for row in self.rows if row.fits})

    @property
    def failed(self) -> tuple[SweepRow, ...]:
        """Mapped rows in which the chip computes something else than the reference."""
        return tuple(row for row in self.rows if row.figures.get("verified") is False)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 5 where a row is not verified, 0 where any fits, else why none does."""
        if self.failed:
            return VerificationError.exit_code
        if any(row.fits for row in self.rows):
            return 0
        return DoesNotFitError.exit_code if any(row.is_refused for row in self.rows) else PatternError.exit_code
