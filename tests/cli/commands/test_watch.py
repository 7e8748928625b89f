"""``neuromap watch``: what it shows is what ``simulate`` computes; keys, pace and small terminals."""

import os
import re
import select
import subprocess
import sys
import time
from io import StringIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import neuromap as nm
from neuromap.cli.printing.watch_screen import FASTEST, Pace, Player, Watcher, watch_screen
from neuromap.simulation.run.live_run import GivenFrames, LiveRun


@pytest.mark.parametrize("fed", [("--frames", "7", "--seed", "3"), ("--stimulus", "frames.safetensors")])
def test_lines_are_the_frames_of_simulate(fed, neuromap, program, monkeypatch):
    monkeypatch.chdir(program.parent)
    expected = neuromap("simulate", program, *fed, "--json").json
    done = neuromap("watch", program, *fed, "--classes", "3")
    assert (done.code, done.err) == (0, "")
    head, sampling, *lines, last = done.out.splitlines()
    period = expected["frame_period_ticks"]
    assert head == "SR (hybrid, pipelined) on truenorth"
    assert sampling.startswith("takes in a frame every ")
    assert sampling.endswith(f": {1000 / period:g} Hz in its time")
    output, spiking = expected["outputs"]["O"], expected["outputs"]["O"]["spiking_neurons_per_frame"]
    found = [
        re.fullmatch(r"tick (\d+): frame (\d+) of O, (\d+) spikes?, class (\d) with (\d) votes?", x).groups()
        for x in lines
    ]
    assert [tuple(map(int, one)) for one in found] == [
        (output["frame_0_tick"] + i * period, i, len(neurons), min(neurons, default=0), int(bool(neurons)))
        for i, neurons in enumerate(spiking)
        if i
    ]
    assert last == f"{expected['ticks']} ticks, {expected['ticks'] / 1000:g} s of the chip"


@pytest.fixture(scope="module")
def watched():
    """A run with relays under a period of several ticks, with what was recorded of the same frames."""
    rng = np.random.default_rng(5)
    net = nm.build_network(
        {"I": (6, None), "H": (5, 1), "G": (3, 1), "O": (4, 1)} | {f"P{k}": (2, 1) for k in range(9)},
        {("I", "H"): rng.integers(0, 2, (5, 6)), ("H", "O"): rng.integers(0, 2, (4, 5))}
        | {("H", "G"): np.ones((3, 5), int), ("G", "O"): np.ones((4, 3), int)}
        | {("I", f"P{k}"): rng.integers(0, 2, (2, 6)) for k in range(9)},
        name="a [red]net",
    )
    program = nm.map_rollout(nm.Rollout(net, "sequential"), nm.load_chip("truenorth", {"time.delay": (1, 1)}))
    assert program.is_relay.any()
    frames = {"I": rng.random((30, 6)) < 0.5}
    return program, frames, nm.simulate(program, frames, record=nm.Recording("all"))


@given(n_ticks=st.integers(0, 40), history=st.integers(1, 30), often=st.booleans())
@settings(deadline=None, max_examples=30)
def test_a_look_counts_what_the_trace_holds(watched, n_ticks, history, often):
    program, frames, trace = watched
    run = LiveRun(program, GivenFrames(program, frames), history=1 if often else history)
    watcher = Watcher(program, remembered=history)
    for _ in range(min(n_ticks, trace.n_ticks)):
        run.tick()
        if often:
            watcher.look(run)
    look = watcher.look(run)
    remembered = max(history, 2 * program.period) if often else history
    first, last = max(0, run.now - remembered), run.now
    sampled = {port.name: port.sample_tick for port in program.nodes}
    assert (look.n_ticks, look.n_remembered) == (last, last - first)
    for node in look.nodes:
        if node.kind == "input":
            continue
        ticks = trace.spikes(node.name)[:, 0]
        begun = range(first, last)
        of_frames = [tick for tick in begun if (tick - sampled[node.name]) % program.period == 0]
        assert node.spikes == (ticks == (of_frames[-1] if of_frames else -1)).sum()
        whole = len(begun) // program.period * program.period
        kept = ((ticks >= last - whole) & (ticks < last)).sum()
        assert node.mean == (pytest.approx(kept * program.period / whole) if whole else None)
    inside = (trace.tick >= first) & (trace.tick < last)
    counts = np.bincount(trace.core[inside], minlength=program.n_cores)
    assert {core.core: core.spikes for core in look.cores} == pytest.approx(
        {c: n / (last - first) for c, n in enumerate(counts) if n}
    )
    assert [core.spikes for core in look.cores] == sorted((core.spikes for core in look.cores), reverse=True)
    for shown in look.outputs:
        assert shown.neurons.tolist() == trace.frames(shown.node)[shown.frame].nonzero()[0].tolist()


@given(
    width=st.integers(40, 200),
    height=st.integers(25, 70),
    n_ticks=st.integers(0, 12),
    classes=st.sampled_from([None, 2]),
)
@settings(deadline=None, max_examples=60)
def test_the_screen_fits_the_terminal_and_shows_names_as_they_are(watched, width, height, n_ticks, classes):
    program, frames, _ = watched
    run = LiveRun(program, GivenFrames(program, frames))
    run.ticks(n_ticks)
    look = Watcher(program, classes).look(run)
    console = Console(width=width, height=height, record=True, file=StringIO(), highlight=False)
    console.print(watch_screen(program, look, Pace(True, 10.0, None), console, has_keys=True))
    lines = console.export_text().splitlines()
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert lines[0].startswith("a [red]net (sequential, windowed) on truenorth"[: width - 1])
    assert width < 60 or any("I (input)" in line for line in lines)


@given(
    speed=st.floats(0.1, 1e4),
    steps=st.lists(st.tuples(st.floats(0.001, 3), st.floats(0, 1)), min_size=1, max_size=30),
)
@settings(deadline=None, max_examples=120)
def test_a_player_never_runs_ahead_of_its_speed_and_keeps_up_where_it_can(speed, steps):
    now, ran, player = 100.0, 0, Player(speed, 100.0)
    keeps_up = True
    for wait, share in steps:
        now += wait
        due = player.due(now)
        assert due >= 0
        done = due if share > 0.5 else due // 2
        keeps_up &= done == due
        player.ran(done, now)
        ran += done
        assert ran <= (now - 100.0) * speed + 1 + 1e-6
    if keeps_up:
        assert ran == pytest.approx((now - 100.0) * speed + 0.5, abs=0.5 + 1e-6)


def test_keys_pause_step_change_the_speed_and_end():
    player = Player(8.0, 0.0)
    assert player.press(" ", 1.0) == ""
    assert player.due(50.0) == 0
    assert player.press(" ", 60.0) == ""
    assert player.due(60.0) == 1  # what was missed while it was paused is not made up for
    assert [player.press(key, 61.0) for key in "tf"] == ["tick", "frame"]
    assert not player.plays
    for key, speed in [("+", 16.0), ("-", 8.0), ("-", 4.0)]:
        player.press(key, 62.0)
        assert player.speed == speed
    for _ in range(40):
        player.press("+", 63.0)
    assert player.speed == FASTEST
    player.press(" ", 63.0)
    assert player.due(64.0) is None
    player.press("q", 64.0)
    assert player.ends


class Terminal:
    """``neuromap watch`` in a terminal of its own."""

    def __init__(self, *words):
        import pty

        self.own, other = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "neuromap", "watch", *map(str, words)],
            stdin=other, stdout=other, stderr=subprocess.PIPE, env=environment,
        )  # fmt: skip
        os.close(other)
        self.shown = ""

    def wait_for(self, words):
        limit = time.monotonic() + 60
        while words not in self.shown:
            assert time.monotonic() < limit, self.shown[-2000:]
            self.read()

    def read(self):
        if select.select([self.own], [], [], 0.2)[0]:
            try:
                self.shown += os.read(self.own, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                return False
        return True

    def press(self, key):
        self.shown = ""
        os.write(self.own, key.encode())

    def end(self):
        while self.process.poll() is None:
            self.read()
        while self.read() and select.select([self.own], [], [], 0)[0]:
            pass
        os.close(self.own)
        return self.process.wait(), self.process.stderr.read().decode()


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_a_terminal_shows_the_run_and_takes_keys(program):
    terminal = Terminal(program, "--speed", "50")
    try:
        terminal.wait_for("keys: space pause")
        terminal.wait_for("runs ")
        terminal.press(" ")
        terminal.wait_for("paused (50 ticks/s wanted)")
        terminal.press("+")
        terminal.wait_for("paused (100 ticks/s wanted)")
        terminal.press("t")
        terminal.wait_for("frame")
        terminal.press("q")
        code, said = terminal.end()
    finally:
        terminal.process.kill()
    assert (code, said) == (0, "")
    assert "\x1b[?1049l" in terminal.shown  # the screen from before is back, with the last picture below
    assert "SR (hybrid, pipelined) on truenorth" in terminal.shown.split("\x1b[?1049l")[1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--speed", "-1"), ("--speed -1: must be 0",)),
        (("--speed", "nan"), ("--speed nan",)),
        (("--ticks", "0"), ("--ticks 0: must be 1 to 10000000",)),
        (("--classes", "2"), ("--classes 2", "O has 3")),
        (("--classes", "0"), ("--classes 0", "O has 3")),
        (("--frames", "0"), ("frames",)),
        (("--stimulus", "frames.safetensors", "--frames", "3"), ("give one of them",)),
        (("--engine", "slow"), ("--engine",)),
    ],
)
def test_what_cannot_be_watched_is_refused(options, words, neuromap, program, monkeypatch):
    monkeypatch.chdir(program.parent)
    neuromap("watch", program, *options).assert_refused(2, *words)


def test_ticks_end_a_run(neuromap, program):
    lines = neuromap("watch", program, "--ticks", "4", "--speed", "1000").out.splitlines()
    assert lines[-1] == "4 ticks, 0.004 s of the chip"


def test_ticks_as_long_as_their_work_have_no_time_that_nobody_measured(neuromap, sr, tmp_path):
    program = tmp_path / "timed.nmp"
    assert neuromap("map", sr, "--chip", "loihi1", "-o", program).code == 0
    _, sampling, *_, last = neuromap("watch", program, "--ticks", "3", "--speed", "1000").out.splitlines()
    assert sampling == "takes in a frame every tick of the chip, ticks as long as their work"
    assert last == "3 ticks"
    assert neuromap("simulate", program, "--json").json["tick_seconds"] is None
