"""``SearchOptions``: the flags of ``neuromap search`` and the keywords of ``search``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.explorer.answer.limits import ACCURACY, Objective
from neuromap.explorer.candidates.options import MAX_PERIOD
from neuromap.files.argument_checks import whole_number
from neuromap.files.messages import show
from neuromap.jobs.ahead import MOST_PROCESSES, SCHEDULER
from neuromap.jobs.runners import Workers
from neuromap.jobs.silent import silent
from neuromap.options import COMMON, Option, check_options, option
from neuromap.render.quantities import parse_quantity
from neuromap.rollout.schedule.execution import EXECUTIONS, executions_option

if TYPE_CHECKING:
    from pathlib import Path

    from neuromap.datasets.tracks import ImageSet
    from neuromap.hardware.chip.chip_spec import ChipSpec

KEPT = ASKED, ROWS, FOUND = "asked.json", "rows.sqlite", "search.json"
"""Files of a search's folder: what was asked, the explored rows, and what was found."""
MOST_CLASSES = 64
"""Most behaviour classes that are searched by default; a network is trained for each."""


def _read_deadline(said: Option, word: str) -> float:
    return parse_quantity(word, "s", said.flag)


@dataclass(frozen=True, eq=False)
class SearchOptions(Value):
    """What is asked of a search; all but the flags' texts is explained at :func:`neuromap.searcher.race.search`."""

    _group: ClassVar = "search"
    chip: str | Path | ChipSpec = option("CHIP  A packaged chip or a chip file.", "truenorth", group=COMMON)
    _: KW_ONLY
    images: Mapping[str, ImageSet] | None = None
    deadline: float | None = option(
        "TIME  Time from stimulus onset, such as 3ms: rollouts are compared by their accuracy then.  [default: at up "
        "to 8 moments at which an answer may come]",
        above=0,
        reads=_read_deadline,
        group=COMMON,
    )
    max_cores: int | None = option("N  Cores, at most.", within=(1, None), group=COMMON)
    objectives: Sequence[str] | str = option(
        "WHAT  What is weighed against accuracy: cores, energy, first-response, full-response, worst-case-reaction, "
        "sampling-frequency; several with commas.",
        ("cores",),
        items="str",
        needs="cores, energy, first-response, full-response, worst-case-reaction or sampling-frequency",
        group=COMMON,
    )
    executions: Sequence[str] = executions_option(
        "EXECUTIONS  windowed, pipelined, pipelined:P, pipelined:best; separated by commas.",
        EXECUTIONS,
        within=(1, MAX_PERIOD),
    )
    budget: int | None = option(
        "N  Epochs of all trainings together, for each seed.  [default: a quarter of what training every class fully "
        "takes, and at least half a full training]",
        within=(1, 10_000_000),
        group=COMMON,
    )
    seeds: Sequence[int] = option(
        "NUMBERS  Seeds of trainings, separated by commas: of several, classes are compared by their means.",
        (0,),
        items="int",
        needs="whole numbers, such as 0,1,2",
        within=(0, 2**31 - 1),
        group=COMMON,
    )
    sample: int | None = option(
        f"N  Search N behaviour classes of each network: the first, or where there are more than {MOST_CLASSES}, some "
        "drawn around streaming and the named patterns.",
        within=(1, 10_000),
    )
    margin: float = option(
        "Z  Standard errors of the validation images by which a class must be beaten to be dropped.",
        2.0,
        within=(0, 100),
    )
    full: bool = option(
        "--full  Train every class fully, from drawn weights, and drop none: what a search is measured against.",
        False,
        choices=(False, True),
    )
    training: Mapping[str, Any] | None = None
    folder: str | Path | None = option(
        "-o, --output DIR  Keep trainings, mapped rows and the networks of the front in this folder; the same command "
        "goes on with what it holds.  [default: NAME-search of the files' names]",
        group=COMMON,
    )
    processes: int = option(
        "N  Trainings and mappings at the same time; results are the same.", 1, within=(1, MOST_PROCESSES)
    )
    scheduler: str | None = option(SCHEDULER)
    progress: Callable[..., object] = silent

    def __post_init__(self) -> None:
        check_options(self, "search: {name} {value}: ")
        self.workers.check()
        if self.full and self.budget is not None:
            raise InputError(
                f"search: budget {self.budget}: --full trains every class fully, whatever that takes; drop one"
            )
        seeds = [self.seeds] if isinstance(self.seeds, int) else list(self.seeds)
        if not seeds or any(whole_number("search: seeds", seed) < 0 for seed in seeds) or len({*seeds}) < len(seeds):
            raise InputError(f"search: seeds {show(self.seeds)}: must be whole numbers of 0 or more, each once")
        object.__setattr__(self, "seeds", tuple(seeds))
        executions = [self.executions] if isinstance(self.executions, str) else self.executions
        object.__setattr__(self, "executions", tuple(executions))
        self.costs  # noqa: B018 - an unknown objective is refused before anything is trained

    @property
    def workers(self) -> Workers:
        """Workers that train and map."""
        return Workers(self.processes, self.scheduler)

    @property
    def costs(self) -> tuple[Objective, ...]:
        """Objectives weighed against accuracy."""
        # imported late: reading candidates needs graphs, which help texts do not
        from neuromap.explorer.candidates.asked import read_objectives

        return tuple(one for one in read_objectives(self.objectives, "objective") if one != ACCURACY)
