"""``.npz`` archives of plain arrays, read within bounds and without pickle."""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from neuromap.errors import InputError


def read_npz(data: bytes, largest: int, error: type[InputError]) -> dict[str, NDArray[Any]]:
    """Read the arrays of an archive that unpacks to at most so many bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > largest:
                raise error(f"holds {unpacked} bytes; at most {largest} are read")
            return {name.removesuffix(".npy"): _read_npy(archive.read(name), error) for name in archive.namelist()}
    except InputError:
        raise
    except Exception:  # zipfile and its decompressors raise what they like on a damaged archive, OSError too
        raise error("not a readable .npz archive of plain arrays") from None


def _read_npy(data: bytes, error: type[InputError]) -> NDArray[Any]:
    """Read one array; its header may not promise more than is there."""
    stream = io.BytesIO(data)
    versions: dict[Any, Any] = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = versions[npy.read_magic(stream)](stream)  # type: ignore[no-untyped-call]
    if math.prod(shape) * max(1, dtype.itemsize) > len(data):
        raise error(f"promises an array of shape {shape} in {len(data)} bytes")
    stream.seek(0)
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)  # type: ignore[no-untyped-call]
    return array
