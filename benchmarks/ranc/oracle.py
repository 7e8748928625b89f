"""Give our programs to RANC's simulator: equal outputs, equal spikes at every axon.

    python -m benchmarks.ranc.oracle                     the networks of sanafe/networks.py and digits; prints a table
    python -m benchmarks.ranc.oracle --write             if all is equal, writes results/ranc.json, docs/ranc.md
    python -m benchmarks.ranc.oracle --program P.safetensors [--frames 12] [--rate 0.3]      a program of your own

What RANC is given are the files of ``neuromap export --to ranc``. Its simulator (``benchmarks/peers/install.sh ranc``)
runs as a process of its own. What it prints is compared byte by byte with the file that the export expects, and the
axons that its traces name, core by core and tick by tick, with those that our spikes and the host's reach. The exit
code is 0 if everything is equal, 1 if something differs, 2 if nothing could be compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.ranc.page import table, write_page
from benchmarks.sanafe.networks import Case, cases, random_frames
from neuromap.cores.crossbar.program import Program
from neuromap.errors import NeuromapError
from neuromap.exchange.imported import Exported
from neuromap.exchange.to_ranc import export_ranc
from neuromap.files.whole_file import write_folder, write_whole
from neuromap.hardware.program_file import load_program
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.network_file import load_network
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.run.tick_run import FedFrames
from neuromap.simulation.trace.recording import Recording

__all__ = ["Failure", "Row", "arrivals", "ask_ranc", "digits", "main"]

_ROOT = Path(__file__).resolve().parents[2]
_RESULT = _ROOT / "benchmarks" / "results" / "ranc.json"
_DIGITS = 50
"""Held-out digits that are shown, a frame each."""


class Failure(Exception):
    """RANC gave no answer; the message says why, in one line."""


@dataclass(frozen=True)
class Row:
    """One program, both sides' sums, and what differs (empty: nothing)."""

    name: str
    cores: int
    ticks: int
    outputs: tuple[int, int]
    arrivals: tuple[int, int]
    difference: str


def digits() -> Iterator[Case]:
    """Map the feed-forward network of the digits example; its frames are held-out images, blank ones behind them."""
    sys.path.insert(0, str(_ROOT / "examples" / "digits"))
    try:
        import data
    except ImportError:
        raise Failure("digits: their images need scikit-learn; pip install scikit-learn") from None
    images, _ = data.load("held-out")
    frames = {"I": np.asarray(data.stream(images[:_DIGITS], 1, 1), bool)}
    network = load_network(_ROOT / "examples" / "digits" / "ff.toml")
    for pattern in ("streaming", "sequential"):
        program = map_rollout(Rollout(network, pattern), "truenorth")
        yield Case(f"{network.name}, {pattern}, windowed, {_DIGITS} images", program, frames)


def arrivals(program: Program, frames: dict[str, NDArray[np.bool_]], n_ticks: int) -> NDArray[np.int64]:
    """List where spikes arrive in a run: tick, x and y from the program's least, axon; each once, sorted."""
    trace = simulate(program, frames, record=Recording(spikes=("all",)))
    assert trace.core is not None
    assert trace.neuron is not None
    core = program.target_core[trace.core, trace.neuron]
    sent = core >= 0
    at = (trace.core[sent], trace.neuron[sent])
    tick, axon = trace.tick[sent] + program.delay[at], program.target_axon[at]
    fed = FedFrames(program, frames).events(0, n_ticks)
    tick = np.concatenate([tick, np.repeat(np.arange(n_ticks), np.diff(fed.start))])
    core, axon = np.concatenate([core[sent], fed.cores]), np.concatenate([axon, fed.axons])
    xy = program.coordinates[core] - program.coordinates.min(axis=0)
    rows = np.stack([tick, *xy.T, axon], axis=1).astype(np.int64)
    return np.unique(rows[rows[:, 0] < n_ticks], axis=0)


def ask_ranc(exported: Exported, binary: Path, timeout_s: float) -> tuple[bytes, NDArray[np.int64]]:
    """Run the exported files in RANC's simulator; return what it prints, and its trace as :func:`arrivals`.

    Raises
    ------
    Failure
        If it ends with an error or not in time.
    """
    n_ticks = exported.figures["ticks to run"]
    with tempfile.TemporaryDirectory(prefix="ranc-") as name:
        folder = Path(name)
        write_folder(folder, exported.contents)
        config = json.loads((folder / "config.json").read_text())
        (folder / "traced.json").write_text(json.dumps(config | {"core_controller_trace_verbosity": 1}))
        files = ["-i", "input.json", "-o", "output.txt", "--ticks", str(n_ticks)]
        for more in (["-c", "traced.json", "-t", "trace.txt"], ["-c", "config.json"]):
            try:
                done = subprocess.run(
                    [str(binary.resolve()), *files, *more],
                    cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                raise Failure(f"RANC took more than {timeout_s:g} s") from None
            if done.returncode:
                said = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
                raise Failure(f"RANC: {(said or [f'ended with code {done.returncode}'])[0][:200]}")
        return (folder / "output.txt").read_bytes(), _traced(folder / "trace.txt", int(n_ticks) - 1)


def _traced(path: Path, n_ticks: int) -> NDArray[np.int64]:
    """Read the axons that RANC's cores found spikes at; its tick 1 is our tick 0."""
    found = [np.zeros((0, 4), np.int64)]
    tick = -1
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if " begins " in line:
                tick = int(line.split()[2]) - 1
            elif "Fetched spikes" in line and tick < n_ticks:
                head, _, bits = line.rstrip().rpartition(" ")
                x, y = (int(word) for word in head[head.index("(") + 1 : head.index(")")].split(","))
                axon = np.flatnonzero(np.frombuffer(bits.encode(), np.uint8) == ord("1"))
                found.append(np.stack([*(np.full(len(axon), value) for value in (tick, x, y)), axon], axis=1))
    return np.unique(np.concatenate(found), axis=0)


def compare(mine: NDArray[np.int64], other: NDArray[np.int64], expected: bytes, printed: bytes) -> str:
    """Say what differs first: in words, or as an empty text."""
    if not np.array_equal(mine, other):
        only = [set(map(tuple, a.tolist())) - set(map(tuple, b.tolist())) for a, b in ((mine, other), (other, mine))]
        sides = zip(("ours", "theirs"), only, strict=True)
        said = "; ".join(f"{side} alone {len(rows)}, first {min(rows)}" for side, rows in sides if rows)
        return f"arrivals (tick, x, y, axon): {said}"
    if expected != printed:
        lines = zip(expected.split(b"\n"), printed.split(b"\n"), strict=False)
        return f"outputs: first in line {next((k for k, (a, b) in enumerate(lines, 1) if a != b), 'after the end')}"
    return ""


def run(asked: Iterable[Case], binary: Path, timeout_s: float) -> Iterator[Row]:
    """Compare one program after the other."""
    for name, program, frames in asked:
        exported = export_ranc(program, frames=frames)
        n_ticks = int(exported.figures["ticks to run"]) - 1
        ours = arrivals(program, frames, n_ticks)
        expected = str(exported.contents["expected.txt"]).encode()
        printed, theirs = ask_ranc(exported, binary, timeout_s)
        yield Row(
            name=name,
            cores=program.n_cores,
            ticks=n_ticks,
            outputs=(expected.count(b"1"), printed.count(b"1")),
            arrivals=(len(ours), len(theirs)),
            difference=compare(ours, theirs, expected, printed),
        )


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison from the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Give our programs to RANC's simulator: equal outputs, equal spikes.")
    parser.add_argument("--program", type=Path, help="a program file, shown random input frames")
    parser.add_argument("--frames", type=int, default=12, help="input frames for --program (%(default)s)")
    parser.add_argument("--rate", type=float, default=0.3, help="spikes per input neuron and frame (%(default)s)")
    parser.add_argument("--home", type=Path, default=_ROOT / "build" / "peers", help="environments (%(default)s)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each program (%(default)s)")
    parser.add_argument("--write", action="store_true", help="write the result file and docs/ranc.md")
    asked = parser.parse_args(arguments)
    binary = asked.home / "ranc" / "ranc_sim"
    if not binary.exists():
        print(f"error: {binary}: RANC is not installed; run benchmarks/peers/install.sh ranc", file=sys.stderr)
        return 2
    if asked.frames < 1 or not 0 <= asked.rate <= 1 or (asked.write and asked.program):
        parser.error("--frames must be 1 or more, --rate 0 to 1, and --write goes without --program")
    try:
        given = (case for made in (digits, cases) for case in made())
        if asked.program:
            program = load_program(asked.program)
            if not isinstance(program, Program):
                raise Failure(f"{asked.program}: its cores keep lists of synapses; RANC has crossbars")
            given = iter([Case(program.name, program, random_frames(program, asked.frames, asked.rate))])
        rows = []
        for row in run(given, binary, asked.timeout):
            rows.append(row)
            print(f"{row.name}: {row.difference or 'equal'}", file=sys.stderr)
    except (Failure, NeuromapError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"ours / theirs\n\n{table(rows)}")
    if any(row.difference for row in rows):
        return 1  # the page says that all is equal: nothing is written
    if asked.write:
        write_whole(_RESULT, json.dumps({"rows": [asdict(row) for row in rows]}, indent=2) + "\n")
        write_page(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
