"""Run a script of another simulator in a separate process, and read its result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuromap import errors
from neuromap.backends.imported import Imported
from neuromap.errors import InputError, NeuromapError, prefixed
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import show_name
from neuromap.hardware.chip.chip_file import is_chip_path, load_chip
from neuromap.network.network_file import load_network
from neuromap.registry import Registry, require_package

_LARGEST = 2**24
_STDERR = 2


def import_script(format: str, script: str | Path, chip: str | None = None, *, width: int = 100) -> Imported:
    """Run a script with a simulated chip in place of its simulator; the script is executed, whatever it does.

    It runs in the current folder, like ``python SCRIPT``, and may read stdin. Its output goes to stderr. Matplotlib
    shows no windows unless ``MPLBACKEND`` is set.

    Parameters
    ----------
    format : str
        One of :data:`neuromap.backends.scripts.SCRIPT_FORMATS`.
    script : str or Path
        The script.
    chip : str or None
        A packaged chip or a chip file; by default the one that the script sets, or else the format's default.
    width : int
        Columns of the text.

    Returns
    -------
    Imported
        Result for the network that ran last.

    Raises
    ------
    InputError
        If there is no such format or script, or the script fails, runs no network or takes another device.
    NotSupportedError
        If the simulator is not installed, or the script uses something that the chip does not compute.
    NetworkError, DoesNotFitError
        If the network cannot be quantised, or does not fit the chip.
    """
    runner, name = script_format(format).runner, show_name(str(script))
    with prefixed(f"{name}: ", InputError):
        read_bytes(Path(script), "script", _LARGEST, InputError)
    with tempfile.TemporaryDirectory() as folder:
        code = _run([runner, os.fspath(script), folder, _named_chip(chip), str(width)])
        outcome = _outcome(Path(folder) / "outcome.json", name, code)
        network = load_network(Path(folder) / "network.toml")
    return Imported(network, outcome["figures"], outcome["text"])


def _named_chip(chip: str | None) -> str:
    """Return a name by which the chip is found even if the script changes the current folder."""
    if chip is None:
        return ""
    load_chip(chip)
    return str(Path(chip).resolve()) if is_chip_path(chip) else chip


def _run(words: list[str]) -> int:
    """Run a module in its own session, so that interrupts reach this process, which ends it; return the exit code."""
    environment = {"MPLBACKEND": "Agg", **os.environ}
    command = [sys.executable, "-P", "-m", *words]
    return subprocess.run(command, env=environment, stdout=_STDERR, start_new_session=True, check=False).returncode


def _outcome(path: Path, name: str, code: int) -> dict[str, Any]:
    """Read the runner's outcome; raise the error it recorded, if any."""
    if not path.exists():
        raise InputError(f"{name}: its process ended with exit code {code} in the middle; python {name} may tell why")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "error" in found:
        kind = getattr(errors, found["error"], NeuromapError)
        raise kind(f"{name}: {found['message']}")
    return found


# Formats of scripts that can be imported.


@dataclass(frozen=True)
class ScriptFormat:
    """How to run scripts of a simulator."""

    runner: str  # module to run, given the script, a folder for its outcome, the chip and the width of text
    package: str  # package of the simulator, which the runner imports
    extra: str = ""  # extra of neuromap that installs it


SCRIPT_FORMATS: Registry[ScriptFormat] = Registry(
    "format",
    "neuromap.backends",
    {"brian2": ScriptFormat("neuromap.backends.brian2.run_script", "brian2", "brian2")},
    InputError,
    ScriptFormat,
)


def script_format(name: str) -> ScriptFormat:
    """Find a format by its name."""
    found = SCRIPT_FORMATS.find(name)
    require_package(f"format {name}", found.package, found.extra, imports=False)
    return found
