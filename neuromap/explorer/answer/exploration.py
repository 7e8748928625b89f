"""``Exploration``: what was found about the rollouts of a network, as rows and fronts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from neuromap.errors import InputError
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = ["Exploration", "Gap"]


@dataclass(frozen=True)
class Gap:
    """How far the fronts may be from the best that any mapping of any candidate could reach.

    Times are exact; cores and energy of rows that were not mapped are known by proven bounds only.

    Attributes
    ----------
    is_exact : bool
        Whether every row that could be on a front was mapped: then the front is that of all candidates.
    open_rows : int
        Rows that might still be on the front and were not mapped.
    cores_factor : float
        An upper bound on the least factor f such that for every open row there is a mapped one at least as good in
        every time objective with at most f times the cores that any mapping of the open row needs: these are known
        by proven bounds only, of groups of rows with the same times and on any of the chips. 1.0 where the front is
        exact, infinite where no mapped row is as good in time.
    least_cores, core_bound : int or None
        Fewest cores found, and the proven bound on those of every candidate.
    statement : str
        The same as a sentence.
    """

    is_exact: bool
    open_rows: int
    cores_factor: float
    least_cores: int | None
    core_bound: int
    statement: str


@dataclass(frozen=True, eq=False)
class Exploration:
    """Rows of an exploration, with what they hold for.

    Attributes
    ----------
    network : Network
        The network.
    given : RolloutPattern
        The pattern that its weights are for; class 0 is its behaviour class.
    chips : tuple of ChipSpec
        Chips that were tried.
    rows : tuple of ExploredRow
        Every distinct schedule that was mapped, and those open ones that might be on a front (at most a few hundred);
        rows of the front first, then by first response, period and cores.
    n_valid_patterns : int or None
        Valid patterns of the network; ``None`` where they were not counted.
    n_classes : int or None
        Their behaviour classes.
    n_candidates : int
        Candidates that the times were computed of.
    n_rows : int
        Distinct rows among them.
    n_mapped : int
        Rows that were mapped (or refused) in this exploration or taken from the file of results.
    gap : Gap
        What the fronts are worth.
    stimulus : mapping
        As in a latency report.
    """

    network: Network
    given: RolloutPattern
    chips: tuple[ChipSpec, ...]
    rows: tuple[ExploredRow, ...]
    n_valid_patterns: int | None
    n_classes: int | None
    n_candidates: int
    n_rows: int
    n_mapped: int
    gap: Gap
    stimulus: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stimulus", MappingProxyType(dict(self.stimulus)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; see :func:`neuromap.explorer.forms.json_form.to_dict`."""
        from neuromap.explorer.forms.json_form import to_dict

        return to_dict(self)

    def to_json(self) -> str:
        """JSON text that follows the published schema; see :func:`neuromap.explorer.forms.json_form.to_json`."""
        from neuromap.explorer.forms.json_form import to_json

        return to_json(self)

    def to_csv(self) -> str:
        """CSV text, one line per row; see :func:`neuromap.explorer.forms.csv_form.to_csv`."""
        from neuromap.explorer.forms.csv_form import to_csv

        return to_csv(self)

    def to_html(self) -> str:
        """One self-contained HTML page; see :func:`neuromap.explorer.forms.html.to_html`."""
        from neuromap.explorer.forms.html import to_html

        return to_html(self)

    def to_svg(self) -> str:
        """Picture of the fronts, style inside; see :func:`neuromap.explorer.forms.draw_front.standalone_svg`."""
        from neuromap.explorer.forms.draw_front import standalone_svg

        return standalone_svg(self)

    def to_text(self, width: int = 160) -> str:
        """Tables as they are printed in a terminal; see :func:`neuromap.explorer.forms.text.render_text`."""
        from neuromap.explorer.forms.text import render_text

        return render_text(self, width=width)

    def save(self, path: str | Path) -> None:
        """Write the exploration whole or not at all, in the form of the suffix: .json, .csv, .html, .svg or .txt.

        Raises
        ------
        InputError
            If the suffix is another, or the file cannot be written.
        """
        from neuromap.files.whole_file import write_whole

        forms = {
            ".json": self.to_json,
            ".csv": self.to_csv,
            ".html": self.to_html,
            ".svg": self.to_svg,
            ".txt": self.to_text,
        }
        suffix = Path(path).suffix.lower()
        if suffix not in forms:
            raise InputError(
                f"{path}: suffix {suffix!r} is no form of an exploration; choose one of {', '.join(forms)}"
            )
        write_whole(path, forms[suffix]())

    @property
    def front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of all classes: retraining is allowed."""
        return tuple(row for row in self.rows if row.on_front)

    @property
    def class_front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of the given pattern's class: nothing needs retraining."""
        return tuple(row for row in self.rows if row.on_class_front and not row.needs_retraining)
