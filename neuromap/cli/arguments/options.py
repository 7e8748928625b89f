"""Options shared by several commands, and what they select."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.cli.arguments.command import Given
from neuromap.errors import ChipError, InputError, NetworkError, prefixed
from neuromap.files.whole_file import check_target
from neuromap.options import argument, option
from neuromap.rollout.schedule.execution import executions_option

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram


def check_destinations(outputs: Mapping[str, str | None], inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse output files that cannot or must not be written, before long work begins."""
    # outputs: options and their files; ``None`` if not given
    wanted = {flag: path for flag, path in outputs.items() if path is not None}
    taken: dict[Path, str] = {}
    for flag, path in wanted.items():
        if path.startswith("-"):  # probably meant as stdout or another option
            raise InputError(f"{flag} {path}: is not a file; give a name (./{path} for this one), or /dev/stdout")
        with prefixed(f"{flag} ", InputError):
            target = check_target(path)
        read = _all_read(inputs) if Path(path).exists() else {}
        for name, source in read.items():
            if source is not None and _is_same(path, source):
                raise InputError(f"{flag} {path}: is the {name} itself; give another file")
        if target is None:
            continue  # a device or pipe, which is not overwritten
        if target in taken:
            raise InputError(f"{flag} {path}: is named twice, by {taken[target]} too; give each a file of its own")
        taken[target] = flag


def weights_beside(output: str | None) -> str | None:
    """Return the file that ``Network.save`` writes beside the network file; it refuses other suffixes itself."""
    if output is None or not output.lower().endswith(".toml"):
        return None
    return str(Path(output).with_suffix(".safetensors"))


def _all_read(inputs: Mapping[str, str | Path | None]) -> dict[str, str | Path | None]:
    """Add the weights files of networks to the files to read."""
    found = dict(inputs)
    for name, path in inputs.items():
        if name == "network file":
            found["weights file"] = _weights_file(path)
        elif name.startswith(("network file", "trained network")):
            found[f"weights file of the {name}"] = _weights_file(path)
    return found


def _is_same(path: str, source: str | Path) -> bool:
    try:
        return Path(path).samefile(source)
    except (OSError, ValueError):  # no such file; reading it will report that
        return False


def _weights_file(network: str | Path | None) -> Path | None:
    from neuromap.files.toml_table import read_toml
    from neuromap.network.network_file import MAX_FILE_BYTES

    if network is None:
        return None
    try:
        named = read_toml(Path(network), "network file", MAX_FILE_BYTES, NetworkError)["weights"]["file"]
        return Path(network).parent.joinpath(named)
    except (NetworkError, KeyError, TypeError):  # loading it will report that
        return None


DEFAULT_CHIP = "truenorth"
NETWORK = argument("NET  Network file (TOML).")
AS_JSON = option("--json  Print one JSON document to stdout and nothing else.", False)
PATTERN = option(
    "PATTERN  Rollout pattern: streaming, sequential, a name from the file, or its streaming edges "
    "('H1 -> O, H2 -> O').",
    "streaming",
)
EXECUTION = option(
    "EXECUTION  windowed, pipelined, pipelined:P for a frame every P update steps, or pipelined:best for the least "
    "mean frame period.",
    "windowed",
)
EXECUTIONS = executions_option(
    "EXECUTIONS  windowed, pipelined, pipelined:P for a frame every P update steps, pipelined:best; separated by "
    "commas.  [default: windowed,pipelined]"
)
CHIP = option(f"CHIP  A packaged chip (see neuromap chips) or a chip file.  [default: {DEFAULT_CHIP}]")
EVERY = option("--all  Print every column and what it means; several tables where the terminal is narrow.", False)
SOURCES = "npz:FILE, folder:DIR (a folder for each class), mnist:PATH, cifar10:PATH, gtsrb:PATH or digits"
STREAMS = "moving-digits, events, nmnist:PATH, dvs-gesture:PATH, shd:PATH"
DATA = option(f"SOURCE  Labelled images: {SOURCES} (scikit-learn's); streams of them: {STREAMS}.", "digits")
LIMIT = option("N  Only the first N images of every part, for a quick look.")


def check_workers(asked: Mapping[str, Any]) -> None:
    """Refuse processes combined with a cluster."""
    if "scheduler" in asked and "processes" in asked:
        raise InputError(
            f"--scheduler {asked['scheduler']} and --processes {asked['processes']}: give one of them, a cluster has "
            "workers"
        )


def chosen_chip(chip: str | None, program_file: Path | None = None) -> str:
    """Return the requested chip, or the default one."""
    if chip is not None and program_file is not None:
        raise InputError(f"--program and --chip {chip}: give one of them, a program holds its chip")
    return DEFAULT_CHIP if chip is None else chip


def chip_file_of(chip: str) -> str | None:
    """Return the path of a chip given as a file, else None."""
    from neuromap.hardware.chip.chip_file import is_chip_path

    return chip if is_chip_path(chip) else None


def image_file_of(source: str | None) -> str | None:
    """Return the path of images given as ``npz:FILE`` or the like, else None."""
    return None if source is None else source.partition(":")[2] or None


# Figures of a chip on the command line: ``--set core.axons=256,512``.


class OtherFigures(Given[None]):
    """Figures that replace a chip's own, and result in one chip or several."""

    other_figures: list[str] | None = option(
        "--set FIGURE=VALUES  Give the chip another figure, named as in chip files: core.axons=512. Several values, "
        "separated by commas, make a chip each, several --set every combination: one table of at most 256 chips.",
        group="chip",
    )

    @cached_property
    def figures(self) -> dict[str, list[Any]]:
        """The values of every figure."""
        return read_figures(self.other_figures)

    @property
    def make_several(self) -> bool:
        """Whether they make more than one chip."""
        return any(len(values) > 1 for values in self.figures.values())

    @property
    def of_one(self) -> dict[str, Any]:
        """The figures of a single chip; empty for several, which each have their own."""
        return {} if self.make_several else {name: values[0] for name, values in self.figures.items()}

    def refuse_with_several(self, **given: object) -> None:
        """Refuse options that concern a single chip."""
        # **given: values by the names of their options; None or False if not typed
        for name, value in given.items():
            if value is not None and value is not False:
                flag = f"--{name.replace('_', '-')}"
                raise InputError(
                    f"{flag}: is of one chip, and --set makes several; leave it away, or set one value each"
                )


class ChipFlags(OtherFigures):
    """A chip, and figures that replace its own."""

    first = ("chip",)
    chip: str | None = CHIP

    @property
    def name(self) -> str:
        """The requested chip, or the default one."""
        return chosen_chip(self.chip)

    @property
    def file(self) -> str | None:
        """Path of the chip if given as a file, else None."""
        return chip_file_of(self.name)


def read_figures(given: list[str] | None) -> dict[str, list[Any]]:
    """Parse the values of ``--set``."""
    figures: dict[str, list[Any]] = {}
    for words in given or ():
        name, sign, values = words.partition("=")
        name, parts = name.strip(), _at_commas(values)
        if not sign or not name or not all(parts):
            raise InputError(f"--set {words}: needs a figure and its values, such as core.axons=256,512")
        if name in figures:
            raise InputError(f"--set {words}: {name} is set twice; give all its values in one --set, commas between")
        figures[name] = list({repr(value): value for value in map(_value, parts)}.values())
    return figures


def _at_commas(text: str) -> list[str]:
    """Split at commas outside brackets and quotation marks."""
    cuts, depth, quote = [-1], 0, ""
    for place, character in enumerate(text):
        quote = "" if character == quote else quote or (character if character in "\"'" else "")
        depth += 0 if quote else (character == "[") - (character == "]")
        if character == "," and depth <= 0 and not quote:
            cuts.append(place)
    return [text[start + 1 : end].strip() for start, end in pairwise([*cuts, len(text)])]


def _value(text: str) -> Any:
    """Parse a value as in a TOML file; anything else is a string, which needs no quotation marks here."""
    from neuromap.files.toml_table import parse_toml

    try:
        found = parse_toml(f"value = {text}".encode(errors="replace"), ChipError)
        repr(found)  # an integer too long for Python to print is treated as text
    except (ChipError, ValueError):
        return text
    return found["value"] if len(found) == 1 else text


# Patterns on the command line.


def read_pattern(network: nm.Network, text: str) -> nm.RolloutPattern:
    """Read one pattern with :func:`neuromap.rollout.pattern.pattern_of_text`, imported lazily."""
    from neuromap.rollout.pattern import pattern_of_text

    return pattern_of_text(network, text)


def read_rollout(
    network: nm.Network, program: ChipProgram, path: Path, pattern: str | None, execution: str | None
) -> nm.Rollout:
    """Make the rollout to compare a program with; the program's labels supply what is not given."""
    # If nothing is given, hidden nodes get the program's phases, if possible: these may be phases at least cost.

    if pattern is None and program.pattern in ("", "unnamed"):
        raise InputError(f"{path}: does not name its pattern; give one")
    if execution is None and not program.execution:
        raise InputError(f"{path}: does not name its execution; give one")
    label = program.pattern if pattern is None else pattern
    rollout = nm.Rollout(network, read_pattern(network, label), program.execution if execution is None else execution)
    return rollout if pattern is not None or execution is not None else _as_labelled(rollout, program)


def _as_labelled(rollout: nm.Rollout, program: ChipProgram) -> nm.Rollout:
    """Set phases of hidden nodes from a program's clocks; responses depend only on inputs and outputs."""
    step, first = program.ticks_per_step, rollout.network.outputs[0]
    ticks = {port.name: port.sample_tick for port in program.nodes}
    if first not in ticks or rollout.network.is_spiking or program.period != rollout.frame_period * step:
        return rollout
    ends = {*rollout.network.inputs, *rollout.network.outputs}
    hidden = {n: ticks[n] - ticks[first] for n in rollout.network.nodes if n in ticks and n not in ends}
    try:
        return rollout.with_phases({n: rollout.phases[first] + Fraction(t) / step for n, t in hidden.items()})
    except InputError:
        return rollout


def split_patterns(values: Sequence[str]) -> list[str]:
    """Split the values of a repeatable option: names at commas, but not patterns given by edges."""
    return [
        part.strip() for value in values for part in ([value] if "->" in value else value.split(",")) if part.strip()
    ]
