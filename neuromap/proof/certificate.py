"""Certificates as files: what was claimed, beside the network in ticks, to be checked by whoever doubts it.

Checking one takes ``checker.py``, what reads programs, and this reader. The file is sealed safetensors: the arrays of
:class:`~neuromap.proof.checker.Certificate` under their names, parameters of neurons with state as ``state.NAME``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from neuromap.errors import InputError
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import show_name
from neuromap.files.sealed import KIND_KEY, Seal, metadata_of, seal_of, sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.proof.checker import Certificate, Checker, Examined

KIND = "certificate"
# array: its dtype and axes: N nodes and one, G neurons of the network, H as many and one, T terms, C cores, n neurons
_ARRAYS = {
    "first": (np.int64, "N"),
    "start": (np.int64, "H"),
    "source": (np.int32, "T"),
    "lag": (np.int16, "T"),
    "current": (np.int8, "T"),
    "weight": (np.int32, "T"),
    "threshold": (np.int64, "G"),
    "neuron": (np.int64, "Cn"),
    "begin": (np.int64, "Cn"),
    "part": (np.int64, "Cn"),
    "relay": (np.bool_, "Cn"),
    "holds": (np.bool_, "Cn"),
    "power": (np.int64, "Cn"),
    "silent": (np.bool_, "G"),
}
_LARGEST = 1 << 34
"""Bytes of a certificate that is read."""
_MOST = 1 << 48
"""Bound of begins: ticks of programs in parts stay far below."""


def program_digest(program: ChipProgram) -> str:
    """Give the digest that a program's file bears."""
    return metadata_of(program_bytes(program))["digest"]


def save_certificate(certificate: Certificate, program: ChipProgram, path: str | Path) -> None:
    """Write a certificate of a program, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {
        name: np.asarray(getattr(certificate, name), dtype) for name, (dtype, _) in _ARRAYS.items()
    }
    arrays |= {f"state.{name}": array for name, array in certificate.state.items()}
    nodes = json.dumps([list(pair) for pair in zip(certificate.names, certificate.kinds, strict=True)])
    write_whole(path, sealed_bytes(KIND, arrays, {"nodes": nodes, "program": program_digest(program)}))


def load_certificate(path: str | Path, program: ChipProgram) -> Certificate:
    """Read a certificate, and hold everything in it that indexes something against the program."""
    origin = f"certificate {show_name(str(path))}"
    try:
        data = read_bytes(Path(path), "certificate", _LARGEST, InputError)
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None
    try:
        tensors = load(data)
        metadata = metadata_of(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(
            f"{origin}: is not a complete certificate ({' '.join(str(error).split())[:100]}); make it again"
        ) from None
    if metadata.get(KIND_KEY) != KIND or seal_of(data, metadata) is not Seal.WHOLE:
        raise InputError(
            f"{origin}: is not a certificate, or was changed after it was made; make it with neuromap prove"
        )
    state = {name.removeprefix("state."): array for name, array in tensors.items() if name.startswith("state.")}
    nodes = [[port.name, port.kind] for port in program.nodes]
    wrong = "" if metadata.get("nodes") == json.dumps(nodes) else "its nodes are others"
    wrong = wrong or _misfit(tensors, state, len(nodes), program.shape)
    if wrong:
        raise InputError(f"{origin}: {wrong}; it is of another program, or no certificate; make it again")
    digest = program_digest(program)
    if metadata.get("program") != digest:
        raise InputError(f"{origin}: is of another program than that with digest {digest}; make it again")
    names, kinds = zip(*nodes, strict=True)
    arrays = {name: tensors[name] for name in _ARRAYS}
    return Certificate(tuple(names), tuple(kinds), **arrays, state=state, program=digest)


def check_certificate(path: str | Path, program: ChipProgram) -> Examined:
    """Decide a certificate of a program that keeps the rules of its chip; only checkers and readers take part."""
    require_legal(program)
    return Checker(program, load_certificate(path, program)).examine()


def _misfit(
    tensors: dict[str, NDArray[Any]], state: dict[str, NDArray[Any]], n_nodes: int, shape: tuple[int, int]
) -> str:
    """Say what does not fit in a certificate: arrays, shapes, what indexes nothing."""
    for name, (dtype, _) in _ARRAYS.items():
        if name not in tensors or tensors[name].dtype != dtype or not tensors[name].ndim:
            return f"array {name}: is absent, or of another type than {np.dtype(dtype).name}"
    sizes = {"N": n_nodes + 1, "T": len(tensors["source"]), "C": shape[0], "n": shape[1]}
    first = tensors["first"]
    if first.shape != (n_nodes + 1,) or first[0] or (first[1:] <= first[:-1]).any() or first[-1] > 2**31:
        return "array first: does not rise from 0, node by node"
    sizes["G"] = int(first[-1])
    sizes["H"] = sizes["G"] + 1
    for name, (_, axes) in _ARRAYS.items():
        if tensors[name].shape != tuple(sizes[axis] for axis in axes):
            return f"array {name}: found shape {list(tensors[name].shape)}, needs {[sizes[axis] for axis in axes]}"
    if any(array.shape != (sizes["G"],) or array.dtype != np.int64 for array in state.values()):
        return "parameters of neurons: need one integer of 64 bits per neuron"
    start = tensors["start"]
    if start[0] != 0 or (start[1:] < start[:-1]).any() or start[-1] != sizes["T"]:
        return "array start: does not rise from 0 to the number of terms"
    bounds = {"source": (0, sizes["G"] - 1), "lag": (0, 2**15), "current": (0, 127), "neuron": (-1, sizes["G"] - 1)}
    bounds |= {"begin": (-_MOST, _MOST), "part": (0, 127), "power": (0, 24), "threshold": (-(2**38), 2**38)}
    bounds |= {f"state.{name}": (-(2**41), 2**41) for name in state}
    for name, (low, high) in bounds.items():
        if tensors[name].size and not low <= tensors[name].min() <= tensors[name].max() <= high:
            return f"array {name}: has numbers outside {low} to {high}"
    return ""
