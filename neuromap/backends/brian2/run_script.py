"""Run a Brian2 script on the chip in a separate process: ``python -m`` this, for ``neuromap import``."""

from __future__ import annotations

import json
import os
import runpy
import sys
from functools import partial
from pathlib import Path
from traceback import extract_tb, print_exc
from typing import Any

from brian2.devices.device import all_devices, set_device

from neuromap.backends.brian2.chip_report import LoadedChip
from neuromap.backends.brian2.device import NeuromapDevice, register
from neuromap.errors import InputError, NeuromapError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.render.value import form


def run_script(script: str, chip: str | None) -> NeuromapDevice:
    """Run a script like ``python SCRIPT``, with the device "neuromap" set."""
    # chip: a packaged chip or a chip file; None takes the one that the script sets, else loihi1
    device = register()
    for name, other in all_devices.items():
        if other is not device:
            other.activate = partial(_other_device, name, device, other.activate)
    set_device("neuromap", **({} if chip is None else {"chip": chip}))
    _execute(script)
    if not device.has_run:
        raise InputError("no network was run; call run, as for a simulation of any length")
    if chip is not None and load_chip(chip) != device.chip.program.chip:
        found = device.chip.program.chip.name
        raise InputError(f"--chip {chip}: the script sets chip {found} itself; leave one of them away")
    return device


def _other_device(name: str, device: NeuromapDevice, activate: Any, *words: Any, **options: Any) -> Any:
    """Refuse another device that a script sets before anything has run; afterwards it does no harm."""
    if not device.has_run:
        raise InputError(f"set_device({name!r}): the network is to run on neuromap's device; take the line out")
    return activate(*words, **options)


def _execute(script: str) -> None:
    sys.argv = [script]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except NeuromapError:
        raise
    except SystemExit as end:
        if end.code not in (None, 0):
            raise InputError(f"the script ended itself with exit code {end.code}; mend it") from None
    except Exception as error:
        if os.environ.get("NEUROMAP_DEBUG"):
            print_exc()
        raise _told(script, error) from None


def _told(script: str, error: BaseException) -> NeuromapError:
    """Convert a script's exception to an error with its line; return our own errors unwrapped."""
    first = error
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, NeuromapError):
        return error
    lines = [frame.lineno for frame in extract_tb(first.__traceback__) if frame.filename == script]
    line, text = lines[-1] if lines else None, str(error)
    if isinstance(error, SyntaxError) and error.filename == script:
        line, text = error.lineno, error.msg
    where = "" if line is None else f"line {line}: "
    return InputError(f"{where}{type(error).__name__}: {text}; mend the script, python {script} runs it alone")


def _figures(chip: LoadedChip, report: Any) -> dict[str, Any]:
    """Describe what runs on the chip and what stays on the host, in the script's terms."""
    translated = chip.translated
    return {
        "groups": {name: len(group) for name, group in translated.groups.items()},
        "sources": {name: len(group) for name, group in translated.sources.items()},
        "synapses": sum(len(part.source_neuron) for part in translated.network.synapses),
        "report": report.to_dict(),
    }


def _head(figures: dict[str, Any]) -> str:
    groups, sources = (
        ", ".join(f"{name} ({counted(size, 'neuron')})" for name, size in figures[part].items())
        for part in ("groups", "sources")
    )
    return f"on the chip: {groups}; on the host: {sources or 'nothing'}; {counted(figures['synapses'], 'synapse')}"


def main(script: str, folder: str, chip: str, width: str) -> None:
    """Run a script, and write its network and report into a folder, the outcome last."""
    # chip: as :func:`run_script` takes it; empty for None
    try:
        device = run_script(script, chip or None)
        report = device.report()
        device.chip.quantised.network.save(Path(folder) / "network.toml")
        figures = _figures(device.chip, report)
        text = f"{_head(figures)}\n{form(report, 'text', int(width))}"
        outcome = {"figures": figures, "text": text}
    except NeuromapError as error:
        outcome = {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # exceptions of the script arrive as InputError
        print_exc()
        told = f"internal error, please report it: {type(error).__name__}: {error}"
        outcome = {"error": "NeuromapError", "message": told}
    (Path(folder) / "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
