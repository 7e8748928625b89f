"""The comparison with SANA-FE as a table, and the page of the documentation that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from neuromap.files.whole_file import write_whole

__all__ = ["table", "write_page"]

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "sanafe.md"

_TEXT = """\
# SANA-FE given our programs

<!-- Written by `python -m benchmarks.sanafe.oracle --write`; edit benchmarks/sanafe/page.py instead. -->

[SANA-FE](https://github.com/SLAM-Lab/SANA-FE) simulates spiking chips as meshes of tiles, with its own neurons, its own
network on chip and its own counters of hops. It shares no code with neuromap. Given the programs below, it fires the
same neurons in the same ticks, and its spikes take as many hops and cause as many synaptic events.

    neuromap export PROGRAM --to sanafe -o FOLDER
    pip install sanafe
    python FOLDER/run.py

write a program with its input frames as SANA-FE's architecture and network, run them, and compare every spike; the last
two lines need no neuromap. SANA-FE (GPL-3) is no part of neuromap and none of its dependencies: its files are written
as text.

## Compared

{table}

Numbers are ours / SANA-FE's (version {version}). Every single spike was compared by tick and neuron, every single
message by tick, neuron and hops, and the hops of every tick with SANA-FE's performance counters. A spike's hops are
|dx| + |dy| from its core to that of its axon; ours are counted by a walk over the program with the recorded spikes.
*Sent* are the spikes that have a target; those of neurons that are read out have none. *Events* are synaptic events:
SANA-FE's are its energy of synapses over the chip file's `synaptic_event_joules`, ours are counted on that walk.

    benchmarks/peers/install.sh sanafe
    python -m benchmarks.sanafe.oracle
    python -m benchmarks.sanafe.oracle --program your.safetensors

The exit code is 1 if anything differs.

What is given to SANA-FE is what `neuromap export` writes, and is run by the script among it.

## How a program becomes a network of SANA-FE

- Every core of the program is a tile of one core at its coordinates. Neurons are SANA-FE's `truenorth` model: leak,
  both thresholds and both resets are the program's. `V < -beta` is written as `V <= -beta - 1`. The frame neuron (leak
  -theta, thresholds 0, resets to 0) needs nothing else.
- SANA-FE has no crossbar: an axon becomes the list of its synapses, each with the weight of its neuron for the axon's
  type. One spike to one core is one message, as on the chip.
- SANA-FE's spikes arrive in the next step. A delay of d ticks is d - 1 buffer neurons in the target's core, which
  repeat what they hear. They take no hops and are counted nowhere.
- Each row of the host table, bias axons included, is an input neuron of SANA-FE in the core that it feeds. When it
  spikes is read off the table, not taken from our engines.
- Tick t is SANA-FE's step t + 2: what is sent in a step is integrated in the next, inputs too.
- Costs in `arch.yaml` are figures of the chip file, where it has them; each is marked there with its name, and those
  that are absent, or held by others (`included`), are 0 and marked so. Buffers and inputs cost nothing.

## What is not compared

- Potentials: SANA-FE leaks before it integrates and has no rails. Mapped programs never reach theirs, which the
  checker shows.
- Time: SANA-FE's is that of its events, the chip's tick has its own length. TrueNorth's file has no times of events.
  Static power, energy per tick and bits off chip have no place in SANA-FE's architecture. Hops from the host are not
  counted on either side, and the boundary between chips is a hop like any other.
- What SANA-FE has not: merged spikes on one axon, leak reversal, linear resets at the negative threshold, stochastic
  modes, potentials before the first tick. Such programs are refused with one line, and nothing is written. Mapped frame
  networks have none of these.
"""


class _Row(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def cores(self) -> int: ...
    @property
    def neurons(self) -> int: ...
    @property
    def delays(self) -> tuple[int, int]: ...
    @property
    def ticks(self) -> int: ...
    @property
    def spikes(self) -> tuple[int, int]: ...
    @property
    def messages(self) -> tuple[int, int]: ...
    @property
    def hops(self) -> tuple[int, int]: ...
    @property
    def events(self) -> tuple[int, int]: ...
    @property
    def difference(self) -> str: ...


def table(rows: Sequence[_Row]) -> str:
    """Make a table in Markdown, one line per program."""
    names = ["program", "cores", "neurons", "delays", "ticks", "spikes", "sent", "hops", "events", "equal"]
    lines = [names, ["---", *["---:"] * 8, "---"]]
    for row in rows:
        pairs = [f"{ours:,} / {theirs:,}" for ours, theirs in (row.spikes, row.messages, row.hops, row.events)]
        low, high = row.delays
        delays = "none" if low > high else f"{low}" if low == high else f"{low} to {high}"
        counts = [f"{row.cores:,}", f"{row.neurons:,}", delays, f"{row.ticks:,}"]
        lines.append([row.name, *counts, *pairs, f"no: {row.difference}" if row.difference else "yes"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_page(rows: Sequence[_Row], version: str) -> None:
    """Write docs/sanafe.md."""
    write_whole(_PAGE, _TEXT.format(table=table(rows), version=version))
