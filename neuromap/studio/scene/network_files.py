"""Networks as the bytes of their two files: from an upload, or out of a scene. Nothing else on the disk is read."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from neuromap.errors import InputError, NetworkError
from neuromap.files.messages import show
from neuromap.files.toml_file import parse_toml
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.network.terms import MatrixSource
from neuromap.network.transforms.kinds import Conv, Dense

__all__ = ["MOST_TOML_BYTES", "MOST_WEIGHT_BYTES", "check_size", "network_bytes", "network_from_bytes"]

MOST_TOML_BYTES = 2**21
MOST_WEIGHT_BYTES = 2**25
MOST_NEURONS = 2**20
MOST_WEIGHTS = 2**25
"""Between neurons, if none were zero: about 40 bytes each while it is mapped."""
_SAFE = "network.toml"
_LONGEST_NAME = 200
"""Bytes of a file's name; file systems hold 255."""


def network_from_bytes(text: bytes, weights: bytes | None, what: str = "network") -> Network:
    """Read a network from the bytes of its files."""
    for data, most, kind in ((text, MOST_TOML_BYTES, "network file"), (weights, MOST_WEIGHT_BYTES, "weights file")):
        if data is not None and len(data) > most:
            raise InputError(f"{what}: the {kind} has {len(data)} bytes; the studio takes at most {most}")
    try:
        named = parse_toml(text, NetworkError, long_table="edges").get("weights", {})
    except NetworkError as error:
        raise NetworkError(f"{what}: {error}") from None
    file = named.get("file") if isinstance(named, dict) else None
    if file is not None and not _is_name(file):
        raise InputError(f"{what}: weights.file = {show(file)}: must be the name of a file beside it, without folders")
    if file is not None and weights is None:
        raise InputError(f"{what}: names the weights file {file:.60}; choose that file too")
    with TemporaryDirectory(prefix="neuromap-") as folder:
        Path(folder, _SAFE).write_bytes(text)
        if isinstance(file, str) and weights is not None:
            Path(folder, file).write_bytes(weights)
        try:
            return load_network(Path(folder, _SAFE))
        except InputError as error:
            raise type(error)(str(error).replace(f"{folder}/", "")) from None


def check_size(network: Network, what: str = "network") -> None:
    """Refuse a network that a few lines make so large that mapping it takes the memory of the machine."""
    neurons = sum(math.prod(node.shape) for node in network.nodes.values() if node.shape is not None)
    weights = sum(
        _most_weights(transform)
        for edge in network.edges.values()
        for transform in (edge.transform, *(term.transform for term in edge.also))
    )
    for number, most, kind in ((neurons, MOST_NEURONS, "neurons"), (weights, MOST_WEIGHTS, "weights")):
        if number > most:
            raise InputError(f"{what}: has {number} {kind}; the studio takes at most {most}, so map it by command")


def _most_weights(transform: MatrixSource | None) -> int:
    """Weights between neurons, if none were zero; those of other transforms are as few as neurons."""
    if isinstance(transform, Conv):
        return math.prod(transform.target_shape) * math.prod(transform.weight_shape[:3])
    return math.prod(transform.weight_shape) if isinstance(transform, Dense) else 0


def _is_name(file: object) -> bool:
    """Whether a file can be called that, beside the network file."""
    if not isinstance(file, str) or file in ("", ".", "..", _SAFE) or not file.isprintable():
        return False
    return Path(file).name == file and len(file.encode()) <= _LONGEST_NAME


def network_bytes(network: Network) -> tuple[bytes, bytes | None]:
    """Write a network as the bytes of its two files; None where there are no weights."""
    with TemporaryDirectory(prefix="neuromap-") as folder:
        path = Path(folder, _SAFE)
        network.save(path)
        weights = path.with_suffix(".safetensors")
        return path.read_bytes(), weights.read_bytes() if weights.exists() else None
