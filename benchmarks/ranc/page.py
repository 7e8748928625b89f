"""The comparison with RANC as a table, and the page of the documentation that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from neuromap.files.whole_file import write_whole

__all__ = ["table", "write_page"]

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranc.md"

_TEXT = """\
# RANC given our programs

<!-- Written by `python -m benchmarks.ranc.oracle --write`; edit benchmarks/ranc/page.py instead. -->

[RANC](https://github.com/UA-RCL/RANC) (MIT) is TrueNorth's open relative: an FPGA design and a C++ simulator that
shares no code with neuromap. Given the programs below, its simulator prints the same outputs in the same ticks, and
spikes arrive at the same axons of the same cores in every tick.

    neuromap export PROGRAM --to ranc -o FOLDER
    cd FOLDER
    ranc_sim -i input.json -o output.txt -c config.json --ticks N        (README.md of the folder says how many)
    cmp output.txt expected.txt

## Compared

{table}

Where numbers differ, the second is RANC's (commit 08ae4bd). *Outputs* are spikes of neurons that are read out, compared
byte by byte with the file that the export expects. *Arrivals* are spikes at axons, the host's included, compared by
tick, core and axon with RANC's trace. The first two programs saw images of the digits, all others random frames.

    benchmarks/peers/install.sh ranc
    python -m benchmarks.ranc.oracle
    python -m benchmarks.ranc.oracle --program your.safetensors

The exit code is 1 if anything differs.

## How a program becomes RANC's

- *Grid.* The smallest around the cores in use with a free place for the output bus, since RANC's simulator visits every
  core of its grid in every tick. Cores keep their relative places.
- *Neurons.* RANC's neuron has the leak, both thresholds, the resets of modes 0 and 1, weights by axon type, a target
  and an initial potential. `negative_threshold` is our negative threshold with its sign. `destination_tick` counts from
  0: our delay is one more. `neuron_reset_type` is 1 where the chip compares with `<=`, and 0 for `<`.
- *Outputs.* Every output node has its neurons side by side on the output bus, a router in a core's place, in the order
  of the program's nodes. Line t + 2 of RANC's output holds the spikes of tick t.
- *Neurons without a target* that may spike send to a core without synapses: every neuron of RANC sends somewhere.
- *The host* delivers in tick t what is in group t of `packets`, bias axons included, with `destination_tick` 0.

## What RANC lacks

- Several chips, synapse lists, stochastic modes, leaks that turn with the potential's sign, potentials that are kept
  over a spike, and a potential that stops at the negative threshold (unless that is the reset too): refused with one
  line, and nothing is written.
- Rails: RANC's simulator has 32 bits, the chip fewer. Mapped programs never reach their chip's rails (rule
  `potential-width` of the checker); for others the summary says how many neurons may.
- Node labels, frames, energy and times: README.md of the folder says which outputs and lines are a node's.

RANC's FPGA design has 9 bits for weights, leak, thresholds and potentials. The summary says whether all values fit;
what does not still runs in the simulator. RANC's `rancutils` make memory files from the input file;
`neuromap export --to ranc-vectors` writes them itself, with test vectors.

## Back again

`neuromap.formats.ranc.read_json(config, input)` reads both files as a program with events; `read_vectors` reads the
memory files and test vectors of the FPGA design. RANC's repository holds five sets with its hardware's answers, four
classifiers of ten images each and a vector times a matrix in 107 ticks: read in, they give the same outputs in every
tick (`tests/formats/test_ranc.py`). Files are data: a key that stands twice, a wrong number, endless nesting or a core
that asks for more than 512 MiB is refused with one line.
"""


class _Row(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def cores(self) -> int: ...
    @property
    def ticks(self) -> int: ...
    @property
    def outputs(self) -> tuple[int, int]: ...
    @property
    def arrivals(self) -> tuple[int, int]: ...
    @property
    def difference(self) -> str: ...


def table(rows: Sequence[_Row]) -> str:
    """Make a table in Markdown, one line per program."""
    lines = [["program", "cores", "ticks", "outputs", "arrivals", "equal"], ["---", *["---:"] * 4, "---"]]
    for row in rows:
        pairs = [
            f"{ours:,}" if ours == theirs else f"{ours:,} / {theirs:,}" for ours, theirs in (row.outputs, row.arrivals)
        ]
        said = f"no: {row.difference}" if row.difference else "yes"
        lines.append([row.name, f"{row.cores:,}", f"{row.ticks:,}", *pairs, said])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_page(rows: Sequence[_Row]) -> None:
    """Write docs/ranc.md."""
    write_whole(_PAGE, _TEXT.format(table=table(rows)))
