"""``ExploreOptions``: the flags of ``neuromap explore`` and the keywords of ``explore``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from neuromap.jobs.ahead import MOST_PROCESSES, SCHEDULER
from neuromap.mapping.options.options import MOST_TICKS, MOST_WIDE_TICKS, PHASES, SPLITTERS, WIDE
from neuromap.options import COMMON, Option, check_options, option
from neuromap.rollout.schedule.execution import EXECUTIONS, executions_option
from neuromap.simulation.run.run_options import RunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from neuromap.datasets.tracks import ImageSet
    from neuromap.explorer.answer.limits import ExploredRow
    from neuromap.hardware.chip.chip_spec import ChipSpec
    from neuromap.rollout.pattern import RolloutPattern


Progress = Callable[[str, int, int], object]
"""Called with the row mapped next, the number of rows mapped so far, and the number of open rows."""
MAX_PERIOD = 1000
"""Longest frame period that may be chosen, in update steps; far longer than any that makes a response earlier."""


def _read_wide(said: Option, word: str) -> str | int:
    """Read the choice for wide nodes: a strategy, or ticks of partial sums."""
    return word if word in WIDE else said.number(word)


@dataclass(frozen=True, eq=False)
class ExploreOptions(RunOptions):
    """What is asked of a search; all but the flags' texts is explained at :func:`neuromap.explorer.explore.explore`."""

    _group: ClassVar = "search"
    chips: Sequence[str | Path | ChipSpec] | str | Path | ChipSpec | None = option(
        "--chip CHIP  A packaged chip or a chip file; may be repeated.  [default: truenorth]",
        repeats=True,
        group=COMMON,
    )
    given: RolloutPattern | str = option(
        "PATTERN  The pattern that the weights were trained for: a name or its streaming edges. Patterns of its "
        "behaviour class need no retraining. With --deadline, where its class has no --trained weights, the first "
        "pattern that has takes its place.",
        "streaming",
        group=COMMON,
    )
    _: KW_ONLY
    chip: Sequence[str | Path | ChipSpec] | str | Path | ChipSpec | None = None
    within: str = option(
        "WHERE  all patterns, or only those of the given one's behaviour class: class.",
        "all",
        choices=("all", "class"),
        must="unknown; choose all or class",
    )
    objectives: Sequence[str] | str | None = option(
        "WHAT  Axes of the front: titles as for --best, or times for all that are times; several with commas. Where "
        "all are times, the best patterns of a class are found without listing any.  [default: all]",
        items="str",
        needs="words",
        group=COMMON,
    )
    executions: Sequence[str] = executions_option(
        "EXECUTIONS  windowed, pipelined, pipelined:P for a frame every P update steps, pipelined:best; separated by "
        "commas.",
        EXECUTIONS,
        within=(1, MAX_PERIOD),
        group=COMMON,
    )
    splitters: Sequence[str] = option(
        "WHERE  Where splitters may go: slack, anywhere, never (several separated by commas).",
        ("slack",),
        items="str",
        choices=SPLITTERS,
    )
    ticks_per_step: Sequence[int | None] = option(
        "NUMBERS  Ticks of an update step, or several, separated by commas.  [default: as few as the delays need]",
        (None,),
        items="int",
        within=(1, MOST_TICKS),
    )
    wide: Sequence[str | int] | str | int = option(
        "HOW  Neurons that read more than a core has axons: refuse, partial-sums (with few numbers of ticks, from "
        "which cores against first response follow), or ticks of your own; several with commas.",
        "refuse",
        items="str",
        within=(1, MOST_WIDE_TICKS),
        needs=f"{', '.join(WIDE)}, or ticks from 1 to {MOST_WIDE_TICKS}",
        must=f"is not known; choose {', '.join(WIDE)}, or ticks from 1 to {MOST_WIDE_TICKS}",
        reads=_read_wide,
    )
    phases: Sequence[str] | str = option(
        "WHICH  When to compute nodes: least (as early as possible), cheapest (on the fewest cores, with the same "
        "times) or fastest (with the least sum of first responses, none later); several with commas, as least,fastest.",
        "least",
        items="str",
        choices=PHASES,
    )
    spread: Sequence[int] = option(
        "NUMBERS  Where ticks last as long as their work: map every row for a short tick on up to so many cores, or on "
        "several numbers of them, separated by commas; the front then has cores against time.  [default: for few "
        "deliveries, on few cores]",
        (),
        items="int",
        within=(1, None),
    )
    limits: Callable[[ExploredRow], bool] | Any = None
    trained: Any = None
    images: ImageSet | None = None
    deadline: float | None = None
    energy_tolerance: float | None = option(
        "PART  Energies that differ by at most this part, 0 to below 1, count as equal on the fronts.  [default: what "
        "another draw of stimuli might change]",
        within=(0, 1 - 2**-53),
        needs="a part from 0 to below 1, such as 0.02",
        must="must be a part from 0 to below 1, such as 0.02",
    )
    seconds: float | None = option("S  Time limit for mapping and simulating; what is left open is stated.", above=0)
    most_mapped: int | None = option("N  Map and simulate at most N rows.", above=0)
    processes: int = option(
        "N  Number of processes for mapping; results are the same.  [default: 1]", 1, within=(1, MOST_PROCESSES)
    )
    scheduler: str | None = option(SCHEDULER)
    store: str | Path | None = option(
        "--store, --results FILE  Keep every row in this file (SQLite, on a disk of this machine) as soon as it is "
        "mapped, and reuse those that it holds."
    )
    verify: bool = option("--verify/--no-verify  Whether chip and reference are compared in every mapped row.", True)
    threads: int | None = 1
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_options(self, only=("energy_tolerance",))
