"""``neuromap report --faults``: its options, and the fault study added to the report as a section."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import neuromap as nm
from neuromap.cli.arguments.command import Given
from neuromap.cli.arguments.run_options import StimuliFlags, check_run_length
from neuromap.faults.options import KINDS, MOST_SEEDS
from neuromap.options import option

if TYPE_CHECKING:
    from neuromap.simulation.engine.engine_choice import EngineChoice


class FaultSection(Given[None]):
    """Faults of the programs in a report."""

    _group: ClassVar = "faults"
    faults: list[str] | None = option(
        "KINDS  Let faults of these kinds strike every mapped row, and add output error, first response and (with "
        "--data) accuracy over their rates: all, or kinds as of neuromap faults, separated by commas.",
        items="str",
        choices=("all", *KINDS),
    )
    fault_rates: list[str] | None = option(
        "RATES  With --faults: parts of what is at risk that fail, 0 to 1, separated by commas.  [default: "
        "0,0.01,0.02,0.05,0.1]",
        items="float",
        within=(0, 1),
        needs="parts from 0 to 1, such as 0,0.01,0.05",
    )
    fault_seeds: int | None = option(
        "N  With --faults: chips of every kind and rate, 1 to 1000.  [default: 5]", within=(1, MOST_SEEDS)
    )
    fault_results: str | None = option(
        "FILE  With --faults: keep every chip in this file, as neuromap faults --results does, and reuse those that "
        "it holds."
    )

    def require_none(self, why: str = "") -> None:
        """Refuse options of a study if there is none, or all of them for a given reason."""
        if why or self.faults is None:
            self.refuse(why or "is of a study of faults; give --faults, or drop it")

    def arguments(self) -> dict[str, Any]:
        """Return the library's arguments."""
        found = {name.removeprefix("fault_"): value for name, value in self.items() if name != "faults"}
        return found if "all" in (self.faults or ()) else {**found, "kinds": self.faults}

    def added(
        self,
        report: nm.report.LatencyReport,
        options: nm.MappingOptions,
        shown: dict[str, Any],
        choice: EngineChoice,
        progress: Callable[..., object],
    ) -> nm.report.LatencyReport:
        """Return the report with a study of all mapped rows as a section; unchanged if none was mapped."""
        mapped = [row for row in report.rows if row.status == "mapped"]
        rollouts = [nm.Rollout(report.network, row.pattern_of(report.network), row.execution) for row in mapped]
        if not rollouts:
            return report
        asked = {**self.arguments(), **shown, "options": options, "choice": choice}
        return report.with_faults(nm.faults.study_faults(rollouts, report.chip, progress=progress, **asked))


def shown_to_faults(fed: StimuliFlags, images: nm.datasets.ImageSet | None, n_frames: int | None) -> dict[str, Any]:
    """Return the library's arguments ``stimuli`` and ``n_stimuli``: the images, else the stimuli of the report."""
    random = fed.random()
    if images is not None:
        n_frames = 1 if n_frames is None else n_frames
        check_run_length(n_frames * len(images.images))
        return {"stimuli": nm.faults.ShownImages(images, n_frames, fed.seed)}
    return {"stimuli": random if fed.frames is None else fed.frames, "n_stimuli": fed.n_stimuli}
