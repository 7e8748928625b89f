"""Times of rollouts over the number of cores, in seconds: which one answers first, and which samples most often."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from neuromap.errors import InputError
from neuromap.mapping.legalise.legalised import needed_for
from neuromap.network.network import Network
from neuromap.render.document import EXECUTION, NUMBER, PATTERN, POSITIVE, TEXT, each, pair, record
from neuromap.render.numbers import seconds as with_unit
from neuromap.render.plot import Panel, Plot, Point, draw_panels, log_ends
from neuromap.render.svg import standalone
from neuromap.render.table import Table, text_table
from neuromap.render.value import Formed
from neuromap.rollout.behaviour import count_valid_patterns, enumerate_valid
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.schedule.tick_seconds import FIGURES, Seconds, path_first
from neuromap.simulation.cost.frame_work import FrameWork

# Most valid patterns for which the best of all is sought.
MOST_PATTERNS = 256
# Titles of the figures.
TITLES: Mapping[str, str] = {
    "first": "first response",
    "full": "full response",
    "period": "frame period",
    "reaction": "reaction, worst case",
}
_VERBS: Mapping[str, str] = {
    "first": "answers before",
    "full": "answers in full before",
    "period": "samples more often than",
    "reaction": "reacts before",
}
BEST = "best of all patterns"


class CoresRow(NamedTuple):
    """A rollout and its seconds on every number of cores."""

    pattern: str
    execution: str
    figures: tuple[Seconds, ...]  # by numbers of cores

    @property
    def name(self) -> str:
        """Pattern and execution."""
        return ", ".join(filter(None, (self.pattern, self.execution)))


class Lead(NamedTuple):
    """Numbers of cores on which the first rollout is strictly ahead of another."""

    figure: str  # one of FIGURES
    ahead: str  # name of the row that is ahead
    other: str  # name of the other row
    ranges: tuple[tuple[int, int], ...]  # first and last number of cores
    # least, most: the range of cores that was examined
    least: int
    most: int

    @property
    def told(self) -> str:
        """The same in words."""
        ahead, other = (_with_execution(name) for name in (self.ahead, self.other))
        where = f"on {self.least} to {self.most} cores"
        if not self.ranges:
            return f"{ahead} never {_VERBS[self.figure]} {other} {where}"
        begin, end = self.ranges[-1]
        if begin > self.least or end < self.most:
            where = f"from {begin} cores on" if end == self.most else f"on {begin} to {end} cores"
        # near a crossing it matters that the parts of a node are not quite equal
        some = f", and on some numbers from {self.ranges[0][0]} on" if len(self.ranges) > 1 else ""
        return f"{ahead} {_VERBS[self.figure]} {other} {where}{some}"


def _with_execution(name: str) -> str:
    pattern, _, execution = name.rpartition(", ")
    return f"{pattern} ({execution})" if pattern else name


@dataclass(frozen=True, eq=False)
class SecondsOverCores(Formed):
    """Seconds of rollouts over numbers of cores.

    Attributes
    ----------
    work : FrameWork
        Work of a frame, and its chip.
    output : str
        Output node of the responses.
    cores : tuple of int
        Numbers of cores.
    rows : tuple of CoresRow
        The rollouts, in the order given; last the least of every figure over these and all other patterns, if there are
        few. No single rollout need have all of these figures.
    leads : tuple of Lead
        Where the first rollout is ahead of the others, figure by figure.
    """

    _called = "a table of seconds over cores"
    _forms = ("neuromap.report.over_cores",)

    work: FrameWork
    output: str
    cores: tuple[int, ...]
    rows: tuple[CoresRow, ...]
    leads: tuple[Lead, ...]

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.work.network.name,
            "chip": self.work.chip.name,
            "cores": f"{self.cores[0]} to {self.cores[-1]}",
            "rows": len(self.rows),
        }


def seconds_over_cores(
    work: FrameWork,
    patterns: Sequence[RolloutPattern | str] = ("streaming", "sequential"),
    executions: Sequence[str] = ("windowed",),
    *,
    cores: Sequence[int] | None = None,
    output: str | None = None,
) -> SecondsOverCores:
    """Time rollouts over numbers of cores, with neurons evenly spread.

    Parameters
    ----------
    work : FrameWork
        Result of :func:`neuromap.simulation.cost.frame_work.count_frame_work`.
    patterns : sequence of RolloutPattern or str
        The first one is compared with all others.
    executions : sequence of str
        Executions of all patterns. Rollouts with the same times as an earlier one are left out.
    cores : sequence of int, optional
        Numbers of cores; by default powers of two from the least that hold all neurons to those of the board.
    output : str, optional
        Output node; may be left out if there is only one.

    Returns
    -------
    SecondsOverCores
        With ``save`` as SVG or text; a notebook shows the picture.

    Raises
    ------
    InputError
        If a number of cores is below 1 or more than the board has, an execution unknown or there is no such output.
    PatternError
        If a pattern is invalid or unknown.
    """
    network = work.network
    numbers = tuple(sorted({*cores})) if cores is not None else _powers(work)
    if not numbers or numbers[0] < 1:
        raise InputError(f"cores {list(numbers)}: give numbers of cores, 1 or more")
    if numbers[-1] > (most := max(work.least_cores, work.most_cores)):
        raise InputError(f"cores {numbers[-1]}: {work.chip.name} has {work.most_cores}; give 1 to {most}")
    rollouts: dict[tuple[str, str], Rollout] = {}
    times = set()
    for pattern in patterns:
        for execution in executions:
            rollout = Rollout(network, pattern, execution)
            phases = [rollout.phases[name] - next(iter(rollout.phases.values())) for name in network.nodes]
            if (key := (rollout.frame_period, *phases)) not in times:
                times.add(key)
                rollouts[rollout.pattern.name or "unnamed", execution] = rollout
    if not network.is_spiking:
        shortest = path_first(network, _shortest_path(network, output or network.outputs[0]))
        rollouts["shortest path first", shortest.execution] = shortest
    rows = [CoresRow(*name, tuple(work.seconds(one, n, output) for n in numbers)) for name, one in rollouts.items()]
    if not network.is_spiking and (best_of_all := _best_of_all(work, executions, numbers, output)):
        every = [best_of_all, *(row.figures for row in rows)]
        rows.append(CoresRow(BEST, "", tuple(map(_least, *every))))
    (ahead, first), *others = rollouts.items()
    # pipelined rollouts compute every node in every tick and are no faster than streaming
    others = [(name, other) for name, other in others if name[1] != "pipelined"]
    figures = ("first", "reaction")
    found = work.leads(first, [other for _, other in others], figures, output) if others else ()
    leads = [
        Lead(figure, ", ".join(ahead), ", ".join(name), ranges, work.least_cores, most)
        for figure, of_others in zip(figures, found, strict=False)
        for (name, _), ranges in zip(others, of_others, strict=True)
    ]
    return SecondsOverCores(work, output or network.outputs[0], numbers, tuple(rows), tuple(leads))


def _powers(work: FrameWork) -> tuple[int, ...]:
    least, most = work.least_cores, max(work.least_cores, work.most_cores)
    found = {least, most, *(2**k for k in range(most.bit_length()) if least <= 2**k <= most)}
    return tuple(sorted(found))


def _shortest_path(network: Network, output: str) -> list[str]:
    import networkx as nx  # slow to import

    graph: nx.DiGraph[str] = nx.DiGraph(list(network.edges))
    found = [nx.shortest_path(graph, u, output) for u in network.inputs if nx.has_path(graph, u, output)]
    return min(found, key=len)


def _best_of_all(
    work: FrameWork, executions: Sequence[str], cores: Sequence[int], output: str | None
) -> tuple[Seconds, ...]:
    """Return the least of every figure over all valid patterns; empty if there are too many."""
    valid = count_valid_patterns(work.network).value
    if valid is None or valid > MOST_PATTERNS:
        return ()
    kinds = [e for e in executions if ":" not in e]  # a chosen period is too short for some patterns
    every = [Rollout(work.network, p, e) for p in islice(enumerate_valid(work.network), MOST_PATTERNS) for e in kinds]
    return tuple(_least(*(work.seconds(rollout, n, output) for rollout in every)) for n in cores) if every else ()


def _least(*seconds: Seconds) -> Seconds:
    """Return the least of every figure."""
    return Seconds(*(min(getattr(one, figure) for one in seconds) for figure in FIGURES))


# Forms.

# A table of seconds over cores, as a member of a JSON document.
SECONDS = record(
    chip=TEXT(at="work.chip.name"),
    output=TEXT,
    cores=each(POSITIVE),
    rows=each(
        record(
            pattern=PATTERN,
            execution=EXECUTION,
            **{figure: each(NUMBER.by(attrgetter(figure)))(at="figures") for figure in FIGURES},
        )
    ),
    leads=each(record(figure=TEXT, ahead=TEXT, other=TEXT, ranges=each(pair(POSITIVE)))),
)


def tables(over: SecondsOverCores, figures: Sequence[str] = ("first", "period")) -> Iterator[tuple[str, Table[Any]]]:
    """Make a table for each figure: a line for every number of cores, a column for every rollout."""
    spread, names = _spread(over.work.network), [(row.pattern, row.execution) for row in over.rows]
    headers = ["cores", *(f"{name},\n{kind}" if kind else name.replace(" of ", " of\n") for name, kind in names)]
    for figure in figures:
        lines = [
            [str(n), *(with_unit(getattr(row.figures[k], figure)) for row in over.rows)]
            for k, n in enumerate(over.cores)
        ]
        title = f"{TITLES[figure].capitalize()} on {over.work.chip.name}, {spread}."
        yield title, text_table(headers, lines, (), repeated=(0,))


def _spread(network: Network) -> str:
    """Say which neurons are spread: all, also those that the mapper leaves out, as no output depends on them."""
    wanted = {name: np.full(node.size, name in network.outputs) for name, node in network.nodes.items()}
    reads = ((*key, term.matrix.tocsr()) for key, edge in network.edges.items() for term in edge.terms)
    needed = needed_for(wanted, reads)
    idle = sum(int((~needed[name]).sum()) for name in network.nodes if name not in network.inputs)
    told = f", with {idle:,} on which no output depends and which the mapper leaves out"
    return f"neurons evenly spread{told if idle else ''}"


def render_text(over: SecondsOverCores, width: int = 160) -> str:
    """Write tables and leads as text."""
    parts = [f"{title}\n{table.text(width)}\n" for title, table in tables(over)]
    return "\n".join([*parts, *(f"{lead.told}." for lead in over.leads)]) + "\n"


def to_svg(over: SecondsOverCores) -> str:
    """Draw first response and frame period over cores, on logarithmic axes."""
    panels = []
    for figure in ("first", "period"):
        values = [getattr(one, figure) * 1e6 for row in over.rows for one in row.figures]
        lines = {
            row.name: [
                Point(str(n), getattr(one, figure) * 1e6, f"{row.name}, {n} cores: {with_unit(getattr(one, figure))}")
                for n, one in zip(over.cores, row.figures, strict=True)
            ]
            for row in over.rows
        }
        bottom, top = log_ends(min(values), max(values))
        panels.append(Panel(f"{TITLES[figure]} [µs]", lines, top, bottom=bottom))
    title = f"Seconds of {over.work.network.name} on {over.work.chip.name} over cores"
    return standalone(draw_panels(Plot("cores", panels, "rollout", radius=(2.2, 0.9)), title))


def to_notebook(over: SecondsOverCores) -> str:
    """Show the picture and the leads."""
    from html import escape

    from neuromap.render.svg import inline_image

    told = "".join(f"<li>{escape(lead.told)}</li>" for lead in over.leads)
    return f"{inline_image(to_svg(over))}<ul>{told}</ul>"
