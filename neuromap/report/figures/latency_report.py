"""The latency report: rows of figures, and the conditions that they hold for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.render.value import Documented, Formed, Framed, Paged, Printed, form, forms_of
from neuromap.report.figures.row import ReportRow, RunFigures
from neuromap.version import __version__


@dataclass(frozen=True, eq=False)
class LatencyReport(ReadOnly, Documented, Framed, Paged, Printed):
    """Rows of figures, and the conditions that they hold for.

    Attributes
    ----------
    network : Network
        The network.
    chip : ChipSpec
        The chip.
    rows : tuple of ReportRow
        One per pattern and execution, patterns outermost, in the order asked for.
    stimulus : mapping
        As :func:`neuromap.simulation.choose_frames.choose_stimuli` describes it.
    most_sequential : int or None
        Number of most sequential patterns, if ``"sequential"`` is among the rows and they were counted.
    most_sequential_proven : bool or None
        Whether the pattern called sequential is proven to be most sequential, if it is among the rows.
    classes_are_of_network : bool
        Whether the numbers of all behaviour classes depend on the network only; else those of classes without a named
        pattern are in the order of the rows.
    version : str
        Version of neuromap.
    faults : Formed or None
        A :class:`~neuromap.faults.fault_study.FaultStudy` of its rows, shown as a further section; see
        :meth:`with_faults`.
    """

    _called = "a report"
    _forms = ("neuromap.report.page", "neuromap.report.text", "neuromap.report.figure_files")

    network: Network
    chip: ChipSpec
    rows: tuple[ReportRow, ...]
    stimulus: Mapping[str, Any] = field(default_factory=dict)
    most_sequential: int | None = None
    most_sequential_proven: bool | None = None
    classes_are_of_network: bool = True
    version: str = __version__
    faults: Formed | None = None

    def _facts(self) -> dict[str, object]:
        n_verified = sum(bool(row.verified) for row in self.rows)
        return {
            "network": self.network.name,
            "chip": self.chip.name,
            "rows": len(self.rows),
            "verified": f"{n_verified} of {len(self.rows)}",
        }

    @property
    def sent(self) -> str:
        """Noun for what neurons send: spike, or message if they are graded."""
        return "message" if self.network.is_graded else "spike"

    @property
    def figures(self) -> list[RunFigures]:
        """Figures in steady operation, of the rows that have them."""
        return [row.figures for row in self.rows if row.figures is not None]

    @property
    def verified(self) -> bool:
        """Whether all rows were mapped and in all of them chip equals reference."""
        return all(row.verified for row in self.rows)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0 if every row is verified, else the greatest code of a row."""
        return max((row.exit_code for row in self.rows), default=0)

    def with_faults(self, study: Any) -> LatencyReport:
        """Return the report with a study of faults as a further section of its text, its page and its JSON form.

        Parameters
        ----------
        study : FaultStudy
            Of rollouts of this report, as :func:`neuromap.faults.study_faults` gives it.

        Raises
        ------
        InputError
            If it is not a study of faults, or of another network, chip, pattern or execution.
        """
        if not isinstance(study, Formed) or not forms_of(type(study)).keys() >= {"dict", "section", "text"}:
            raise InputError(f"with_faults: study = {study!r:.60}; give what neuromap.faults.study_faults gives")
        of = (getattr(study, "network", ""), getattr(study, "chip", ""))
        if of != (self.network.name, self.chip.name):
            raise InputError(
                f"with_faults: the study is of {of[0]} on {of[1]}, the report of {self.network.name} on "
                f"{self.chip.name}; give one of the same"
            )
        rows = {f"{row.pattern}, {row.execution}" for row in self.rows}
        for curve in getattr(study, "curves", ()):
            if curve not in rows:
                raise InputError(
                    f"with_faults: the study has {curve}, which is not a row of the report; study its rows"
                )
        return replace(self, faults=study)

    def save_figures(self, folder: str | Path) -> list[Path]:
        """Write all figures as SVG, and as PDF with the extra ``pages``; see :func:`neuromap.report.save_figures`.

        Raises
        ------
        InputError
            If the folder cannot be made, or a file cannot be written.
        """
        return list(form(self, "figures", folder))
