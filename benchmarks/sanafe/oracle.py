"""Give our programs to SANA-FE: equal spikes, equal hops, equal synaptic events.

    python -m benchmarks.sanafe.oracle                     the networks of networks.py; prints a table
    python -m benchmarks.sanafe.oracle --write             if all is equal, writes results/sanafe.json, docs/sanafe.md
    python -m benchmarks.sanafe.oracle --program P.safetensors [--frames 12] [--rate 0.3]      a program of your own

What SANA-FE is given are the files of ``neuromap export --to sanafe``, run by the script that is among them, in an
environment of its own (``benchmarks/peers/install.sh sanafe``). The exit code is 0 if everything is equal, 1 if
something differs, 2 if nothing could be compared.

Every single spike is compared by tick and neuron, every single message by tick, neuron and hops, the hops of every tick
with SANA-FE's performance counters, and its energy of synapses with the synaptic events. Our hops and events come from
a walk over the program that no other part of neuromap shares: for every recorded spike of a neuron with a target,
|dx| + |dy| from its core to the target's, and the bits of the target's row of the crossbar.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.sanafe.networks import Case, cases, random_frames
from benchmarks.sanafe.page import table, write_page
from neuromap.cores.crossbar.program import Program
from neuromap.errors import NeuromapError
from neuromap.exchange.imported import Exported
from neuromap.exchange.to_sanafe import export_sanafe
from neuromap.files.whole_file import write_folder, write_whole
from neuromap.hardware.program_file import load_program
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.run.tick_run import FedFrames
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import Trace

__all__ = ["Answer", "Failure", "Row", "compare", "expected", "main", "neuron_numbers"]

_ROOT = Path(__file__).resolve().parents[2]
_RESULT = _ROOT / "benchmarks" / "results" / "sanafe.json"
_LEAD = 2
"""SANA-FE's step of tick 0, as docs/sanafe.md says."""


class Failure(Exception):
    """SANA-FE gave no answer; the message says why, in one line."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What one side says of a run.

    Attributes
    ----------
    spikes : ndarray of int64, shape (n, 2)
        Tick and neuron of every spike, sorted; the neuron is a row of neurons.csv, -1 if it has none.
    messages : ndarray of int64, shape (m, 3)
        Tick, neuron and hops of every spike that is sent to an axon, sorted.
    tick_hops : ndarray of int64, shape (n_ticks,)
        Hops of all spikes of a tick.
    events : int
        Synaptic events of the spikes that have come to their axons when the run ends, or would in the tick after it.
    """

    spikes: NDArray[np.int64]
    messages: NDArray[np.int64]
    tick_hops: NDArray[np.int64]
    events: int


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
    events: tuple[int, int]
    difference: str


def neuron_numbers(program: Program, neurons_csv: str) -> NDArray[np.int64]:
    """Read which of SANA-FE's neurons each neuron of the program is, shape (C, N); -1 without one."""
    core_at = {tuple(xy): core for core, xy in enumerate(program.coordinates.tolist())}
    numbers = np.full(program.shape, -1)
    for row in csv.DictReader(io.StringIO(neurons_csv)):
        numbers[core_at[int(row["x"]), int(row["y"])], int(row["row"])] = int(row["neuron"].split(".")[1])
    return numbers


def expected(
    program: Program, numbers: NDArray[np.int64], trace: Trace, frames: dict[str, NDArray[np.bool_]], n_ticks: int
) -> Answer:
    """Walk over the program with every spike of a trace that has recorded all neurons."""
    assert trace.core is not None
    assert trace.neuron is not None
    mine = trace.tick < n_ticks
    tick, core, row = trace.tick[mine], trace.core[mine], trace.neuron[mine]
    neuron, target = numbers[core, row], program.target_core[core, row]
    sent = target >= 0
    apart = np.abs(program.coordinates[core[sent]].astype(np.int64) - program.coordinates[target[sent]])
    hops = apart.sum(axis=1)
    tick_hops = np.zeros(n_ticks, dtype=np.int64)
    np.add.at(tick_hops, tick[sent], hops)

    synapses = np.unpackbits(program.crossbar, axis=2).sum(axis=2, dtype=np.int64)
    there = sent & (tick + program.delay[core, row] <= n_ticks)
    events = int(synapses[target[there], program.target_axon[core, row][there]].sum())
    fed = FedFrames(program, frames).events(0, n_ticks)
    events += int(synapses[fed.cores, fed.axons].sum())
    return Answer(_sorted([tick, neuron]), _sorted([tick[sent], neuron[sent], hops]), tick_hops, events)


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
    if ours.events != theirs.events:
        return f"synaptic events: {ours.events} of ours, {theirs.events} of theirs"
    return ""


def ask_sanafe(exported: Exported, joules_each: float, python: Path, timeout_s: float) -> tuple[Answer, str]:
    """Run the exported files in SANA-FE; return its answer and its version.

    Raises
    ------
    Failure
        If it ends with an error or not in time.
    """
    with tempfile.TemporaryDirectory(prefix="sanafe-") as folder:
        given, traces = Path(folder) / "given", Path(folder)
        write_folder(given, exported.contents)
        command = [str(part) for part in (python, given / "run.py", traces)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"SANA-FE took more than {timeout_s:g} s") from None
        if not (traces / "answer.json").exists():  # code 1 also says that spikes differ, which is found below
            lines = done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"]
            raise Failure(f"SANA-FE: {lines[-1].strip()[:200]}")
        said = json.loads((traces / "answer.json").read_text())
        fired, sent, steps = (_rows(traces / f"{name}.csv") for name in ("spike", "message", "perf"))
    step_hops = np.array([int(float(row["hops"])) for row in steps], np.int64)
    if step_hops[0]:  # the step before tick 0, in which only inputs send
        raise Failure("SANA-FE: hops before the first tick")
    messages = [
        (int(row["timestep"]) - _LEAD, int(row["src_neuron"].split(".")[1]), int(row["hops"]))
        for row in sent
        if row["src_neuron"].startswith("neurons.") and row["dest_hw"] != "x.x"
    ]
    spikes = [(int(row["timestep"]) - _LEAD, int(row["neuron"].split(".")[1])) for row in fired]
    answer = Answer(
        _sorted(list(np.array(spikes, np.int64).reshape(-1, 2).T)),
        _sorted(list(np.array(messages, np.int64).reshape(-1, 3).T)),
        step_hops[1:],
        round(said["energy_joules"]["synapse"] / joules_each),
    )
    return answer, str(said["sanafe"])


def run(asked: Iterable[Case], python: Path, timeout_s: float) -> Iterator[tuple[Row, str]]:
    """Compare one program after the other; yields its row and SANA-FE's version."""
    for name, program, frames in asked:
        exported = export_sanafe(program, frames=frames)
        trace = simulate(program, frames, record=Recording(spikes=("all",)))
        n_ticks = int(exported.figures["steps to run"]) - _LEAD + 1
        numbers = neuron_numbers(program, str(exported.contents["neurons.csv"]))
        ours = expected(program, numbers, trace, frames, n_ticks)
        joules_each = program.chip.energy.get("synaptic_event_joules", 0)
        if not joules_each:
            raise Failure(f"chip {program.chip.name}: has no energy of a synaptic event, by which they are counted")
        theirs, version = ask_sanafe(exported, joules_each, python, timeout_s)
        delays = program.delay[program.target_core >= 0]
        row = Row(
            name=name,
            cores=program.n_cores,
            neurons=int((numbers >= 0).sum()),
            delays=(int(delays.min(initial=99)), int(delays.max(initial=0))),
            ticks=n_ticks,
            spikes=(len(ours.spikes), len(theirs.spikes)),
            messages=(len(ours.messages), len(theirs.messages)),
            hops=(int(ours.tick_hops.sum()), int(theirs.tick_hops.sum())),
            events=(ours.events, theirs.events),
            difference=compare(ours, theirs),
        )
        yield row, version


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison from the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Give our programs to SANA-FE: equal spikes, hops, synaptic events.")
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
    except (Failure, NeuromapError) as error:
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


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _numbered(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.stack([np.arange(len(values)), values], axis=1)


if __name__ == "__main__":
    raise SystemExit(main())
