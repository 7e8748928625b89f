"""Read an experiment from its TOML file, or an included one by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import InputError
from neuromap.experiments.experiment import Curve, Experiment, Published
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import did_you_mean
from neuromap.files.toml_table import TomlTable, read_toml
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.training_options import TrainingOptions

_MOST_BYTES = 2**20
_MOST_REPETITIONS = 1000
_LATEST_START = 10_000
_KEYS = ("format", "title", "source", "data", "repetitions", "starts", "training", "curves")
_TYPES: Mapping[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool, "int | None": int}


def list_experiments() -> tuple[str, ...]:
    """Return the names of the experiments included in the package, sorted."""
    home = Path(str(files("neuromap.experiments")))
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in home.glob("*/*.toml")))


def load_experiment(name: str | Path) -> Experiment:
    """Read an experiment.

    Parameters
    ----------
    name : str or Path
        A file, or a name of :func:`list_experiments`, such as ``"paper/mnist-sr"``, or an unambiguous prefix, such as
        ``"paper/gtsrb"``.

    Returns
    -------
    Experiment
        The experiment, with networks read from files beside it.

    Raises
    ------
    InputError
        If there is no such experiment, or its file is wrong.
    NetworkError, PatternError
        If one of its networks or patterns is wrong.
    """
    known = list_experiments()
    begun = [one for one in known if one.startswith(str(name))]
    text = begun[0] if len(begun) == 1 and not Path(name).exists() else str(name)
    if text in known:
        path = Path(str(files("neuromap.experiments"))) / f"{text}.toml"
    else:
        path = path_given("load_experiment", name)
        if not path.exists():
            raise InputError(
                f"experiment {text}: there is no such file, nor one experiment of this name; there are "
                f"{', '.join(known)}{did_you_mean(text, known)}"
            )
        text = path.stem
    try:
        return _read(text, read_toml(path, "experiment file", _MOST_BYTES, InputError), path.parent)
    except InputError as error:
        if type(error) is not InputError:
            raise
        raise InputError(f"{path}: {error}") from None


def _read(name: str, values: dict[str, Any], folder: Path) -> Experiment:
    top = TomlTable(values, "", InputError)
    top.check_format(1, "experiment file")
    top.allow(_KEYS)
    networks: dict[str, Network] = {}
    curves = tuple(_curve(TomlTable(v, f"curves[{k}]", InputError), folder, networks) for k, v in enumerate(_list(top)))
    _check_names([curve.name for curve in curves])
    return Experiment(
        name=name,
        title=top.text("title"),
        data=top.text("data"),
        repetitions=top.integer("repetitions", 1, _MOST_REPETITIONS),
        options=_options(top.table("training")),
        curves=curves,
        source=top.text("source") if "source" in top else "",
        starts=_starts(top, networks.values()) if "starts" in top else (),
    )


def _starts(top: TomlTable, networks: Iterable[Network]) -> tuple[int, ...]:
    allowed = f"are start indices within a track, 0 to {_LATEST_START}, ascending"
    found = top.integers("starts", allowed)
    if not found or sorted({*found}) != found or not 0 <= found[0] <= found[-1] <= _LATEST_START:
        raise top.wrong("starts", allowed)
    for network in networks:
        if any(encoding.frames != "track" for encoding in input_encodings(network).values()):
            raise top.wrong("starts", f'are none where network {network.name} has no input with frames = "track"')
    return tuple(found)


def _check_names(names: list[str]) -> None:
    """Refuse names of curves that would share checkpoint files, or are invalid as file names."""
    files = [name.replace(" ", "-") for name in names]
    for number, name in enumerate(names):
        if files[number] in files[:number]:
            raise InputError(
                f"curves[{number}]: {name} is there twice (- counts as a space); give networks names of their own, or "
                "drop one"
            )
        if "/" in name or not name.isprintable():
            raise InputError(f"curves[{number}]: {name!r} is not a name of a file; rename the network")


def _list(top: TomlTable) -> list[Any]:
    found = top.values.get("curves")
    if not isinstance(found, list) or not found:
        raise top.wrong("curves", "are one table [[curves]] or more")
    return found


def _curve(table: TomlTable, folder: Path, networks: dict[str, Network]) -> Curve:
    table.allow(("network", "pattern", "published"))
    file = table.text("network")
    if file not in networks:
        networks[file] = load_network(folder / file)
    network = networks[file]
    pattern = table.text("pattern")
    published = _published(table.table("published")) if "published" in table else None
    return Curve(f"{network.name} {pattern}", Rollout(network, pattern), published)


def _published(table: TomlTable) -> Published:
    table.allow(("steps", "accuracy"))
    steps = table.integers("steps", "are update steps, such as [2, 3, 4]")
    accuracy = table.values.get("accuracy")
    if (
        not isinstance(accuracy, list)
        or len(accuracy) != len(steps)
        or not all(isinstance(a, int | float) and 0 <= a <= 1 for a in accuracy)
    ):
        raise table.wrong("accuracy", "is a list of as many fractions of 0 to 1 as there are steps")
    return Published(tuple(steps), tuple(float(a) for a in accuracy))


def _options(table: TomlTable) -> TrainingOptions:
    kinds = {f.name: str(f.type) for f in fields(TrainingOptions)}
    table.allow(tuple(kinds))
    for key, value in table.values.items():
        allowed = _TYPES[kinds[key]]
        if not isinstance(value, allowed) or isinstance(value, bool) is not (kinds[key] == "bool"):
            raise table.wrong(key, f"are values of type {kinds[key]}")
    return TrainingOptions(**dict(table.values))
