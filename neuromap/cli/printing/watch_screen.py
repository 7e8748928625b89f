"""The screen of ``neuromap watch``, or one line per frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.accuracy import decide, votes_of
from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.numbers import plain, seconds
from neuromap.render.table import printable_line
from neuromap.simulation.run.live_run import LiveRun, OutputFrame
from neuromap.simulation.run.tick_run import SpikeLabels, spikes_by_core
from neuromap.simulation.trace.trace import FrameClock

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text

# Width of text below which bars are short and table columns are close together.
_NARROW = 80
_LEAST_ROWS = 3
# Columns of text between tables side by side.
_BETWEEN = 4
_LONGEST = 400
_LONGEST_NAME = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"
_KEYS = "keys: space pause | t tick | f frame | + - speed | q quit"


class Pace(NamedTuple):
    """Speed of a run."""

    plays: bool  # whether it runs by itself
    wanted: float  # ticks per second of wall time; 0 for as many as possible
    measured: float | None  # the same, as measured recently


_TIMED = ", ticks as long as their work"


def head_lines(program: ChipProgram) -> Iterator[str]:
    """Describe the program and its sampling of frames, one line each."""
    label = f" ({program.pattern}, {program.execution})" if program.pattern else ""
    period = program.period
    every = "tick" if period == 1 else f"{period} ticks" + (" in the mean" if period.denominator > 1 else "")
    chip = program.chip
    sampling = f": {plain(1 / (float(period) * chip.tick_seconds))} Hz in its time"
    yield f"{program.name}{label} on {program.chip.name}"
    yield f"takes in a frame every {every} of the chip{_TIMED if chip.is_timed else sampling}"


def frame_line(shown: OutputSeen) -> str:
    """Write the line of an output frame."""
    sent = "spike" if shown.values is None else "message"
    found = f"tick {shown.tick}: frame {shown.frame} of {shown.node}, {counted(len(shown.neurons), sent)}"
    if shown.named is None:
        return found
    votes = counted(shown.votes, "vote") if shown.values is None else f"value {shown.votes}"
    return f"{found}, class {shown.named} with {votes}"


def watch_screen(program: ChipProgram, look: Look, pace: Pace, console: Console, *, has_keys: bool) -> Group:
    """Draw a run after a tick."""
    from rich.console import Group

    name, sampling = head_lines(program)
    lines = [_line(name, "bold"), _line(sampling, ""), *_clock_lines(program, look, pace)]
    last = [_line(_KEYS, "dim")] if has_keys else []
    return Group(*lines, "", *_tables(program, look, console), *last)


def _tables(program: ChipProgram, look: Look, console: Console) -> list[RenderableType]:
    """Draw nodes and cores, side by side if there is room, and outputs below."""
    from rich.measure import Measurement
    from rich.table import Table

    width, remembered = console.width, counted(look.n_remembered, "tick")
    sent = "spikes" if program.value_ranges is None else "messages"
    of_nodes = _node_lines(look.nodes)
    of_cores = [
        ((f"{core.core}", f"{core.x}, {core.y}", f"{core.spikes:.1f}"), core.spikes / max(1, program.chip.neurons))
        for core in look.cores
    ]
    for parts in (2, 3):  # stacked tables: each has a header of two lines, a rule, a last line and a blank
        rows = max(_LEAST_ROWS, (console.height - 6 - 5 * parts) // parts)
        nodes = _ranked(("node", "neurons", f"{sent},\nlast frame", "mean per\nframe"), of_nodes, rows, width)
        cores = _ranked(("core", "x, y", f"{sent} per tick,\nlast {remembered}"), of_cores, rows, width)
        wide = sum(
            Measurement.get(console, console.options.update(max_width=_LONGEST), t).maximum for t in (nodes, cores)
        )
        if wide + _BETWEEN <= width:
            grid = Table.grid(padding=(0, _BETWEEN, 0, 0))
            grid.add_row(nodes, cores)
            return [grid, "", _output_table(look.outputs, rows, width)]
    return [nodes, "", cores, "", _output_table(look.outputs, rows, width)]


def _clock_lines(program: ChipProgram, look: Look, pace: Pace) -> Iterator[RenderableType]:
    tick, is_timed = program.chip.tick_seconds, program.chip.is_timed
    chip = "" if is_timed else f", {seconds(look.n_ticks * tick)} of the chip"
    strays = f"; {counted(look.n_strays, 'output spike')} of no frame" if look.n_strays else ""
    wanted = "as fast as it goes" if pace.wanted == 0 else f"{plain(pace.wanted)} ticks/s wanted"
    if not pace.plays:
        speed = f"paused ({wanted})"
    elif pace.measured is None:
        speed = f"runs ({wanted})"
    else:
        against = "" if is_timed else f", {pace.measured * tick:.3g} x the chip's pace"
        speed = f"runs {pace.measured:.3g} ticks/s of wall time{against} ({wanted})"
    yield _line(f"{counted(look.n_ticks, 'tick')}{chip}; frame {look.n_frames} shown{strays}", "")
    yield _line(speed, "green" if pace.plays else "yellow")


def _ranked(headers: Sequence[str], lines: Sequence[tuple[Sequence[str], float]], rows: int, width: int) -> Table:
    """Draw the first lines, each with the part of its neurons that spike as a bar."""
    from rich.text import Text

    table = _table(width, *headers, "of its neurons")
    for cells, part in lines[:rows]:
        table.add_row(*_texts(cells), Text(_bar(part, width), style="cyan"))
    if len(lines) > rows:
        table.caption, table.caption_justify = f"and {len(lines) - rows} more", "left"
    return table


def _node_lines(nodes: Sequence[NodeSeen]) -> list[tuple[Sequence[str], float]]:
    lines: list[tuple[Sequence[str], float]] = []
    for node in nodes:
        mean = "-" if node.mean is None else f"{node.mean:.1f}"
        name = f"{printable_line(node.name, _LONGEST_NAME)} ({node.kind})"
        lines.append(((name, f"{node.size}", f"{node.spikes}", mean), node.spikes / max(1, node.size)))
    return lines


def _output_table(outputs: list[OutputSeen], rows: int, width: int) -> Table:
    has_classes = any(shown.named is not None for shown in outputs)
    is_graded = any(shown.values is not None for shown in outputs)
    sent, votes = ("messages", "value") if is_graded else ("spikes", "votes")
    headers = ["output", "frame", "tick", sent, *(["class", votes] if has_classes else [])]
    cells = [
        [
            printable_line(shown.node, _LONGEST_NAME), f"{shown.frame}", f"{shown.tick}", f"{len(shown.neurons)}",
            *([f"{shown.named}", f"{shown.votes}"] if has_classes else []),
        ]
        for shown in outputs[:rows]
    ]  # fmt: skip
    taken = sum(max(map(len, column)) + (3 if width >= _NARROW else 1) for column in zip(headers, *cells, strict=True))
    table = _table(width, *headers, "neurons: values" if is_graded else "neurons that spiked")
    for line, shown in zip(cells, outputs, strict=False):
        some = [str(neuron) for neuron in shown.neurons[:width]]
        if shown.values is not None:
            some = [f"{neuron}: {value}" for neuron, value in zip(some, shown.values.tolist(), strict=False)]
        text, most = ", ".join(some), width - taken
        table.add_row(*_texts([*line, text if len(text) <= most else f"{text[: max(0, most - 4)]} ..."]))
    return table


def _table(width: int, *headers: str) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, int(width >= _NARROW)))
    for position, header in enumerate(headers):
        numbers = 0 < position < len(headers) - 1
        table.add_column(Text(header), justify="right" if numbers else "left", no_wrap=True, overflow="ellipsis")
    return table


def _bar(part: float, width: int) -> str:
    """Draw a fraction as a bar, to an eighth of a column."""
    columns = 16 if width >= _NARROW else 8
    eighths = max(round(8 * columns * min(1.0, part)), int(part > 0))
    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return f"{bar:{columns}} {100 * part:3.0f} %"


def _texts(cells: Sequence[str]) -> list[Text]:
    from rich.text import Text

    return [Text(printable_line(cell, _LONGEST)) for cell in cells]


def _line(text: str, style: str) -> RenderableType:
    from rich.text import Text

    return Text(printable_line(text, _LONGEST), style=style, no_wrap=True, overflow="ellipsis")


# State of a live run: figures of nodes, cores and outputs after its last tick.


# Most output frames in a ``Look``, the latest first.
_FRAMES_KEPT = 32


class NodeSeen(NamedTuple):
    """Figures of a node."""

    # name, kind: name of the node, and whether it is an input, hidden or an output
    name: str
    kind: str
    size: int  # number of neurons
    spikes: int  # spikes of its last frame; for an input, in the last sampled frame
    mean: float | None  # mean spikes per frame over the remembered ticks; None for inputs, and before the first period


class CoreSeen(NamedTuple):
    """Figures of a core."""

    core: int  # its row in the program
    # x, y: its coordinates on the board
    x: int
    y: int
    spikes: float  # mean spikes per tick over the remembered ticks


class OutputSeen(NamedTuple):
    """A frame of an output."""

    node: str  # the output
    # frame, tick: number of the frame, and the tick at which it was shown
    frame: int
    tick: int
    neurons: NDArray[np.int64]  # neurons that spiked
    named: int | None  # the class with the most votes, if classes are requested
    votes: int  # votes for that class; for graded outputs, the sum of its values
    values: NDArray[np.int32] | None = None  # values that ``neurons`` sent; None for spikes


class _Counted(NamedTuple):
    """Spikes of a tick, by node and by core."""

    tick: int
    nodes: NDArray[np.int64]
    cores: NDArray[np.int64]


class Look(NamedTuple):
    """State of a live run after a tick."""

    n_ticks: int  # number of ticks run
    n_frames: int  # number of the last frame that an output showed
    n_remembered: int  # number of ticks over which means are taken
    nodes: list[NodeSeen]  # inputs first, then in the program's order
    cores: list[CoreSeen]  # the busiest first; silent ones are left out
    outputs: list[OutputSeen]  # the last frames, the latest first
    n_strays: int  # output spikes that belong to no frame


class Watcher:
    """Observes a live run repeatedly; counts every tick once, as long as the run remembers it."""

    # remembered: most ticks over which means are taken

    def __init__(self, program: ChipProgram, classes: int | None = None, remembered: int = 256) -> None:
        self._program, self._classes = program, classes
        self._labels = SpikeLabels(program)
        # the last two frames of every node are among them
        self._turn, self._clock = program.period.numerator, FrameClock.of(program.nodes, program.period, 0)
        self._counted: deque[_Counted] = deque(maxlen=max(remembered, 2 * self._turn))

    def look(self, run: LiveRun) -> Look:
        """Return the state of a run after any number of further ticks."""
        last = self._counted[-1].tick if self._counted else -1
        # nodes: without copies, relays and parts of sums; cores: all
        self._counted.extend(
            _Counted(sent.tick, self._labels.by_node([sent]), spikes_by_core(self._program, [sent]))
            for sent in run.history
            if sent.tick > last
        )
        shown = [output_seen(one, self._classes) for one in run.outputs[: -_FRAMES_KEPT - 1 : -1]]
        return Look(
            n_ticks=run.now,
            n_frames=max((one.frame for one in shown), default=0),
            n_remembered=len(self._counted),
            nodes=self._nodes(run),
            cores=self._cores(),
            outputs=shown,
            n_strays=run.n_strays,
        )

    def _nodes(self, run: LiveRun) -> list[NodeSeen]:
        period, counted = self._program.period, list(self._counted)
        none = np.zeros(len(self._program.nodes), np.int64)
        at = {one.tick: one.nodes for one in counted}
        begun = self._clock.frames_of(np.full_like(none, run.now - 1), np.arange(len(none))).frame
        ticks = ticks_of_frames(self._clock.start, period, begun).tolist()
        last = [int(at.get(tick, none)[k]) for k, tick in enumerate(ticks)]
        # over whole turns of frames, as a part of one has more or fewer of a node's than its share
        whole = len(counted) // self._turn * self._turn
        mean = sum((one.nodes for one in counted[-whole:]), none) * float(period) / whole if whole else None
        fed = run.input_frame or {}
        found = [
            NodeSeen(port.name, port.kind, port.size, int(np.count_nonzero(fed.get(port.name, ()))), None)
            if port.kind == "input"
            else NodeSeen(port.name, port.kind, port.size, last[k], None if mean is None else float(mean[k]))
            for k, port in enumerate(self._program.nodes)
        ]
        return sorted(found, key=lambda node: node.kind != "input")

    def _cores(self) -> list[CoreSeen]:
        spikes = sum((one.cores for one in self._counted), np.zeros(self._program.n_cores, np.int64))
        busy = np.argsort(-spikes, kind="stable")[: np.count_nonzero(spikes)]
        places = self._program.coordinates
        return [
            CoreSeen(int(c), int(places[c, 0]), int(places[c, 1]), float(spikes[c]) / len(self._counted)) for c in busy
        ]


def output_seen(shown: OutputFrame, classes: int | None) -> OutputSeen:
    """Return what an output showed, and its predicted class."""
    neurons = np.flatnonzero(shown.spikes)
    values = None if shown.spikes.dtype == np.bool_ else shown.spikes[neurons]
    if classes is None:
        return OutputSeen(shown.node, shown.frame, shown.tick, neurons, None, 0, values)
    named = int(decide(shown.spikes, classes))
    votes = int(votes_of(shown.spikes, classes)[named])
    return OutputSeen(shown.node, shown.frame, shown.tick, neurons, named, votes, values)


# Speed that means as fast as possible.
FASTEST = 0.0
# Seconds over which the pace is measured.
_SPAN = 2.0
# Range of ticks per second by keys; above it, a run goes as fast as possible.
_RANGE = (1 / 64, 2.0**20)


class Player:
    """Decides how many ticks to run now; times are seconds of any monotonic clock.

    Parameters
    ----------
    speed : float
        Ticks per second, or :data:`FASTEST`.
    now : float
        Current time.
    """

    def __init__(self, speed: float, now: float) -> None:
        self.speed = speed
        self.plays = True
        self.ends = False
        self._since, self._done = now, 0
        self._seen: deque[tuple[float, int]] = deque([(now, 0)])

    def press(self, key: str, now: float) -> str:
        """Handle a key.

        Returns
        -------
        str
            ``"tick"`` or ``"frame"`` to run one more of them, else ``""``.
        """
        if key == " ":
            self.plays = not self.plays
        elif key in ("t", "f"):
            self.plays = False
        elif key in ("+", "=", "-"):
            self._change(2.0 if key != "-" else 0.5)
        elif key in ("q", "\x04"):
            self.ends = True
        self._since, self._done = now, 0
        return {"t": "tick", "f": "frame"}.get(key, "")

    def due(self, now: float) -> int | None:
        """Return the number of ticks to run now; None for as many as there is time for."""
        if not self.plays:
            return 0
        if self.speed == FASTEST:
            return None
        return max(0, int((now - self._since) * self.speed) + 1 - self._done)

    def ran(self, n_ticks: int, now: float) -> None:
        """Record ticks that were run; ticks missed by a slow machine are not caught up."""
        self._done += n_ticks
        if self.speed != FASTEST and (now - self._since) * self.speed > self._done + 1:
            self._since, self._done = now, 0
        self._seen.append((now, self._seen[-1][1] + n_ticks))
        while len(self._seen) > 2 and now - self._seen[1][0] > _SPAN:
            self._seen.popleft()

    @property
    def pace(self) -> Pace:
        """Speed for display."""
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        measured = (after - before) / (last - first) if last > first else None
        return Pace(self.plays, self.speed, measured)

    def _change(self, factor: float) -> None:
        if self.speed == FASTEST:
            self.speed = FASTEST if factor > 1 else _RANGE[1]
            return
        wanted = self.speed * factor
        self.speed = FASTEST if wanted > _RANGE[1] else max(_RANGE[0], wanted)
