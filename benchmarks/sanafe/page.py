"""The comparison with SANA-FE as a table, and the page of the documentation that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from neuromap.files.whole_file import write_whole

__all__ = ["table", "write_page"]

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "sanafe.md"

_TEXT = """\
# SANA-FE: networks in, programs out

<!-- Written by `python -m benchmarks.sanafe.oracle --write`; edit benchmarks/sanafe/page.py instead. -->

[SANA-FE](https://github.com/SLAM-Lab/SANA-FE) simulates spiking chips as meshes of tiles, with its own neurons, its own
network on chip and its own counters. It shares no code with neuromap. Given the programs below, it fires the same
neurons in the same ticks, and its spikes take as many hops and cause as many synaptic events.

    neuromap export PROGRAM --to sanafe -o FOLDER
    pip install sanafe
    python FOLDER/run.py

write a program with its input frames as SANA-FE's architecture and network, run them, and compare every spike; the last
two lines need no neuromap. SANA-FE (GPL-3) is none of neuromap's dependencies: its files are written as text.

## Compared

{table}

Where numbers differ, the second is SANA-FE's (version {version}). Every spike was compared by tick and neuron, every
message by tick, neuron and hops. *Events* are synaptic events, SANA-FE's its energy of synapses over the chip file's
`synaptic_event_joules`.

    benchmarks/peers/install.sh sanafe
    python -m benchmarks.sanafe.oracle
    python -m benchmarks.sanafe.oracle --program your.safetensors

run the files that `neuromap export` writes. The exit code is 1 if anything differs.

## How a program becomes a network of SANA-FE

- Every core of the program is a tile of one core at its coordinates. Neurons are SANA-FE's `truenorth` model: leak,
  both thresholds and both resets are the program's. `V < -beta` is written as `V <= -beta - 1`.
- SANA-FE has no crossbar: an axon becomes the list of its synapses, each with the weight of its neuron for the axon's
  type. One spike to one core is one message, as on the chip.
- SANA-FE's spikes arrive in the next step. A delay of d ticks is d - 1 buffer neurons in the target's core, which take
  no hops and are counted nowhere.
- Each row of the host table, bias axons included, is an input neuron of SANA-FE in the core that it feeds.
- Tick t is SANA-FE's step t + 2: what is sent in a step is integrated in the next, inputs too.
- Costs in `arch.yaml` are figures of the chip file, each marked with its name; those that are absent, or held by others
  (`included`), are 0 and marked so. Buffers and inputs cost nothing.

Programs of synapse lists go out likewise, with these differences:

- Neurons are SANA-FE's `leaky_integrate_fire`, whose potential has steps of 1/64: thresholds, biases, weights and
  initial voltages are the program's integers over 64, `leak_decay` is (4096 - voltage_decay) / 4096. A neuron that
  rests for r ticks has `refractory_delay` r + 1, as SANA-FE counts down in the step of the spike.
- Tiles are those of the chip (`[grid] tile`), the barrier is its table, and the message of a spike has costs of its
  own. The script asks for the timing model `detailed`.
- Tick t is SANA-FE's step t + 1. Where the host feeds the program it is t + 2, and neurons start so that step 1 leaves
  them at what they have before tick 0.
- Resets and floors are `reset`, `reset_mode` and a `reverse_threshold` that saturates.
- Refused are currents that outlast their tick, which SANA-FE does not round, and neurons of several currents.

## Networks of SANA-FE as ours

    neuromap import sanafe NET.yaml -o net.toml --pins net.pins.toml
    neuromap map net.toml --chip loihi1 -o net.nmp
    neuromap map net.toml --chip loihi1 --pins net.pins.toml -o theirs.nmp

read a network file: groups, neurons with ranges, edges (`dense`, `sparse`, `conv2d`, and of single neurons), and
`mappings`, whose cores become pins, tile by tile. `pyyaml` reads it (extra `sanafe`), as words, lists and tables alone:
YAML with anchors or more than 32 levels is refused, as are files beyond 64 MiB.

Neurons are `leaky_integrate_fire` with `input_decay` 0; resets are hard or soft, and `reverse_reset_mode: saturate`
is a floor. SANA-FE's step s is our frame s, computed in tick s - 1. Groups without incoming edges are
[sources](spiking.md#sources), which their bias drives. Where nothing leaks and all values are whole, the network
keeps its own integers, and neurons have 18 bits for current and voltage; else they are in units of 1/64, with 24.
`leak_decay` becomes the nearest fraction of 4096, and the import says by how much it differs. Neurons of a group that
a convolution reads or feeds are (row, column, feature) here and (feature, row, column) there; the import names these
groups. Other modes, decays of inputs, leaks while a neuron rests at another value than 0, delays in dendrites,
unknown attributes and keys, what is given twice, and values that are no multiples of 1/64 (thresholds too, where
resets are soft) are refused in one line each.

The network of SANA-FE's tutorial on DVS gestures (18,678 neurons, driven by biases; `benchmarks/validation/gesture.py`
makes it of the packaged arrays) takes 33 cores of stock `loihi1` with all neurons kept, 32 without those that nothing
reads. It fires the 365,277 spikes that SANA-FE fires in 1,000 steps, each by the same neuron in the same step. SANA-FE,
given that program back, agrees with our count of messages (995,434) and hops (1,175,806); its energy of synapses,
neurons and network is ours within 0.07 %, and its time (45.0 ms) 2.9 % more than our event simulation's.

## What is not compared

- Potentials: SANA-FE leaks before it integrates and has no rails, which mapped programs never reach.
- Time of crossbar programs: TrueNorth's tick has its own length, and its file no times of events. Static power, energy
  per tick and bits off chip have no place in SANA-FE's architecture. Hops from the host are not counted on either side,
  and the boundary between chips is a hop like any other.
- What SANA-FE has not: merged spikes on one axon, leak reversal, linear resets at the negative threshold, stochastic
  modes, potentials before the first tick. Such programs are refused with one line. Mapped frame networks have none.
"""


class _Row(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def cores(self) -> int: ...
    @property
    def ticks(self) -> int: ...
    @property
    def spikes(self) -> tuple[int, int]: ...
    @property
    def hops(self) -> tuple[int, int]: ...
    @property
    def events(self) -> tuple[int, int]: ...
    @property
    def difference(self) -> str: ...


def table(rows: Sequence[_Row]) -> str:
    """Make a table in Markdown, one line per program."""
    names = ["program", "cores", "ticks", "spikes", "hops", "events", "equal"]
    lines = [names, ["---", *["---:"] * 5, "---"]]
    for row in rows:
        pairs = [
            f"{ours:,}" if ours == theirs else f"{ours:,} / {theirs:,}"
            for ours, theirs in (row.spikes, row.hops, row.events)
        ]
        counts = [f"{row.cores:,}", f"{row.ticks:,}"]
        lines.append([row.name, *counts, *pairs, f"no: {row.difference}" if row.difference else "yes"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_page(rows: Sequence[_Row], version: str) -> None:
    """Write docs/sanafe.md."""
    write_whole(_PAGE, _TEXT.format(table=table(rows), version=version))
