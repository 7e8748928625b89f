"""Give our programs to SANA-FE: equal spikes, equal hops.

    python -m benchmarks.sanafe.oracle                     the networks of networks.py; prints a table
    python -m benchmarks.sanafe.oracle --write             if all is equal, writes results/sanafe.json, docs/sanafe.md
    python -m benchmarks.sanafe.oracle --program P.safetensors [--frames 12] [--rate 0.3]      a program of your own

SANA-FE lives in an environment of its own (``benchmarks/peers/install.sh sanafe``), runs as a process of its own and is
never imported. The exit code is 0 if everything is equal, 1 if something differs, 2 if nothing could be compared.

Every single spike is compared by tick and neuron, every single message by tick, neuron and hops, and the hops of every
tick with SANA-FE's performance counters. Our hops come from a walk over the program that no other part of neuromap
shares: for every recorded spike of a neuron with a target, |dx| + |dy| from its core to the target's.
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

from benchmarks.peers.program_network import ProgramNetwork, Unsuitable, translate
from benchmarks.sanafe.networks import Case, cases, random_frames
from benchmarks.sanafe.page import table, write_page
from neuromap.errors import NeuromapError
from neuromap.files.whole_file import write_whole
from neuromap.hardware.load.load_program import load_program
from neuromap.hardware.program.program import Program
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import Trace

__all__ = ["Answer", "Failure", "Row", "compare", "expected", "main"]

_ROOT = Path(__file__).resolve().parents[2]
_RUNNER = _ROOT / "benchmarks" / "peers" / "run_sanafe_program.py"
_RESULT = _ROOT / "benchmarks" / "results" / "sanafe.json"


class Failure(Exception):
    """SANA-FE gave no answer; the message says why, in one line."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What one side says of a run.

    Attributes
    ----------
    spikes : ndarray of int64, shape (n, 2)
        Tick and neuron of every spike, sorted; the neuron is a row of :class:`ProgramNetwork`, -1 if it has none.
    messages : ndarray of int64, shape (m, 3)
        Tick, neuron and hops of every spike that is sent to an axon, sorted.
    tick_hops : ndarray of int64, shape (n_ticks,)
        Hops of all spikes of a tick.
    """

    spikes: NDArray[np.int64]
    messages: NDArray[np.int64]
    tick_hops: NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One program, both sides' sums, and what differs (empty: nothing)."""

    name: str
    cores: int
    neurons: int
    delays: tuple[int, int]
    ticks: int
    spikes: tuple[int, int]
    messages: tuple[int, int]
    hops: tuple[int, int]
    difference: str


def expected(program: Program, network: ProgramNetwork, trace: Trace) -> Answer:
    """Walk over the program with every spike of a trace that has recorded all neurons."""
    assert trace.core is not None
    assert trace.neuron is not None
    number = np.full(program.target_core.shape, -1)
    number[network.core, network.row] = np.arange(len(network.core))
    tick, neuron = trace.tick, number[trace.core, trace.neuron]
    target = program.target_core[trace.core, trace.neuron]
    sent = target >= 0
    apart = np.abs(program.coordinates[trace.core[sent]].astype(np.int64) - program.coordinates[target[sent]])
    hops = apart.sum(axis=1)
    tick_hops = np.zeros(trace.n_ticks, dtype=np.int64)
    np.add.at(tick_hops, tick[sent], hops)
    return Answer(_sorted([tick, neuron]), _sorted([tick[sent], neuron[sent], hops]), tick_hops)


def compare(ours: Answer, theirs: Answer) -> str:
    """Say what differs first: in words, or as an empty text."""
    for what, mine, other in (
        ("spikes (tick, neuron)", ours.spikes, theirs.spikes),
        ("messages (tick, neuron, hops)", ours.messages, theirs.messages),
        ("hops (tick, hops)", _numbered(ours.tick_hops), _numbered(theirs.tick_hops)),
    ):
        if np.array_equal(mine, other):
            continue
        only = [set(map(tuple, a.tolist())) - set(map(tuple, b.tolist())) for a, b in ((mine, other), (other, mine))]
        sides = zip(("ours", "theirs"), only, strict=True)
        first = [f"{side} alone {len(rows)}, first {min(rows)}" for side, rows in sides if rows]
        return f"{what}: " + ("; ".join(first) or f"{len(mine)} of ours, {len(other)} of theirs, some twice")
    return ""


def ask_sanafe(network: ProgramNetwork, python: Path, timeout_s: float) -> tuple[Answer, str]:
    """Run SANA-FE; return its answer and its version.

    Raises
    ------
    Failure
        If it ends with an error or not in time.
    """
    with tempfile.TemporaryDirectory(prefix="sanafe-") as folder:
        given, answer = Path(folder) / "network.npz", Path(folder) / "answer.npz"
        network.save(given)
        command = [str(part) for part in (python, _RUNNER, given, answer, folder)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise Failure(f"SANA-FE took more than {timeout_s:g} s") from None
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines() or [f"ended with code {error.returncode}"]
            raise Failure(f"SANA-FE: {lines[-1].strip()[:200]}") from None
        with np.load(answer, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    if found["step_hops"][0]:  # the step before tick 0, in which only generators send
        raise Failure("SANA-FE: hops before the first tick")
    messages = found["messages"]
    answered = Answer(_sorted([found["tick"], found["neuron"]]), _sorted(list(messages.T)), found["step_hops"][1:])
    return answered, str(found["version"])


def run(asked: Iterable[Case], python: Path, timeout_s: float) -> Iterator[tuple[Row, str]]:
    """Compare one program after the other; yields its row and SANA-FE's version."""
    for name, program, frames in asked:
        trace = simulate(program, frames, record=Recording(spikes=("all",)))
        network = translate(program, frames, trace.n_ticks)
        ours = expected(program, network, trace)
        theirs, version = ask_sanafe(network, python, timeout_s)
        delays = program.delay[program.target_core >= 0]
        row = Row(
            name=name,
            cores=program.n_cores,
            neurons=len(network.core),
            delays=(int(delays.min(initial=99)), int(delays.max(initial=0))),
            ticks=trace.n_ticks,
            spikes=(len(ours.spikes), len(theirs.spikes)),
            messages=(len(ours.messages), len(theirs.messages)),
            hops=(int(ours.tick_hops.sum()), int(theirs.tick_hops.sum())),
            difference=compare(ours, theirs),
        )
        yield row, version


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison from the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Give our programs to SANA-FE: equal spikes, equal hops.")
    parser.add_argument("--program", type=Path, help="a program file, shown random input frames")
    parser.add_argument("--frames", type=int, default=12, help="input frames for --program (%(default)s)")
    parser.add_argument("--rate", type=float, default=0.3, help="spikes per input neuron and frame (%(default)s)")
    parser.add_argument("--home", type=Path, default=_ROOT / "build" / "peers", help="environments (%(default)s)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for each program (%(default)s)")
    parser.add_argument("--write", action="store_true", help="write the result file and docs/sanafe.md")
    asked = parser.parse_args(arguments)
    python = asked.home / "sanafe" / "bin" / "python"
    if not python.exists():
        print(f"error: {python}: SANA-FE is not installed; run benchmarks/peers/install.sh sanafe", file=sys.stderr)
        return 2
    if asked.frames < 1 or not 0 <= asked.rate <= 1 or (asked.write and asked.program):
        parser.error("--frames must be 1 or more, --rate 0 to 1, and --write goes without --program")
    try:
        given = cases()
        if asked.program:
            program = load_program(asked.program)
            given = iter([Case(program.name, program, random_frames(program, asked.frames, asked.rate))])
        rows, versions = [], set()
        for row, version in run(given, python, asked.timeout):
            rows.append(row)
            versions.add(version)
            print(f"{row.name}: {row.difference or 'equal'}", file=sys.stderr)
    except (Failure, Unsuitable, NeuromapError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    version = ", ".join(versions)
    print(f"SANA-FE {version}; ours / theirs\n\n{table(rows)}")
    if any(row.difference for row in rows):
        return 1  # the page says that all is equal: nothing is written
    if asked.write:
        document = {"sanafe": version, "rows": [asdict(row) for row in rows]}
        write_whole(_RESULT, json.dumps(document, indent=2) + "\n")
        write_page(rows, version)
    return 0


def _sorted(columns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Sort rows by their first column, then the second, and so on."""
    rows: NDArray[np.int64] = np.stack(columns, axis=1).astype(np.int64)
    order: NDArray[np.intp] = np.lexsort(columns[::-1])
    return rows[order]


def _numbered(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([np.arange(len(values)), values], axis=1)


if __name__ == "__main__":
    raise SystemExit(main())
