"""Export of programs to SANA-FE: architecture, network, expected spikes, and a script that compares them."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from neuromap.cores.synapse_list.program import ListProgram
from neuromap.exchange.imported import Exported, Note
from neuromap.exchange.to_ranc import ProgramRun, program_run
from neuromap.files.messages import counted, show_name
from neuromap.formats.sanafe.list_program import (
    FIGURES_OF_LISTS,
    ListCells,
    list_architecture,
    list_cells,
    list_figure,
    list_network_text,
)
from neuromap.formats.sanafe.network import (
    FIGURES_USED,
    LEAD,
    Cells,
    SanafeCells,
    known_figure,
    sanafe_architecture,
    sanafe_cells,
    sanafe_network,
)
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.table import csv_cells
from neuromap.simulation.choose_frames import RandomFrames

_SCRIPT = '''\
"""Run this folder's network in SANA-FE and compare its spikes: python run.py [FOLDER FOR TRACES]

The exit code is 0 if all spikes are equal, 1 if not. Traces are kept where a folder for them is given.
"""

import csv
import importlib.metadata
import json
import sys
import tempfile
from pathlib import Path

import sanafe

STEPS = {steps}


def spikes(path):
    with open(path, newline="") as file:
        return {{(row["neuron"], int(row["timestep"])) for row in csv.DictReader(file)}}


def main(here, traces):
    architecture = sanafe.load_arch(here / "arch.yaml")
    chip = sanafe.SpikingChip(architecture)
    chip.load(sanafe.load_net(here / "network.yaml", architecture))
    kept = {{f"{{name}}_trace": str(traces / f"{{name}}.csv") for name in ("spike", "perf", "message")}}
    found = chip.sim(STEPS, timing_model="{timing}", processing_threads=1, scheduler_threads=0, **kept)
    ours, theirs = spikes(here / "expected_spikes.csv"), spikes(traces / "spike.csv")
    energy = {{name: joules for name, joules in found["energy"].items()}}
    answer = {{
        "sanafe": importlib.metadata.version("sanafe"),
        "spikes_expected": len(ours),
        "spikes": len(theirs),
        "equal": ours == theirs,
        "energy_joules": energy,
        "seconds": found["sim_time"],
    }}
    (traces / "answer.json").write_text(json.dumps(answer))
    print(f"\\nSANA-FE {{answer['sanafe']}}: {{len(theirs):,}} spikes, {{len(ours):,}} expected: "
          + ("equal" if ours == theirs else "NOT EQUAL"))
    for side, rows in (("only in SANA-FE", theirs - ours), ("only expected", ours - theirs)):
        if rows:
            print(f"{{side}}: {{len(rows)}}, first {{min(rows, key=lambda row: row[1])}}")
    print("energy: " + ", ".join(f"{{name}} {{joules:.4g}} J" for name, joules in energy.items()))
    return 0 if ours == theirs else 1


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    if len(sys.argv) > 1:
        raise SystemExit(main(here, Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(main(here, Path(folder)))
'''


# Figures of a chip's energy that SANA-FE's architecture has no place for.
_NO_PLACE = ("static_watts", "tick_joules", "off_chip_bit_joules")


def export_sanafe(
    source: str | Path | ChipProgram,
    *,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> Exported:
    """Export a program and its host input to SANA-FE."""
    run = program_run(source, frames, random)
    program, chip = run.program, run.program.chip
    cells: Cells
    if isinstance(program, ListProgram):
        require_legal(program)
        cells = list_cells(program, run.spikes)
        lead, timing = cells.lead, "detailed"  # SANA-FE's model of the network on chip
        architecture, network = list_architecture(cells, chip), list_network_text(cells, program)
        kept, approximated, refused = _notes_of_lists(cells, chip)
    else:
        cells = sanafe_cells(program, run.spikes)
        lead, timing = LEAD, "simple"
        architecture, network = sanafe_architecture(cells, chip), sanafe_network(cells)
        kept, approximated, refused = _notes(cells, chip)
    steps = cells.n_ticks + lead - 1
    return Exported(
        name=program.name,
        format="sanafe",
        contents={
            "arch.yaml": architecture,
            "network.yaml": network,
            "neurons.csv": _neurons(program, cells),
            "expected_spikes.csv": _expected(run, cells, lead),
            "run.py": _SCRIPT.format(steps=steps, timing=timing),
            "README.md": _readme(run, steps, lead),
        },
        figures={
            "cores": program.n_cores,
            "neurons": cells.n_neurons,
            "synapses": int(np.count_nonzero(cells.post < cells.n_neurons)),
            "buffers for delays": len(cells.buffer_core),
            "input neurons": len(cells.generator_core),
            "input frames": run.n_frames,
            "steps to run": steps,
            "run it": "python run.py",
        },
        kept=kept,
        approximated=approximated,
        refused=refused,
    )


def _neurons(program: ChipProgram, cells: Cells) -> str:
    file = io.StringIO()
    write = csv.writer(file, lineterminator="\n")
    write.writerow(["neuron", "node", "index", "relay", "x", "y", "row"])
    at = (cells.core, cells.row)
    columns = (program.neuron_node[at], program.neuron_index[at], program.is_relay[at], cells.core, cells.row)
    for k, (node, index, relay, core, row) in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        place = program.coordinates[core].tolist()
        write.writerow(csv_cells([f"neurons.{k}", program.nodes[node].name, index, int(relay), *place, row]))
    return file.getvalue()


def _expected(run: ProgramRun, cells: Cells, lead: int) -> str:
    """Write the spikes of a run in the format of SANA-FE's trace: neuron and step."""
    trace = run.trace(("all",))
    assert trace.core is not None
    assert trace.neuron is not None
    number = np.full(run.program.shape, -1)
    number[cells.core, cells.row] = np.arange(cells.n_neurons)
    kept = trace.tick < cells.n_ticks
    tick, neuron = trace.tick[kept], number[trace.core[kept], trace.neuron[kept]]
    order = np.lexsort((neuron, tick))
    rows = zip(neuron[order].tolist(), (tick[order] + lead).tolist(), strict=True)
    return "neuron,timestep\n" + "".join(f"neurons.{k},{step}\n" for k, step in rows)


def _costs(chip: ChipSpec, known: Mapping[str, float | None]) -> Note:
    """Note the costs that SANA-FE is given."""
    said = ", ".join(f"{name} = {value:g}" for name, value in known.items() if value is not None)
    return Note("costs", said or f"none: the chip file {show_name(chip.name)} has no figure of an event")


def _notes_of_lists(cells: ListCells, chip: ChipSpec) -> tuple[tuple[Note, ...], ...]:
    kept = (
        Note("neurons", f"{cells.n_neurons} of the model leaky_integrate_fire, in the core that they have"),
        Note("spikes", "each in its tick, with as many hops between tiles, in one message to one core"),
        _costs(chip, {name: list_figure(chip, name) for name in FIGURES_OF_LISTS}),
    )
    approximated = [Note("rails", "SANA-FE's potentials have none; a voltage that stops at them would go on there")]
    if len(cells.buffer_core):
        few = counted(len(cells.buffer_core), "neuron")
        approximated.append(
            Note("delays", f"of more than a tick are {few} more in the target's core, whose messages cost what any do")
        )
    if cells.lead > 1:
        approximated.append(Note("step 1", "comes before tick 0 and is counted too"))
    return kept, tuple(approximated), ()


def _notes(cells: SanafeCells, chip: ChipSpec) -> tuple[tuple[Note, ...], ...]:
    known = {name: known_figure(chip, name) for name in FIGURES_USED}
    kept = (
        Note("neurons", f"{cells.n_neurons} of the model truenorth, in the core and at the place that they have"),
        Note("spikes", "each in its tick, with as many hops, in one message to one core"),
        _costs(chip, known),
    )
    approximated = []
    if len(cells.buffer_core):
        few = counted(len(cells.buffer_core), "neuron")
        text = f"of more than a tick are {few} more in the target's core, at no cost and no hops"
        approximated.append(Note("delays", text))
    if known["energy.neuron_update_joules"] is not None:
        text = "are counted of the neurons in use, not of all neurons of the cores in use"
        approximated.append(Note("neuron updates", text))
    text = "SANA-FE's is that of its events; the chip's tick goes on at its own length whatever they take"
    approximated.append(Note("time", text))
    refused = []
    if lacking := [f"energy.{key}" for key in _NO_PLACE if key in chip.energy]:
        text = f"{', '.join(lacking)}: SANA-FE's architecture has no place for them"
        refused.append(Note("costs of the chip as a whole", text, "add them as docs/energy.md says"))
    if chip.chips != (1, 1):
        text = "are hops like any other in SANA-FE"
        refused.append(Note("boundaries between chips", text, "take them from neuromap report"))
    return kept, tuple(approximated), tuple(refused)


def _readme(run: ProgramRun, steps: int, lead: int) -> str:
    program = run.program
    return f"""\
# {_plain(program.name)} for SANA-FE

Written by neuromap: {_plain(run.stimulus)} on chip {_plain(program.chip.name)}. SANA-FE is at
https://github.com/SLAM-Lab/SANA-FE; it is no part of neuromap, and under a licence of its own (GPL-3).

    pip install sanafe
    python run.py

`run.py` runs `network.yaml` on `arch.yaml` for {steps} steps, compares SANA-FE's spikes with `expected_spikes.csv`
and prints its energy. Tick t is step t + {lead}. `neurons.csv` says which neuron of the program each neuron of
SANA-FE is; `arch.yaml` says where its costs are from.
"""


def _plain(text: str) -> str:
    return show_name(text).replace("`", "'")
