"""Write docs/formats.md: what is read from other tools and written for them, as the table of formats says it.

    python docs/refresh_formats.py

A test compares the page with what this makes.
"""

from pathlib import Path

from neuromap.backends.scripts import SCRIPT_FORMATS
from neuromap.exchange.formats import EXPORT_FORMATS, IMPORT_FORMATS
from neuromap.files.whole_file import write_whole

PAGE = Path(__file__).with_name("formats.md")

_TEXT = """\
# Formats of other tools

<!-- Written by `python docs/refresh_formats.py`; edit the table in neuromap/exchange/formats.py, or that script. -->

Networks come from other tools; programs and traces go to them. Every import and export says what it *kept*,
*approximated* (by how much) and *refused* (with the way out). Output appears whole or not at all; a folder that holds
files of a larger export, or a README.md of someone else, is refused.

## Read: `neuromap import FORMAT FILE`

{imports}

Files are data: sizes are bounded, nothing is executed, and no pickle is read. A truncated, malformed or oversized file
gets one line with its name, the value found, the bound and a remedy. Scripts are executed, on a simulated chip: import
only scripts that you would run.

## Written: `neuromap export SOURCE --to FORMAT -o DEST`

{exports}

A program goes with its input frames (`--stimulus`, or `--frames` random ones, as for `neuromap simulate`) and the
answer of neuromap's chip, so that you can compare the other tool's. For [RANC](ranc.md) and [SANA-FE](sanafe.md) every
output and every spike was equal. [Traces](traces.md) were read back with the other tools' own readers.

## Read in Python only

`neuromap.from_torch(module, example_input)` takes over modules of PyTorch, which are live objects, as
[ONNX files are](layers.md). The following files hold a program with raw events, not a network with frames:

| files | function | bounds |
|---|---|---|
| RANC's JSON, configuration and input | `neuromap.formats.ranc.read_json` | 128 MiB each; cores together 512 MiB |
| memory images and test vectors of RANC's FPGA design | `neuromap.formats.ranc.read_vectors` | 256 MiB each |
| TrueNorth's model files (IBM's Corelets) | `neuromap.formats.truenorth.read_model` | 256 MiB; crossbars of 256 x 256 |

```python
from neuromap.formats.ranc import read_json
from neuromap.simulation.run.simulate import run_events


def outputs_of(config, input_file, n_ticks):
    case = read_json(config, input_file)
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks)
    return case.output_axons(*spikes, n_ticks)  # outputs of the bus that spike, tick by tick
```

TrueNorth's model files have no public description. Their reader was worked out from two files in the repository of the
simulator NeMo and the neuron of Cassidy et al. (2013). No file with known spikes is public, so it was not compared with
IBM's simulator. Cores have numbers but no places there, and spikes of inputs are in other files: the program has
targets, delays and ports, to be run on events of your own.

```{{toctree}}
:hidden:

brian2
nengo
nir
layers
ranc
sanafe
traces
```
"""


def _cells(rows):
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows)


def _table(formats, first):
    head = ["format", "tool", first, "holds", "needs", "bounds", "refused"]
    rows = [head, ["---"] * len(head)]
    for name, row in formats.items():
        needs = f"`pip install 'neuromap-rollouts[{row.extra}]'`" if row.extra else "nothing more"
        what = ", ".join(f"`{suffix}`" for suffix in row.suffixes) or "any"
        if first == "source":
            what = f"{row.source} file, to {'a folder' if row.folder else 'a file'} ({what})"
        rows.append([f"`{name}`", row.called, what, row.holds, needs, row.bounds, row.refuses])
    return _cells(rows)


def _scripts():
    rows = [["format", "what"], ["---"] * 2]
    rows += [[f"`{name}`", "a script of the simulator of that name"] for name in SCRIPT_FORMATS]
    return _cells(rows)


def page():
    """Make the text of the page."""
    tables = ([_table(IMPORT_FORMATS, "suffixes")] if IMPORT_FORMATS else []) + [_scripts()]
    return _TEXT.format(imports="\n\n".join(tables), exports=_table(EXPORT_FORMATS, "source"))


if __name__ == "__main__":
    write_whole(PAGE, page())
