"""Read the tensors of a network from a safetensors file, refusing what it cannot use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from neuromap.errors import NetworkError
from neuromap.files.messages import show
from neuromap.files.sealed import Seal, seal_of_file
from neuromap.network.weights import as_integers, layout_hint, not_integers, show_shape

_INTEGERS = {"I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64"}
_LOADABLE_FLOATS = {"F16", "F32", "F64"}


def read_tensors(
    path: str | Path,
    wanted: Mapping[str, Sequence[tuple[int, ...]]],
    unused: Mapping[str, str] | None = None,
    floats: Mapping[str, int] | None = None,
) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.float32]]]:
    """Read exactly the tensors that a network wants."""
    # Names and shapes are checked before anything is loaded. A file that bears a digest must fit it; one that bears
    # none was written by another program, or by an early version of this one.
    path, floats = Path(path), floats or {}
    try:
        if not path.is_file():
            found = "is a folder" if path.is_dir() else "is not a regular file" if path.exists() else "does not exist"
            raise NetworkError(f"{found}; expected a safetensors file")
        with safe_open(path, framework="numpy") as file:
            if seal_of_file(path, file.metadata() or {}) is Seal.DAMAGED:
                raise NetworkError("is damaged, it does not fit its digest; take a copy, or save the network again")
            _check_names(list(file.keys()), wanted, unused or {}, floats)
            integers = {name: _read(file, name, shapes) for name, shapes in wanted.items()}
            return integers, {name: _read_floats(file, name, axes) for name, axes in floats.items()}
    except NetworkError as error:
        raise NetworkError(f"weights file {path}: {error}") from None
    except SafetensorError as error:
        raise NetworkError(
            f"weights file {path}: is not a complete safetensors file ({' '.join(str(error).split())[:120]})"
        ) from None
    except OSError as error:
        raise NetworkError(f"weights file {path}: cannot be read ({error.strerror or error})") from None


def _check_names(
    found: Sequence[str],
    wanted: Mapping[str, Sequence[tuple[int, ...]]],
    unused: Mapping[str, str],
    floats: Mapping[str, int],
) -> None:
    for name in found:
        if name in wanted or name in floats:
            continue
        if name in unused:
            raise NetworkError(f"tensor {show(name)}: {unused[name]}")
        near = get_close_matches(name, [*wanted, *floats], n=1, cutoff=0.0)
        hint = f"; the closest that it uses is {near[0]!r}" if near else ""
        raise NetworkError(f"tensor {show(name)}: the network does not use it{hint}")
    for name in wanted:
        if name not in found:
            raise NetworkError(
                f"tensor {name!r}: missing; add it with shape {_alternatives(wanted[name])}, or give the "
                "numbers in the network file"
            )
    for name in floats:
        if name not in found:
            raise NetworkError(f'tensor {name!r}: missing; the input has code = "layer", train its layer or drop that')


def _read(file: Any, name: str, shapes: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    header = file.get_slice(name)
    shape, dtype = tuple(header.get_shape()), header.get_dtype()
    if shape not in shapes:
        hint = layout_hint(shape, shapes[0]) if len(shapes) == 1 else ""  # thresholds may have several shapes
        raise NetworkError(
            f"tensor {name!r}: found shape {show_shape(shape)}; allowed is {_alternatives(shapes)}{hint}"
        )
    if dtype in _LOADABLE_FLOATS or dtype == "BOOL":
        raise NetworkError(f"tensor {name!r}: {not_integers(file.get_tensor(name))}")
    if dtype not in _INTEGERS:
        raise NetworkError(f"tensor {name!r}: found dtype {dtype}; only integers of at most 64 bits are allowed")
    return as_integers(file.get_tensor(name), f"tensor {name!r}")


def _read_floats(file: Any, name: str, axes: int) -> NDArray[np.float32]:
    header = file.get_slice(name)
    shape, dtype = tuple(header.get_shape()), header.get_dtype()
    if dtype != "F32" or len(shape) != axes or 0 in shape:
        raise NetworkError(
            f"tensor {name!r}: found {dtype} of shape {show_shape(shape)}; allowed is F32 of {axes} axes"
        )
    tensor: NDArray[np.float32] = file.get_tensor(name)
    if not np.isfinite(tensor).all():
        raise NetworkError(f"tensor {name!r}: found NaN or infinity; only finite numbers are allowed")
    tensor.flags.writeable = False
    return tensor


def _alternatives(shapes: Sequence[tuple[int, ...]]) -> str:
    return " or ".join(show_shape(s) for s in dict.fromkeys(shapes))
