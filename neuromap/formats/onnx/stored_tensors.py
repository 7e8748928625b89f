"""Tensors that an ONNX file stores: within it, or in a file beside it and nowhere else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.files.regular_file import check_regular

__all__ = ["Stored", "stored_array", "stored_shape"]

_MOST_BYTES = 2**31 - 1
Stored = NDArray[Any] | None
"""``None`` where a tensor is constant, but its numbers are not at hand."""


def stored_shape(tensor: Any) -> tuple[int, ...]:
    """Give the shape of a stored tensor."""
    shape = tuple(int(n) for n in tensor.dims)
    if any(n < 0 for n in shape) or len(shape) > 16:
        raise InputError(f"tensor {show_name(tensor.name)}: found shape {show(list(shape))}; lengths are 0 or more")
    return shape


def stored_array(tensor: Any, folder: Path) -> Stored:
    """Give the numbers of a stored tensor."""
    # tensor: its numbers in it, or a name of a file, where they start in it and how many bytes they take
    # gives ``None`` for texts
    import onnx

    shape = stored_shape(tensor)
    if tensor.data_type in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED):
        return None
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            content = _from_file(tensor, folder, math.prod(shape) * dtype.itemsize)
            plain = onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type, raw_data=content)
            return np.asarray(onnx.numpy_helper.to_array(plain))
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except InputError:
        raise
    except Exception:  # whatever the package raises of numbers that do not fit
        raise InputError(
            f"tensor {show_name(tensor.name)}: its numbers do not fit its shape {show(list(shape))} and type; "
            "write the file again"
        ) from None


def _from_file(tensor: Any, folder: Path, wanted: int) -> bytes:
    """Read the numbers of a tensor from a file beside the model."""
    said = {entry.key: entry.value for entry in tensor.external_data}
    name, where = said.get("location", ""), f"tensor {show_name(tensor.name)}"
    if not name or name != Path(name).name or "\0" in name or "\\" in name:
        raise InputError(
            f"{where}: lies in {show(name)}; only files in the folder of the model itself are read, put it there"
        )
    path = folder / name
    if path.is_symlink():
        raise InputError(
            f"{where}: {show(name)} is a link; only files in the folder of the model are read, put it there"
        )
    try:
        start, length = int(said.get("offset", "0")), int(said.get("length", str(wanted)))
    except ValueError:
        raise InputError(f"{where}: its place in {show(name)} is no number; write the file again") from None
    try:
        size = check_regular(path, "file of weights", InputError).st_size
    except InputError as error:
        raise InputError(f"{where}: {show(name)} {error}") from None
    if length != wanted or wanted > _MOST_BYTES or start < 0 or start + length > size:
        raise InputError(
            f"{where}: wants {wanted} bytes, has {length} from {start} of {show(name)}, which has {size}; write both "
            "files again"
        )
    with path.open("rb") as stream:
        stream.seek(start)
        return bytes(stream.read(length))
