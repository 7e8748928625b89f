"""The kinds of scripts that can be imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, NotSupportedError
from neuromap.files.messages import did_you_mean, show_name

__all__ = ["SCRIPT_FORMATS", "ScriptFormat", "script_format"]


@dataclass(frozen=True)
class ScriptFormat:
    """How scripts of a simulator are run."""

    runner: str  # module that is run with the script, a folder for its outcome, the chip and the columns of text
    package: str  # of the simulator; what the runner imports
    extra: str  # that installs it


SCRIPT_FORMATS: Mapping[str, ScriptFormat] = ReadOnlyMapping(
    {"brian2": ScriptFormat("neuromap.backends.brian2.run_script", "brian2", "brian2")}
)


def script_format(name: str) -> ScriptFormat:
    """Find a format by its name."""
    if name not in SCRIPT_FORMATS:
        known = ", ".join(SCRIPT_FORMATS)
        near = did_you_mean(name, SCRIPT_FORMATS)
        raise InputError(f"format {show_name(name)}: is unknown; formats are {known}{near}")
    found = SCRIPT_FORMATS[name]
    if find_spec(found.package) is None:
        raise NotSupportedError(
            f"format {name}: needs {found.package}, which is not installed; "
            f"pip install 'neuromap-rollouts[{found.extra}]'"
        )
    return found
