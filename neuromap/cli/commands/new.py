"""``neuromap new``: write a commented file to start from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import check_destinations
from neuromap.cli.printing.text_output import print_line, print_written, text_console
from neuromap.errors import InputError
from neuromap.options import argument, option


class Template(NamedTuple):
    """A template that is a valid file."""

    text: str
    then: str  # next command to run, with FILE for its path


TEMPLATES = {
    "chip": Template(
        """\
# A chip of your own (docs/chip-file.md). Every figure is one to change; a word on where it is from belongs beside it.
# A packaged chip's file, to start from that: neuromap chips truenorth --toml
format = 1
name = "my_chip"
description = "16 crossbar cores of 256 axons x 256 neurons"

[grid]
cores = [4, 4]           # columns and rows of cores on a chip
chips = [1, 1]           # columns and rows of chips on the board
# reach = [255, 255]     # farthest target of a spike in columns and rows; without it any

[core]
axons = 256              # inputs of a core
neurons = 256            # neurons of a core
axon_types = 4           # weights that a neuron can tell apart
weight_bits = 9          # of a weight, its sign among them
leak_bits = 9
threshold_bits = 18
potential_bits = 20
targets_per_neuron = 1   # axons that a neuron sends to: one; what needs more is copied

[time]
tick_seconds = 1e-3      # how long a tick lasts
delay = [1, 15]          # least and greatest delay of a spike, in ticks

# [energy]               # without figures no energy is told
# static_watts = 64.4e-3            # of the whole chip
# synaptic_event_joules = 2.3e-12   # of an event of a synapse
""",
        "neuromap chips FILE, neuromap map NET --chip FILE",
    ),
    "network": Template(
        """\
# A network of your own (docs/network-file.md): nodes are layers, edges the transforms between them.
# A trained PyTorch network comes in as a file of its own: neuromap.from_torch(model), neuromap import onnx MODEL.
format = 1
name = "my_network"
# outputs = ["O"]        # nodes that are read out; without it those that lead to no other

# [weights]
# file = "network.safetensors"   # trained weights and thresholds; then the edges below need none

[nodes.I]
shape = [8, 8, 1]        # rows, columns, features; a node without edges into it is an input
[nodes.H]
shape = [4, 4, 4]
threshold = 1            # a neuron spikes where its weighted sum is above it
[nodes.O]
shape = [1, 1, 10]       # ten classes, one neuron each
threshold = 0

[edges."I -> H"]
transform = "conv"       # or dense, pool, identity
kernel = [3, 3]
stride = [2, 2]
weights = { seed = 1, values = [-1, 0, 1] }   # drawn: for figures of time and cost before training
[edges."H -> H"]         # a node may feed itself: recurrent
transform = "conv"
kernel = [3, 3]
weights = { seed = 2, values = [-1, 0, 1] }
[edges."H -> O"]
transform = "dense"
weights = { seed = 3, values = [-1, 0, 1] }
[edges."I -> O"]         # and skip others
transform = "dense"
weights = { seed = 4, values = [-1, 0, 1] }

[rollouts.hybrid]        # a pattern of your own, beside streaming and sequential
streaming = ["H -> H", "I -> O"]   # hand their value to the next frame; all others work within a frame
""",
        "neuromap rollouts FILE, neuromap report FILE",
    ),
    "sweep": Template(
        """\
# A sweep (docs/sweeps.md): every combination of what is listed is a run, and a row in one file.
# It reads network.toml beside it, which neuromap new network -o network.toml writes.
format = 1
title = "Patterns and numbers of axons"
networks = ["network.toml"]               # network files, relative to this one
patterns = ["streaming", "sequential"]    # names, or streaming edges such as "H -> H, I -> O"
executions = ["windowed", "pipelined"]
chips = ["truenorth"]                     # packaged chips, or chip files relative to this one

[set]                                     # other figures of the chips, as in chip files
"core.axons" = [224, 256]

[stimulus]
frames = 16                               # random frames of a run
# density = 0.2                           # part of the inputs that spikes; without it every frame has its own

# [mapping]                               # options of the mapper, as of neuromap map
# placer = "hilbert"
""",
        "neuromap new network -o network.toml beside it, neuromap sweep FILE",
    ),
}

EXAMPLES = """\
\b
Examples:
  neuromap new network -o network.toml
  neuromap new chip -o chip.toml
  neuromap new sweep
"""


@command
def new(
    kind: str = argument("KIND  What the file is of: chip, network or sweep.", choices=tuple(TEMPLATES)),
    output: str | None = option("--output, -o FILE  Write it to this file, which must not be there yet."),
) -> None:
    """Print a commented chip, network or sweep file to start from, or write it; it is read as it stands."""
    template = TEMPLATES[kind]
    if output is None:
        sys.stdout.write(template.text)
        return
    from neuromap.files.whole_file import write_whole

    check_destinations({"--output": output}, {})
    if Path(output).is_file():
        raise InputError(f"--output {output}: is there already; give another file, or remove it")
    write_whole(output, template.text)
    console = text_console()
    print_written(console, output)
    print_line(console, f"next: {template.then.replace('FILE', output)}")
