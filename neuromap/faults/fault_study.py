"""``FaultStudy``: output error, first response and accuracy of mapped rollouts over fault rates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from neuromap.faults.confidence import Estimate, mean_of, share_of
from neuromap.faults.fault_run import FaultRun
from neuromap.forms.card import Card
from neuromap.forms.formed import Formed, form
from neuromap.version import __version__

__all__ = ["FaultPoint", "FaultStudy", "points_of"]


@dataclass(frozen=True)
class FaultPoint(Card):
    """One pattern and execution with faults of one kind at one rate, over all seeds.

    Attributes
    ----------
    pattern, execution, kind : str
        Names.
    rate : float
        Of what is at risk, 0 to 1.
    seeds : int
        Chips.
    struck, at_risk : float
        What failed of what could, means over the seeds.
    error : Estimate
        Part of the output frames' values that differ from those without faults.
    lost, added : float
        Its parts: spikes that are missing, and those that are there with faults only.
    no_response : Estimate
        Part of the chips on which no input reaches an output.
    first_response_ticks : float or None
        Mean over the others, in ticks from an input's sampling; ``None`` where there are none.
    accuracy : Estimate or None
        Part of the images that are named rightly; ``None`` without images.
    first_response_low_ticks, first_response_high_ticks : float or None
        Ends of the interval of that mean; ``None`` where fewer than two chips have a response.
    """

    pattern: str
    execution: str
    kind: str
    rate: float
    seeds: int
    struck: float
    at_risk: float
    error: Estimate
    lost: float
    added: float
    no_response: Estimate
    first_response_ticks: float | None
    accuracy: Estimate | None
    first_response_low_ticks: float | None = None
    first_response_high_ticks: float | None = None

    @property
    def curve(self) -> str:
        """What tells its curve from others of the same kind."""
        return f"{self.pattern}, {self.execution}"


@dataclass(frozen=True, eq=False)
class FaultStudy(Formed):
    """What a network on a chip does when parts of the chip fail.

    Attributes
    ----------
    network, chip : str
        Names.
    cores : tuple of int
        Cores of each curve's program, in the order of :attr:`curves`.
    stimuli : str
        What was shown, in words.
    kinds : tuple of str
        Of faults.
    rates : tuple of float
        Ascending.
    seeds : int
        Chips of every point, seeds 0 and up.
    images : int
        Labelled images; 0 where the stimuli have no labels.
    runs : tuple of FaultRun
        Curves outermost, then kinds, rates, seeds.
    version : str
        Version of neuromap.
    """

    _called = "a study of faults"

    network: str
    chip: str
    cores: tuple[int, ...]
    stimuli: str
    kinds: tuple[str, ...]
    rates: tuple[float, ...]
    seeds: int
    images: int
    runs: tuple[FaultRun, ...] = field(repr=False)
    version: str = __version__

    @cached_property
    def points(self) -> tuple[FaultPoint, ...]:
        """Means and intervals over the seeds, in the order of the runs."""
        return points_of(self.runs)

    @property
    def curves(self) -> tuple[str, ...]:
        """Pattern and execution of every curve."""
        return tuple(dict.fromkeys(point.curve for point in self.points))

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network,
            "chip": self.chip,
            "curves": "; ".join(self.curves),
            "kinds": ", ".join(self.kinds),
            "rates": ", ".join(f"{rate:g}" for rate in self.rates),
            "seeds": self.seeds,
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the study as plain values, those of its JSON document."""
        found: dict[str, Any] = form(self, "dict")
        return found

    def to_json(self) -> str:
        """Write the study as a JSON document; ``forms/faults.schema.json`` is its schema."""
        return str(form(self, "json"))

    def to_csv(self) -> str:
        """Write the points, one line each, as CSV text (RFC 4180, UTF-8)."""
        return str(form(self, "csv"))

    def to_html(self) -> str:
        """One self-contained HTML page: curves and table."""
        return str(form(self, "html"))

    def to_svg(self) -> str:
        """Draw the curves, a panel for every kind of fault, as an SVG file."""
        return str(form(self, "svg"))

    def to_text(self, width: int = 160) -> str:
        """Table as it is printed in a terminal."""
        return str(form(self, "text", width))


def points_of(runs: Iterable[FaultRun]) -> tuple[FaultPoint, ...]:
    """Put the seeds of every pattern, execution, kind and rate together, in the order in which these come first."""
    found: dict[tuple[str, str, str, float], list[FaultRun]] = {}
    for run in runs:
        found.setdefault((run.pattern, run.execution, run.kind, run.rate), []).append(run)
    return tuple(_point(mine) for mine in found.values())


def _point(runs: list[FaultRun]) -> FaultPoint:
    n, first = len(runs), runs[0]
    ticks = [run.first_response_ticks for run in runs if run.first_response_ticks is not None]
    response = mean_of(ticks, math.inf) if ticks else Estimate(0.0, None, None)
    right = [run.accuracy for run in runs if run.accuracy is not None]
    return FaultPoint(
        pattern=first.pattern,
        execution=first.execution,
        kind=first.kind,
        rate=first.rate,
        seeds=n,
        struck=sum(run.struck for run in runs) / n,
        at_risk=sum(run.at_risk for run in runs) / n,
        error=mean_of([run.error for run in runs]),
        lost=sum(run.lost / max(1, run.bits) for run in runs) / n,
        added=sum(run.added / max(1, run.bits) for run in runs) / n,
        no_response=_without_response(n - len(ticks), runs),
        first_response_ticks=response.value if ticks else None,
        accuracy=mean_of(right) if right else None,
        first_response_low_ticks=response.low,
        first_response_high_ticks=response.high,
    )


def _without_response(count: int, runs: list[FaultRun]) -> Estimate:
    """Give the part of the chips without response; at rate 0 these are all one chip, and nothing is open."""
    if runs[0].rate:
        return share_of(count, len(runs))
    return Estimate(*[count / len(runs)] * 3)
