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

Networks come from other tools; programs and traces go to them. Every import and export says what was *kept* exactly,
what was *approximated* and by how much, and what was *refused*, with the way out. A source of which nothing can be
taken over is refused with one line. What is written appears whole or not at all; a folder in which it would be mixed
with files of a larger export, or replace a README.md of someone else, is refused.

## Read: `neuromap import FORMAT FILE`

{imports}

Files are data: sizes are bounded, nothing in a file is executed, and no pickle is read. What is truncated, malformed or
too large gets one line that names the file, the value found, the bound and a remedy. Scripts are executed, on a
simulated chip: only import scripts that you would run.

## Written: `neuromap export SOURCE --to FORMAT -o DEST`

{exports}

With a program go its input frames, as `neuromap simulate` takes them (`--stimulus`, or `--frames` random ones), and
what neuromap's chip answers to them, so that the other tool's answer can be compared. [RANC](ranc.md) and
[SANA-FE](sanafe.md) have been: every output and every spike was equal. [Traces](traces.md) have been read back with the
other tools' own readers.

## Read in Python only

Modules of PyTorch are live objects, not files: `neuromap.from_torch(module, example_input)` takes them over as ONNX
files are ([networks from ONNX and PyTorch](layers.md)). The following files hold a program with raw
events, not a network with frames, so they are read as such:

| files | function | bounds |
|---|---|---|
| RANC's JSON, configuration and input | `neuromap.formats.ranc.read_json` | 128 MiB each; cores together 512 MiB |
| memory images and test vectors of RANC's FPGA design | `neuromap.formats.ranc.read_vectors` | 256 MiB each |
| TrueNorth's model files (IBM's Corelets) | `neuromap.formats.truenorth.read_model` | 256 MiB; crossbars of 256 x 256 |

```python
from neuromap.formats.ranc import read_json
from neuromap.simulation.run.run_events import run_events


def outputs_of(config, input_file, n_ticks):
    case = read_json(config, input_file)
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks)
    return case.output_axons(*spikes, n_ticks)  # outputs of the bus that spike, tick by tick
```

There is no public description of TrueNorth's model files. What is read was worked out from two of them in the public
repository of the simulator NeMo, with the neuron of Cassidy et al. (2013) for its parameters; no file with known spikes
is public, so it was not compared with what IBM's simulator computes. Cores have numbers there and no places, and spikes
of inputs are in other files: the program has targets, delays and ports, to be run on events of your own.
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
