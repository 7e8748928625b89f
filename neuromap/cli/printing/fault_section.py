"""``neuromap report --faults``: its options, and the study of faults that becomes a section of the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

from neuromap.cli.arguments.frame_options import FrameOptions, check_run_length
from neuromap.cli.arguments.options import said_option
from neuromap.cli.arguments.typed_lists import split_names, split_rates
from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.datasets.tracks import ImageSet
    from neuromap.mapping.options.options import MappingOptions
    from neuromap.report.figures.latency_report import LatencyReport

__all__ = ["FaultSection", "check_fault_frames"]


@dataclass(frozen=True)
class FaultSection:
    """Which faults strike the programs of a report; one parameter of the command (see ``option_blocks``)."""

    faults: Annotated[
        list[str] | None,
        said_option(
            "--faults",
            metavar="KINDS",
            text="Let faults of these kinds strike every mapped row, and add output error, first response and (with "
            "--data) accuracy over their rates: all, or kinds as of neuromap faults, separated by commas.",
        ),
    ] = None
    fault_rates: Annotated[
        list[str] | None,
        said_option(
            "--fault-rates",
            metavar="RATES",
            text="With --faults: parts of what is at risk that fail, 0 to 1, separated by commas.  "
            "[default: 0,0.01,0.02,0.05,0.1]",
        ),
    ] = None
    fault_seeds: Annotated[
        int | None,
        said_option(
            "--fault-seeds", metavar="N", text="With --faults: chips of every kind and rate, 1 to 1000.  [default: 5]"
        ),
    ] = None
    fault_results: Annotated[
        str | None,
        said_option(
            "--fault-results",
            metavar="FILE",
            text="With --faults: keep every chip in this file, as neuromap faults --results does, and reuse those that "
            "it holds.",
        ),
    ] = None

    def require_none(self, why: str = "") -> None:
        """Refuse options of a study where there is none, or all of them for a reason."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and (why or self.faults is None):
                shown = ",".join(value) if isinstance(value, list) else value
                option = f"--{field.name.replace('_', '-')} {shown}"
                raise InputError(f"{option}: {why or 'is of a study of faults; give --faults, or drop it'}")

    def arguments(self) -> dict[str, Any]:
        """Make the library's arguments."""
        from neuromap.faults.struck_program import KINDS

        kinds = split_names(self.faults or ["all"], "--faults", ("all", *KINDS))
        found: dict[str, Any] = {"kinds": tuple(KINDS) if "all" in kinds else kinds, "results": self.fault_results}
        if self.fault_rates:
            found["rates"] = split_rates(self.fault_rates, "--fault-rates")
        return found if self.fault_seeds is None else {**found, "seeds": self.fault_seeds}

    def added(
        self,
        report: LatencyReport,
        options: MappingOptions,
        shown: dict[str, Any],
        how: dict[str, Any],
        progress: Callable[..., object],
    ) -> LatencyReport:
        """Give a report with the study as a section: of all rows that were mapped; the same where none was."""
        from neuromap.faults.measure_study import study_faults
        from neuromap.rollout.pattern import RolloutPattern
        from neuromap.rollout.schedule.rollout import Rollout
        from neuromap.simulation.engine.engine_choice import EngineChoice

        network = report.network
        rollouts = [
            Rollout(
                network,
                RolloutPattern.from_streaming_edges(
                    network, row.streaming_edges, row.pattern, bridging=dict(row.bridging_edges)
                ),
                row.execution,
            )
            for row in report.rows
            if row.status == "mapped"
        ]
        if not rollouts:
            return report
        asked = {**self.arguments(), **shown, "options": options, "choice": EngineChoice(**how)}
        return report.with_faults(study_faults(rollouts, report.chip, progress=progress, **asked))


def check_fault_frames(
    fed: FrameOptions, n_stimuli: int | None, images: ImageSet | None, n_frames: int | None
) -> dict[str, Any]:
    """Make the library's arguments ``stimuli`` and ``n_stimuli``: the images, else what the report is shown."""
    from neuromap.faults.measure_study import ShownImages

    if images is not None:
        n_frames = 1 if n_frames is None else n_frames
        check_run_length(n_frames * len(images.images))
        return {"stimuli": ShownImages(images, n_frames, fed.seed)}
    said = {} if n_stimuli is None else {"n_stimuli": n_stimuli}
    return {"stimuli": fed.random() if fed.stimulus is None else fed.stimulus, **said}
