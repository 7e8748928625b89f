"""``neuromap watch``: watch a run in the terminal."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import neuromap as nm
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.run_options import MAX_TICKS, FrameFlags, check_run_length
from neuromap.cli.printing.text_output import print_line, text_console
from neuromap.errors import InputError
from neuromap.options import argument, option
from neuromap.simulation.choose_frames import DEFAULT_FRAMES, RandomFrames, choose_frames
from neuromap.simulation.engine.engine_choice import EngineChoice

if TYPE_CHECKING:
    from rich.console import Group

    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.simulation.run.live_run import FrameSource, LiveRun


EXAMPLES = """\
\b
Examples:
  neuromap watch sr.nmp
  neuromap watch sr.nmp --speed 2 --classes 10
  neuromap watch sr.nmp --stimulus digits.safetensors --classes 10 --speed 0
  neuromap watch sr.nmp --frames 10 --seed 7 --speed 1
\b
Keys: space pauses and goes on, t runs a tick, f a frame, + and - change the
speed, q ends.
"""

_SPEED = 10.0
# Seconds between two updates of the screen.
_DRAWN = 0.1
# Rows of a terminal of unknown size.
_SIZE_WITHOUT = 24


class WatchFrames(FrameFlags):
    """Input frames of a watched run, which may be endless."""

    n_frames: int = option(
        "--frames, --random N  Without --stimulus: make N random frames, frame 0 included, and end after them, as "
        "simulate does.  [default: without end in a terminal, else 32]",
        DEFAULT_FRAMES,
        needs="a whole number, 2 or more",
    )


@command
def watch(
    program_file: Path = argument("PROGRAM  Program file (see neuromap map -o)."),
    *,
    fed: WatchFrames,
    ticks: int | None = option("N  End after so many ticks, whatever the frames.", within=(1, MAX_TICKS)),
    speed: float | None = option(
        "S  Ticks per second of wall time; 0 for as fast as it goes.  [default: 10 in a terminal, else 0]",
        within=(0, sys.float_info.max),
        must="must be 0 (as fast as it goes) or more ticks per second",
    ),
    classes: int | None = option(
        "C  Name the class of every frame of an output whose neurons C classes share equally: most spikes wins."
    ),
    engine: Given[EngineChoice],
) -> None:
    """Run a program tick by tick and show what it does: spikes of nodes, busy cores, frames of outputs, pace.

    In a terminal the screen is drawn anew up to ten times a second; a stimulus is shown again and again. Elsewhere
    every frame of an output is a line, and a stimulus ends after its last frame.
    """
    in_terminal = sys.stdout.isatty()
    if speed is None:
        speed = _SPEED if in_terminal else 0.0
    random = fed.random()
    program = nm.load_program(program_file)
    for port in program.nodes:
        if classes is not None and port.kind == "output" and (classes < 1 or port.size % classes):
            raise InputError(
                f"--classes {classes}: cannot share the neurons of an output equally; {port.name} has {port.size}, "
                "give a divisor of it"
            )
    check_run_length(fed.n_frames, program)
    source, n_ticks = _source(program, fed, random, in_terminal)
    if ticks is not None:
        n_ticks = ticks
    run = nm.simulation.LiveRun(program, source, engine.made())
    if in_terminal:
        _show(run, n_ticks, speed, classes)
    else:
        _tell(run, n_ticks, speed, classes)


def _source(
    program: ChipProgram, fed: WatchFrames, random: RandomFrames, in_terminal: bool
) -> tuple[FrameSource | None, int | None]:
    """Select the input frames, and the number of ticks after which they end."""
    from neuromap.simulation.run.tick_run import ticks_to_run

    if in_terminal and fed.frames is None and "n_frames" not in fed:
        density = nm.simulation.RandomSource(program, seed=fed.seed).density if fed.density is None else fed.density
        return nm.simulation.RandomSource(program, density, fed.seed), None
    frames, made = choose_frames(program, fed.frames, random)
    check_run_length(made["n_frames"], program)
    is_endless = in_terminal and fed.frames is not None
    return nm.simulation.GivenFrames(program, frames), None if is_endless else ticks_to_run(program, made["n_frames"])


def _tell(run: LiveRun, n_ticks: int | None, speed: float, classes: int | None) -> None:
    """Print one line per output frame."""
    from neuromap.cli.printing.watch_screen import frame_line, head_lines, output_seen

    console = text_console()
    for line in head_lines(run.program):
        print_line(console, line)
    start = time.monotonic()
    last = -1
    while n_ticks is None or run.now < n_ticks:
        if speed:
            time.sleep(max(0.0, start + run.now / speed - time.monotonic()))
        run.tick()
        for shown in [one for one in run.outputs if one.tick > last]:
            print_line(console, frame_line(output_seen(shown, classes)))
        last = run.now - 1
        if speed:
            sys.stdout.flush()
    strays = f", {run.n_strays} output spikes of no frame" if run.n_strays else ""
    chip = run.program.chip
    time_on_chip = "" if chip.is_timed else f", {run.now * chip.tick_seconds:g} s of the chip"
    print_line(console, f"{run.now} ticks{time_on_chip}{strays}")


def _show(run: LiveRun, n_ticks: int | None, speed: float, classes: int | None) -> None:
    """Redraw the screen repeatedly, controlled by keys."""
    from rich.console import Console
    from rich.live import Live

    from neuromap.cli.printing.watch_screen import Player, Watcher, watch_screen

    console, watcher = Console(file=sys.stdout, highlight=False), Watcher(run.program, classes)
    if console.width < 2 or console.height < 2:  # some terminals report no size
        console.size = (80, _SIZE_WITHOUT)
    player = Player(speed, time.monotonic())

    def picture(has_keys: bool) -> Group:
        return watch_screen(run.program, watcher.look(run), player.pace, console, has_keys=has_keys)

    def advance(most: int) -> None:
        """Run ``most`` ticks, or as many as there is time for until the next update."""
        began = run.now
        until = time.monotonic() + _DRAWN
        while run.now - began < most and (n_ticks is None or run.now < n_ticks):
            run.tick()
            if time.monotonic() > until:
                break
        player.ran(run.now - began, time.monotonic())

    with pressed_keys() as keys, Live(console=console, auto_refresh=False, screen=True) as live:
        while not player.ends and (n_ticks is None or run.now < n_ticks):
            began = time.monotonic()
            due = player.due(began)
            advance(MAX_TICKS if due is None else due)
            live.update(picture(keys is not None), refresh=True)
            wait = 0.0 if due is None else max(0.0, began + _DRAWN - time.monotonic())
            if keys is None:
                time.sleep(wait)
            elif key := keys(wait):
                asked = player.press(key, time.monotonic())
                if asked:
                    advance(1 if asked == "tick" else run.ticks_to_frame)
    console.print(picture(has_keys=False))


# Keys pressed while it runs, read one by one if stdin is a terminal that supports it.

# Waits for a key for some seconds and returns it; an empty string if none was pressed.
Keys = Callable[[float], str]


@contextmanager
def pressed_keys() -> Iterator[Keys | None]:
    """Read keys as they are pressed, without echo, within the block.

    Yields
    ------
    callable or None
        ``keys(seconds)``; None if stdin is not a terminal, or the system has no POSIX terminals.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield None
        return
    if sys.stdin is None or not sys.stdin.isatty():
        yield None
        return
    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    ended = False

    def key(wait: float) -> str:
        nonlocal ended
        if ended:
            time.sleep(wait)
            return ""
        ready, _, _ = select.select([stream], [], [], wait)
        found = os.read(stream, 1) if ready else b" "
        if not found:
            ended = True  # the terminal is gone: nobody can stop the run
            return "q"
        return found.decode("ascii", "replace") if ready else ""

    tty.setcbreak(stream)
    try:
        yield key
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
