"""``ChipSweep``: a network's figures on every chip of a sweep over figures of a chip, as one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError, PatternError, VerificationError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import ChipPoint, chips_with_figures, figure_text, load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.diagnosis.dry_run import refuse_early
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.build import require_weights
from neuromap.render.document import ANYTHING, COLUMNS, FLAG, OBJECT, TEXT, document, each, record
from neuromap.render.numbers import as_number, joules, plain, seconds
from neuromap.render.page import SHARED, data_block, page_script, render_page
from neuromap.render.plot import Panel, Plot, Point, draw_panels, round_top
from neuromap.render.svg import inline_image, standalone
from neuromap.render.table import Column, Table, csv_text, print_findings, print_rest, print_text, printed
from neuromap.render.value import Card, Documented, Paged, Printed, Tabled
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from neuromap.sweep.run_store import RunFigure


class SweepColumn(NamedTuple):
    """A figure of every row.

    Attributes
    ----------
    key : str
        Name in rows and in JSON, with its unit. For ``..._ticks``, documents also have ``..._seconds``.
    title : str
        Title for people.
    unit : {"", "ticks", "J", "yes"}
        Unit; ``""`` for counts that the title names, ``"yes"`` for booleans. Ticks are also shown in seconds, by the
        tick of the row's chip.
    is_drawn : bool
        Whether the page plots it over the first figure of the chip; for counts and ticks.
    """

    key: str
    title: str
    unit: Literal["", "ticks", "J", "yes"] = ""
    is_drawn: bool = False


@dataclass(frozen=True, eq=False)
class SweepRow(Card):
    """One chip of a sweep, with one pattern and execution if a sweep has several.

    Attributes
    ----------
    values : tuple
        Values of the figures that were set.
    chip : ChipSpec
        The resulting chip.
    labels : tuple of str
        Further labels of the row, such as pattern and execution.
    figures : mapping of str to number or bool
        By the keys of the sweep's columns; absent if unknown. If ticks last as long as their work, ``..._seconds`` are
        figures too, where timed.
    reason : str
        Why it does not fit or is not a valid rollout, in one line without remedies; empty if it fits.
    message : str
        The same with its remedies.
    is_refused : bool
        Whether it does not fit the chip; otherwise the rollout is not valid.
    cut_short : tuple of str
        Stages whose search ran out of time.
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
        """Return a figure in ticks in seconds; ``None`` if it is not known or was not timed."""
        ticks = self.figures.get(key)
        if ticks is None or self.chip.is_timed:
            return self.figures.get(key.replace("_ticks", "_seconds"))
        return ticks * self.chip.tick_seconds

    def _facts(self) -> dict[str, object]:
        return {"chip": self.chip.name, "fits": self.reason or "yes", **self.figures}


@dataclass(frozen=True, eq=False)
class ChipSweep(Documented, Tabled, Paged, Printed):
    """A network's figures on several chips that differ in some figures.

    Attributes
    ----------
    network : str
        Name of the network.
    what : str
        What was mapped onto every chip, for the headline, such as ``"streaming, windowed"``; empty if the rows tell it.
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
        Validity of the figures, one sentence each.
    version : str
        Version of neuromap.
    """

    _called = "a sweep"
    _forms = ("neuromap.sweep.chip_sweep",)

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
        """Return the figures of a row for documents: those in ticks also in seconds, unknown ones as ``None``."""
        found: dict[str, Any] = {}
        for column in self.columns:
            found[column.key] = row.figures.get(column.key)
            if column.unit == "ticks":
                found[column.key.replace("_ticks", "_seconds")] = row.seconds_of(column.key)
        return found

    @property
    def n_chips(self) -> int:
        """Number of chips."""
        return len({row.chip.name for row in self.rows})

    @property
    def n_fitting(self) -> int:
        """Number of chips on which a row was mapped."""
        return len({row.chip.name for row in self.rows if row.fits})

    @property
    def failed(self) -> tuple[SweepRow, ...]:
        """Mapped rows in which chip and reference disagree."""
        return tuple(row for row in self.rows if row.figures.get("verified") is False)

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 5 if a row is not verified, 0 if any fits, else the reason why none does."""
        if self.failed:
            return VerificationError.exit_code
        if any(row.fits for row in self.rows):
            return 0
        return DoesNotFitError.exit_code if any(row.is_refused for row in self.rows) else PatternError.exit_code


_HEADER_WIDTH = 14
_UNITS = {"": "count", "yes": "true or false"}


def columns_told(columns: Sequence[SweepColumn | RunFigure]) -> list[dict[str, str]]:
    """Describe figures of rows, for documents."""
    return [{"key": c.key, "title": c.title, "unit": _UNITS.get(c.unit, c.unit)} for c in columns]


def _rows(sweep: ChipSweep) -> Iterator[dict[str, Any]]:
    for row in sweep.rows:
        yield {
            "chip": row.chip.name,
            "set": dict(zip(sweep.parameters, row.values, strict=True)),
            **dict(zip(sweep.label_titles, row.labels, strict=True)),
            "fits": row.fits,
            "reason": row.reason,
            "message": row.message,
            "cut_short": list(row.cut_short),
            **sweep.documented(row),
        }


_ROW = record(chip=TEXT, set=OBJECT, fits=FLAG, reason=TEXT, message=TEXT, cut_short=each(TEXT))(
    additionalProperties=ANYTHING
)
DOCUMENT = document(
    "chip-sweep",
    neuromap=TEXT(at="version"),
    network=TEXT,
    chip=TEXT(at="chip.name"),
    set=each(TEXT)(at="parameters"),
    columns=COLUMNS(at=lambda sweep: columns_told(sweep.columns)),
    notes=each(TEXT),
    rows=each(_ROW.by(dict))(at=_rows),
)
# Conversion to plain values; rows have set figures of the chip in ``set``, labels, and the figures of ``columns``.
to_dict = DOCUMENT.of


def to_csv(sweep: ChipSweep) -> str:
    """Write a sweep as CSV (RFC 4180)."""
    return csv_text(
        [
            {
                **dict(zip(sweep.parameters, map(figure_text, row.values), strict=True)),
                **dict(zip(sweep.label_titles, row.labels, strict=True)),
                "fits": row.fits,
                "reason": row.reason,
                **sweep.documented(row),
            }
            for row in sweep.rows
        ]
    )


def headline(sweep: ChipSweep) -> str:
    """Write a headline: what was mapped, and on how many of the chips it fits."""
    fit = f"{sweep.n_fitting} of {sweep.n_chips} chips"
    what = f" ({sweep.what})" if sweep.what else ""
    return f"{sweep.network}{what} on {sweep.chip.name} with other {', '.join(sweep.parameters)}: fits {fit}"


def sweep_table(sweep: ChipSweep) -> Table[SweepRow]:
    """Return a table of all rows: figures that were set, labels, figures of the mapping, and whether it fits."""
    columns = [
        *(_set(k, name) for k, name in enumerate(sweep.parameters)),
        *(_label(k, title) for k, title in enumerate(sweep.label_titles)),
        *(_figure(column, sweep) for column in sweep.columns),
        Column[SweepRow](
            "fits",
            lambda row: row.reason or "yes",
            left=True,
            wraps=True,
            least=8,
            mark=lambda row: "yes" if row.fits else "why",
        ),
    ]
    names = range(len(sweep.parameters) + len(sweep.label_titles))
    style = {True: "green", False: "yellow"}
    return Table(columns, sweep.rows, "All rows", names, lambda row: style[row.fits], is_edged=True, notes=sweep.notes)


def _set(k: int, name: str) -> Column[SweepRow]:
    return Column(name.replace(".", ".\n"), lambda row: figure_text(row.values[k]))


def _label(k: int, title: str) -> Column[SweepRow]:
    return Column(title, lambda row: row.labels[k], left=True, wraps=True)


def _figure(column: SweepColumn, sweep: ChipSweep) -> Column[SweepRow]:
    in_time = any(not row.chip.is_timed or row.seconds_of(column.key) is not None for row in sweep.rows)
    unit = f"\n[ticks{' = time' if in_time else ''}]" if column.unit == "ticks" else ""
    rank = 1 if column.is_drawn or column.unit in ("J", "yes") else 2
    return Column(fill(column.title, _HEADER_WIDTH) + unit, lambda row: _cell(column, row), rank=rank)


def _cell(column: SweepColumn, row: SweepRow) -> str:
    """Write a figure of a row; ticks with their time, ``-`` if unknown."""
    value = row.figures.get(column.key)
    if column.unit == "ticks" and value is not None:
        time = row.seconds_of(column.key)
        return plain(value) if time is None else f"{plain(value)} = {seconds(time)}"
    return figure_cell(column.unit, value)


def figure_cell(unit: str, value: float | bool | None) -> str:
    """Write a figure, or whether something is so; ``-`` if unknown."""
    if unit == "yes":
        return "-" if value is None else "yes" if value else "no"
    return joules(value) if unit == "J" else plain(value)


def print_sweep(sweep: ChipSweep, console: Console, *, every: bool = True) -> None:
    """Print the full table, in parts if the console is narrow, or only the findings and main columns."""
    print_text(console, headline(sweep))
    table = sweep_table(sweep)
    if not every:
        print_findings(console, [text.rstrip(".") for said in findings(sweep).values() for text in said])
    table.print(console, brief=not every)
    if every:
        for note in sweep.notes:
            print_text(console, note)
    else:
        print_rest(console, [*table.left_out(console.width), "what the columns mean"], "--all, --html FILE or --json")


def render_text(sweep: ChipSweep, width: int = 160) -> str:
    """Write the sweep as text."""
    return printed(lambda console: print_sweep(sweep, console), width)


def to_html(sweep: ChipSweep) -> str:
    """Write a sweep as one HTML page that loads nothing and is readable without its scripts."""
    return render_page(
        SHARED,
        "sweep.html.jinja",
        sweep=sweep,
        version=sweep.version,
        script=page_script("tables", "saves"),
        data=[
            data_block("sweep.json", "the data as JSON", to_dict(sweep)),
            data_block("sweep.csv", "all rows as CSV", to_csv(sweep)),
        ],
        findings=findings(sweep),
        table=sweep_table(sweep),
        picture=_drawing(sweep),
        narrow_picture=_drawing(sweep, narrow=True),
    )


def to_notebook(sweep: ChipSweep) -> str:
    """Write drawing and table of a sweep as HTML for a notebook: ``<img>`` and ``<table>``, with all names escaped."""
    drawn = _drawing(sweep)
    image = "" if drawn is None else inline_image(standalone(drawn))
    return image + sweep_table(sweep).html(headline(sweep), names=len(sweep.parameters) + len(sweep.label_titles))


def _drawing(sweep: ChipSweep, *, narrow: bool = False) -> str | None:
    """Draw the main figures over the first figure of the chip, one line per combination of the others."""
    # returns one ``<svg>`` element, whose axes of figures start at 0; ``None`` if no row fits
    lines: dict[str, list[SweepRow]] = {}
    for row in sweep.rows:
        others = zip(sweep.parameters[1:], row.values[1:], strict=True)
        name = ", ".join([*(f"{name} = {figure_text(value)}" for name, value in others), *row.labels])
        lines.setdefault(name, []).append(row)
    panels = []
    for column in sweep.columns:
        known = [float(row.figures[column.key]) for row in sweep.rows if column.key in row.figures]
        if column.is_drawn and known:
            drawn = {name: [_point(column, name, row) for row in rows] for name, rows in lines.items()}
            unit = f" [{column.unit}]" if column.unit else ""
            panels.append(Panel(column.title + unit, drawn, round_top(max(known))))
    if not panels:
        return None
    titles = " and ".join(column.title for column in sweep.columns if column.is_drawn)
    plot, said = Plot(sweep.parameters[0], panels, "line"), f"{titles} over {sweep.parameters[0]}"
    return draw_panels(plot, said, narrow=narrow)


def _point(column: SweepColumn, name: str, row: SweepRow) -> Point:
    value, figure = figure_text(row.values[0]), row.figures.get(column.key)
    tip = row.reason if figure is None else ", ".join(filter(None, [value, name, plain(figure)]))
    return Point(value, figure, tip)


# Findings of a sweep, in sentences: where it fits, and on which chips each figure is least and greatest.


def findings(sweep: ChipSweep) -> dict[str, tuple[str, ...]]:
    """Return the findings of a sweep, in sentences."""
    refused = [row for row in sweep.rows if not row.fits]
    fit = "every chip" if sweep.n_fitting == sweep.n_chips else f"{sweep.n_fitting} of {counted(sweep.n_chips, 'chip')}"
    found = [f"Fits {fit}" + (f"; not with {_chip(sweep, refused[0])}: {refused[0].reason}" if refused else "")]
    found += [said for column in sweep.columns if column.is_drawn if (said := _extent(sweep, column))]
    return {"Findings": tuple(f"{text}." for text in found)}


def _extent(sweep: ChipSweep, column: SweepColumn) -> str:
    """State the least and the greatest value of a figure, and where; empty if no row has it."""
    known: dict[float, list[SweepRow]] = {}
    there = [row for row in sweep.rows if row.fits and row.figures.get(column.key) is not None]
    in_time = column.unit == "ticks" and all(row.seconds_of(column.key) is not None for row in there)
    for row in there:
        value = row.seconds_of(column.key) if in_time else row.figures[column.key]
        if value is not None:
            known.setdefault(value, []).append(row)
    if not known:
        return ""
    least, most = known[min(known)], known[max(known)]
    title = column.title[:1].upper() + column.title[1:]
    if least is most:
        every = " in every row that fits" if len(least) > 1 else ""
        return f"{title}: {_value(column, least[0])}{every}"
    ends = []
    for rows in (least, most):
        more = f" and {counted(len(rows) - 1, 'more row')}" if len(rows) > 1 else ""
        ends.append(f"{_value(column, rows[0])} with {_chip(sweep, rows[0])}{more}")
    return f"{title}: {', up to '.join(ends)}"


def _value(column: SweepColumn, row: SweepRow) -> str:
    if column.unit == "ticks":
        ticks, time = row.figures[column.key], row.seconds_of(column.key)
        return f"{plain(ticks)} tick{'' if ticks == 1 else 's'}{'' if time is None else f' ({seconds(time)})'}"
    return _cell(column, row)


def _chip(sweep: ChipSweep, row: SweepRow) -> str:
    """Return a name for a row: its set figures and its labels."""
    figures = (f"{name} = {figure_text(value)}" for name, value in zip(sweep.parameters, row.values, strict=True))
    labels = f" ({', '.join(row.labels)})" if row.labels else ""
    return ", ".join(figures) + labels


# One rollout, mapped onto several chips.


def sweep_mappings(
    rollout: Rollout,
    chip: str | Path | ChipSpec,
    figures: Mapping[str, Sequence[Any]],
    options: MappingOptions | None = None,
    progress: SweepProgress | None = None,
) -> ChipSweep:
    """Map a rollout onto variants of a chip, one for every combination of values of some of its figures.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        The chip whose figures are changed.
    figures : mapping of str to sequence
        Values of each figure, such as ``{"core.axons": [256, 512]}``; at most 256 chips in all.
    options : MappingOptions, optional
        Options of mapping, for all chips.
    progress : callable, optional
        Called as ``progress(what, chips done, chips in all)``.

    Returns
    -------
    ChipSweep
        A row for every chip: cores used and a lower bound on them, frame period and first response (in ticks, on the
        time axis of the execution), or why the network does not fit.

    Raises
    ------
    ChipError
        If the chip is unknown, a figure is unknown or out of range, or there are too many chips; then none is mapped.
    NetworkError
        If shapes, weights or thresholds are missing.
    InputError
        If the options are not for such a chip.

    Examples
    --------
    >>> import neuromap as nm
    >>> rollout = nm.Rollout(nm.load_network("examples/digits/sr.toml"), "streaming")
    >>> sweep = nm.sweep.sweep_mappings(rollout, "truenorth", {"core.neurons": [128, 256]})
    >>> [row.figures["cores"] for row in sweep.rows]
    [3, 2]
    """
    needs("sweep_mappings", rollout, Rollout)
    require_weights(rollout.network)
    spec = load_chip(chip)
    points = each_chip(spec, figures, progress)
    rows = [_row(Request(rollout, point.chip, options or MappingOptions()), spec, point) for point in points]
    return ChipSweep(
        network=rollout.network.name,
        what=f"{rollout.pattern.name}, {rollout.execution}",
        chip=spec,
        parameters=tuple(figures),
        label_titles=(),
        columns=(CORES, CORE_BOUND, FRAME_PERIOD, FIRST_RESPONSE),
        rows=tuple(rows),
        notes=(
            f"times: of {rollout.execution} execution, predicted from the schedule",
            "first response: from stimulus onset, the least over all outputs",
            *(["ticks last as long as their work: neuromap report times them"] if spec.is_timed else []),
            *bound_notes(options),
        ),
    )


def _row(request: Request, chip: ChipSpec, point: ChipPoint) -> SweepRow:
    began = time.monotonic()
    try:
        early = refuse_early(request)
        if early is not None:
            raise early
        mapped = map_with_stages(request.rollout, request.chip, request.options.after(time.monotonic() - began))
    except DoesNotFitError as refusal:
        message = str(refusal)
        return SweepRow(*point, reason=reason_of(message, refusal.infeasibility, point, chip), message=message)
    budget = Budget(request.options.after(time.monotonic() - began).seconds)
    program, rollout = mapped.program, mapped.rollout
    scale = 1 if rollout.is_tick_level else program.ticks_per_step
    figures = {
        "cores": program.n_cores,
        "core_bound": core_bound(mapped.network, program.chip, budget=budget).total,
        "frame_period_ticks": as_number(program.period),
        "first_response_ticks": scale * min(rollout.first_response(name) for name in rollout.network.outputs),
    }
    return SweepRow(*point, figures=figures, cut_short=(*mapped.cut_short, *budget.cut))


# Parts shared by all sweeps: iteration over chips, common columns, and the wording of refusals.


# Called with the next chip, chips done, and chips in all.
SweepProgress: TypeAlias = Callable[[str, int, int], object]
CORES = SweepColumn("cores", "cores", "", is_drawn=True)
CORE_BOUND = SweepColumn("core_bound", "cores of any mapping, at least")
FRAME_PERIOD = SweepColumn("frame_period_ticks", "frame period", "ticks")
FIRST_RESPONSE = SweepColumn("first_response_ticks", "first response", "ticks")


def each_chip(
    chip: ChipSpec, figures: Mapping[str, Sequence[Any]], progress: SweepProgress | None
) -> Iterator[ChipPoint]:
    """Make all chips of a sweep, then yield them one by one, reporting progress."""
    # chip: the chip whose figures are changed
    points = chips_with_figures(chip, figures)  # here, so that nothing is mapped if one is wrong

    def told() -> Iterator[ChipPoint]:
        for number, point in enumerate(points):
            if progress is not None:
                pairs = zip(figures, point.values, strict=True)
                progress(", ".join(f"{name} = {figure_text(value)}" for name, value in pairs), number, len(points))
            yield point

    return told()


def bound_notes(options: MappingOptions | None) -> tuple[str, ...]:
    """Return a note on the bound on cores if sums may be computed in parts; otherwise nothing."""
    if options is None or options.wide == "refuse":
        return ()
    return ("cores of any mapping: where sums are cut into parts, of mappings with these parts",)


def reason_of(message: str, infeasibility: Any, point: ChipPoint, chip: ChipSpec) -> str:
    """Return a refusal without its remedies, and with the base chip's name, as set values have their own columns."""
    if infeasibility is not None:
        head = f"node {infeasibility.node}: " if infeasibility.node else ""
        message = f"{head}{infeasibility.statement}"
    return message.replace(point.chip.name, chip.name)
