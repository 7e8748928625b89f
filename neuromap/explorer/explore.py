"""``explore``: which rollout should I run? Map what may be on the front, and prove what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuromap.errors import InputError
from neuromap.explorer.answer.exploration import Exploration, ExploredRow
from neuromap.explorer.candidates.core_estimate import core_weights
from neuromap.explorer.candidates.named_patterns import NamedPatterns, named_patterns
from neuromap.explorer.candidates.pattern_space import PatternSpace, pattern_space
from neuromap.explorer.candidates.row_keys import Keys, sharing_of
from neuromap.explorer.candidates.row_table import RowTable, row_table
from neuromap.explorer.candidates.schedules import Graph, graph_of
from neuromap.explorer.candidates.ways_to_map import Way, stretches
from neuromap.explorer.measuring.evaluate import Setting
from neuromap.explorer.measuring.processes import MappingProcesses
from neuromap.explorer.measuring.results_file import ResultsFile, digest_of_setting
from neuromap.explorer.search.best_first import Search, groups_of
from neuromap.explorer.search.described_rows import DescribedRows, listed_rows
from neuromap.explorer.search.gap import gap_of
from neuromap.explorer.search.row_bounds import core_bound_of_all
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.legalise.legalise import legalise
from neuromap.network.complete import require_weights
from neuromap.network.network import Network
from neuromap.rollout.patterns.behaviour import count_behaviour_classes
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import EXECUTIONS, chosen_period
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.stimulus.choose_frames import DEFAULT_FRAMES, RandomFrames, choose_frames

__all__ = ["explore"]

MAX_PERIOD = 1000
"""Longest frame period that may be asked for, in update steps; far beyond what brings any response forward."""

Progress = Callable[[str, int, int], object]


def explore(
    network: Network,
    chips: Sequence[str | Path | ChipSpec] | str | Path | ChipSpec = ("truenorth",),
    given: RolloutPattern | str = "streaming",
    *,
    executions: Sequence[str] = EXECUTIONS,
    splitters: Sequence[str] = ("slack",),
    ticks_per_step: Sequence[int | None] = (None,),
    within: str = "all",
    limits: Callable[[ExploredRow], bool] | Any = None,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    n_frames: int = DEFAULT_FRAMES,
    seed: int = 0,
    density: float | None = None,
    seconds: float | None = None,
    most_mapped: int | None = None,
    processes: int = 1,
    results: str | Path | None = None,
    verify: bool = True,
    engine: str = "fast",
    threads: int | None = 1,
    noise_seed: int = 0,
    progress: Progress | None = None,
) -> Exploration:
    """Search the rollouts of a network for those that no other is better than.

    The times of all patterns are computed from their schedules; then rows are mapped, the most promising first, until a
    proven bound excludes every other row from the front, or the time or number is used up.

    Parameters
    ----------
    network : Network
        With shapes and weights.
    chips : chip or sequence of chips
        Names of packaged chips, chip files, or chips.
    given : RolloutPattern or str
        The pattern that the weights are for; its behaviour class needs no retraining.
    executions : sequence of {"windowed", "pipelined", "pipelined:P"}
        Executions to search; P up to 1000. Patterns whose cycles do not allow P have no row of that execution.
    splitters : sequence of {"slack", "anywhere", "never"}
        Where splitters may stand.
    ticks_per_step : sequence of int or None
        Ticks of an update step; ``None`` for as few as the delays need.
    within : {"all", "class"}
        Whether patterns of other behaviour classes, which need retraining, are searched too.
    limits : Limits or callable, optional
        Rows that cannot be within the limits are not mapped. A callable is asked about one row for all with equal times
        and so may look at figures only.
    frames, n_frames, seed, density
        Input frames for energy and verification, as in :func:`neuromap.report.latency.latency_report`.
    seconds : float, optional
        No mapping begins later than that many seconds after the search began.
    most_mapped : int, optional
        Rows that are mapped (or taken from the file of results) at most.
    processes : int
        Processes that map; a script that asks for more than one needs ``if __name__ == "__main__"``. The rows are
        the same for every number.
    results : str or path, optional
        File of results: rows that are in it are not mapped again, others are appended as soon as they are mapped.
    verify : bool
        Whether every mapped row is held against the reference.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`; one thread by default, since mapping takes most of the
        time and processes share it out better.
    progress : callable, optional
        Called as ``progress(what, rows mapped, rows open)``.

    Returns
    -------
    Exploration
        Rows, fronts, and how far they may be from the best.

    Raises
    ------
    InputError
        If an option is unknown or out of range, or the file of results is none.
    PatternError
        If the given pattern is unknown or invalid.
    NetworkError
        If shapes, weights or thresholds are missing.
    ChipError
        If a chip is unknown or its file malformed.
    StimulusError
        If the frames do not fit the input nodes.

    Examples
    --------
    >>> import neuromap as nm
    >>> from neuromap.explorer.explore import explore
    >>> found = explore(nm.load_network("examples/digits/ff.toml"), executions=["windowed"])
    >>> found.gap.is_exact, [row.pattern for row in found.front]
    (True, ['streaming'])
    """
    require_weights(network)
    specs = _chips(chips)
    wanted = _executions(executions)
    options = [(s, t) for s in dict.fromkeys(_listed(splitters)) for t in dict.fromkeys(_listed(ticks_per_step))]
    for s, t in options:
        MappingOptions(splitters=s, ticks_per_step=t)
    _check(within, seconds, most_mapped, processes)
    allows: Callable[[ExploredRow], bool] = getattr(limits, "allows", limits) or _anything
    names = named_patterns(network, given)
    checked, stimulus = choose_frames(network, frames, RandomFrames(n_frames, seed, density))
    setting = Setting(
        network, {chip.name: chip for chip in specs}, checked, verify, EngineChoice(engine, threads, noise_seed)
    )
    kept = ResultsFile(results)

    graph = graph_of(network)
    space = pattern_space(graph, list(names.patterns), seed=seed)
    if within == "class":
        space = space.of_class(names.given)
    ways, keys = _ways(network, graph, space, specs, wanted, options, names)
    groups = [group for way in ways for group in groups_of(way)]
    digest = digest_of_setting(setting)
    rows = DescribedRows(groups, keys, names, digest)
    with MappingProcesses(setting, processes) as helpers:
        search = Search(
            groups, rows.seeds, rows.candidate, rows.describe, allows, rows.key, kept, helpers, verify, processes
        )
        complete = search.run(seconds=seconds, most_mapped=most_mapped, progress=progress)
    n_candidates = space.n_patterns * len(wanted) * len(options) * len(specs)
    listed = listed_rows(search, rows)
    classes = count_behaviour_classes(network)
    return Exploration(
        network=network,
        given=names.given,
        chips=tuple(specs),
        rows=listed,
        n_valid_patterns=space.n_valid,
        n_classes=classes,
        n_candidates=n_candidates,
        n_rows=sum(len(way.table) for way in ways),
        n_mapped=len(search.found),
        gap=gap_of(search, space, complete, limits is not None),
        stimulus=stimulus,
    )


def _anything(row: ExploredRow) -> bool:
    return True


def _listed(values: Any) -> list[Any]:
    return [values] if values is None or isinstance(values, (str, int)) else list(values)


def _choices(what: str, values: Any, known: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(_listed(values)))
    for value in found:
        if value not in known:
            raise InputError(f"{what} {value!r}: unknown; choose {' or '.join(map(repr, known))}")
    if not found:
        raise InputError(f"{what}: none given; choose {' or '.join(map(repr, known))}")
    return found


def _executions(executions: Any) -> list[str]:
    found = list(dict.fromkeys(_listed(executions)))
    for execution in found:
        if (chosen_period(execution) or 1) > MAX_PERIOD:
            raise InputError(
                f"execution {execution!r}: the explorer takes frame periods up to {MAX_PERIOD} update steps"
            )
    if not found:
        raise InputError(f"executions: none given; choose {' or '.join(map(repr, EXECUTIONS))}")
    return found


def _check(within: str, seconds: float | None, most_mapped: int | None, processes: int) -> None:
    _choices("within", within, ("all", "class"))
    if seconds is not None and not 0 <= seconds < float("inf"):
        raise InputError(f"seconds = {seconds}: must be 0 or more, and finite")
    if most_mapped is not None and most_mapped < 0:
        raise InputError(f"most_mapped = {most_mapped}: must be 0 or more")
    if not 1 <= processes <= 1024:
        raise InputError(f"processes = {processes}: must be 1 to 1024")


def _chips(chips: Any) -> list[ChipSpec]:
    wanted = [chips] if isinstance(chips, (str, Path, ChipSpec)) else list(chips)
    if not wanted:
        raise InputError("chips: none given; name at least one, such as truenorth")
    found: dict[str, ChipSpec] = {}
    for chip in map(load_chip, wanted):
        if chip.name in found and found[chip.name] != chip:
            raise InputError(f"chips: two have the name {chip.name}; give one of them another name")
        found[chip.name] = chip
    return list(found.values())


def _ways(
    network: Network,
    graph: Graph,
    space: PatternSpace,
    chips: Sequence[ChipSpec],
    executions: Sequence[str],
    options: Sequence[tuple[str, int | None]],
    names: NamedPatterns,
) -> tuple[list[Way], dict[bool, Keys]]:
    """Tables of rows, and every way to map them once."""
    streaming = Rollout(network, RolloutPattern.streaming(network))
    first = min(streaming.first_responses.values())
    full = max(response.steps for response in streaming.full_responses.values())
    if not all(response.is_exact for response in streaming.full_responses.values()):
        full = first
    legal = legalise(streaming, chips[0])
    number = {name: k for k, name in enumerate(network.nodes)}
    thresholds = {number[p.name]: p.threshold for p in legal.populations if not p.is_relay}
    sharing = sharing_of(graph, thresholds, chips)
    given = np.array(names.given.values, np.uint8)
    tables: dict[bool, RowTable] = {}
    keys: dict[bool, Keys] = {}
    ways: list[Way] = []
    for chip in chips:
        least = core_bound_of_all(network, chip)
        known: set[tuple[str, bytes]] = set()
        for splitters, ticks in options:
            by_pattern = splitters == "anywhere"
            if by_pattern not in tables:
                weights = core_weights(graph, chip)
                tables[by_pattern] = row_table(space, executions, given, sharing, weights, by_pattern=by_pattern)
                keys[by_pattern] = Keys(graph, sharing, executions, by_pattern)
            table = tables[by_pattern]
            stretch = stretches(table, chip, ticks)
            # as many ticks per step as the delays need anyway are no other way, unless splitters may use them
            same = (splitters, stretch.tobytes() + (str(ticks).encode() if by_pattern else b""))
            if same not in known:
                known.add(same)
                ways.append(Way(chip, splitters, ticks, table, stretch, least, first, full))
    return ways, keys
