"""Read encodings from the network file: ``[inputs.NAME]``. ``docs/data.md`` is the reference of the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.tracks import ImageSet
from neuromap.encoding.frames import CODES, MAX_LEVELS, MAX_NOISE, SHOWN, Code, InputEncoding
from neuromap.errors import InputError, NetworkError
from neuromap.files.toml_table import TomlTable
from neuromap.network.network import ENCODER, Network, plain_table
from neuromap.network.weights import MAX_NEURONS

_KEYS: Mapping[str, tuple[str, ...]] = ReadOnlyMapping(
    {
        "real": ("noise", "code", "seen", "mean", "frames"),
        "threshold": ("noise", "code", "seen", "levels"),
        "bernoulli": ("noise", "code", "seen"),
        "layer": ("noise", "code", "seen", "kernel", "stride", *ENCODER),
        "rate": ("code", "seen"),
        "value": ("noise", "code", "seen", "mean", "step"),
    }
)
_LEVELS = f"are 1 to {MAX_LEVELS} numbers from 0 to 1, ascending"


def input_encodings(network: Network) -> Mapping[str, InputEncoding]:
    """Return the encoding of every input node.

    Parameters
    ----------
    network : Network
        Its input nodes need shapes.

    Returns
    -------
    mapping of str to InputEncoding
        In file order; an input node without a table has code ``real`` without noise, a graded one code ``value``.

    Raises
    ------
    NetworkError
        If a table has an unknown key or an invalid value, or an input node has no shape.
    """
    tables = network.tables.get("inputs", {})
    return ReadOnlyMapping({name: _encoding(network, name, tables.get(name, {})) for name in network.inputs})


def _encoding(network: Network, name: str, given: Mapping[str, Any]) -> InputEncoding:
    shape = network.nodes[name].shape
    if shape is None:
        raise NetworkError(f"node {name}: has no shape, so no images fit; add shape = [rows, columns, features]")
    table = TomlTable(plain_table(given), TomlTable({}, "inputs", NetworkError).key_path(name), NetworkError)
    graded = network.nodes[name].graded
    code: Any = table.text("code", CODES) if "code" in table else "real" if graded is None else "value"
    if code == "value" and graded is None:
        raise table.wrong(
            "code", "are codes of spikes, as the node is not graded; give the nodes graded neurons, or drop it"
        )
    table.allow(_KEYS["layer"] + _KEYS["threshold"] if code not in CODES else _KEYS[code], f' with code = "{code}"')
    shown: dict[str, Any] = {"frames": table.text("frames", SHOWN)} if "frames" in table else {}
    values: dict[str, Any] = {}
    if code == "value" and graded is not None:
        values = {"values": graded.value_range, "zero_point": graded.zero_point, "scale": graded.scale}
    return InputEncoding(name, shape, code=code, **_numbers(table), **shown, **_layer(table, code), **values)


def _numbers(table: TomlTable) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "noise" in table:
        found["noise"] = table.number("noise", 0.0, MAX_NOISE)
    if "levels" in table:
        if not isinstance(table.values["levels"], list):
            raise table.wrong("levels", _LEVELS)
        found["levels"] = tuple(table.values["levels"])
    if table.values.get("mean") == []:
        raise table.wrong(
            "mean", "are one number from 0 to 1, or one for each feature; drop it where none is subtracted"
        )
    for key in ("mean", "step", "seen"):
        if key in table:
            given = table.values[key]
            found[key] = tuple(given) if isinstance(given, list) else given if key == "seen" else (given,)
    return found


def _layer(table: TomlTable, code: Code) -> dict[str, Any]:
    if code != "layer":
        return {}
    found: dict[str, Any] = {"kernel": table.pair("kernel", 1, MAX_NEURONS, "[rows, columns]")}
    if "stride" in table:
        found["stride"] = table.pair("stride", 1, MAX_NEURONS, "[rows, columns]")
    for field, key in zip(("weights", "thresholds"), ENCODER, strict=True):
        if key in table and not hasattr(table.values[key], "dtype"):
            raise table.wrong(key, "are arrays of the weights file only; drop it here")
        found[field] = table.values.get(key)
    return found


# Input and output of networks that classify labelled images.
def require_labelled_nodes(network: Network, classes: int, what: str) -> None:
    """Refuse networks that cannot classify images into ``classes`` classes."""
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        raise NetworkError(
            f"network {network.name}: has inputs {', '.join(network.inputs)} and outputs {', '.join(network.outputs)}; "
            f"{what} on labelled images needs one of each (outputs = [...] chooses)"
        )
    output = network.nodes[network.outputs[0]]
    if output.size % classes:
        raise NetworkError(
            f"node {output.name}: has {output.size} neurons, which {classes} classes cannot share equally; give it "
            f"{classes} or a multiple"
        )


def training_table(network: Network) -> TomlTable:
    """Return the table ``training`` of a network, its keys and numbers checked."""
    given = network.tables.get("training", {})
    table = TomlTable(given, "training", NetworkError, ("nodes", "edges", "frames", "classes"))
    for key, what in (("frames", "trained output frames"), ("classes", "classes")):
        value = table.values.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise table.wrong(key, f"is the number of {what}, 1 or more")
    return table


def with_known_classes(network: Network, images: ImageSet, what: str) -> ImageSet:
    """Return images with all classes that the network was made for: a file may lack images of the last ones."""
    known = training_table(network).values.get("classes")
    given = len(images.classes)
    if known is not None and known != given:
        numbers = tuple(map(str, range(known)))
        if images.classes != numbers[:given]:  # more of them, or names, whose numbers depend on which there are
            raise InputError(
                f"{images.name}: has {given} classes, network {network.name} was made for {known} (training.classes); "
                "give images of the same classes"
            )
        images = replace(images, classes=numbers)
    require_labelled_nodes(network, len(images.classes), what)
    return images
