"""``.npz`` archives of plain arrays, read within bounds and without pickle."""

from __future__ import annotations

import io
import math
import zipfile
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show_name


def read_npz(data: bytes, largest: int, error: type[InputError]) -> dict[str, NDArray[Any]]:
    """Read the arrays of an archive that unpacks to at most so many bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > largest:
                raise error(f"holds {unpacked} bytes; at most {largest} are read")
            return {
                name: _read_npy(name, archive.read(member), error)
                for member in archive.namelist()
                for name in [member.removesuffix(".npy")]
            }
    except InputError:
        raise
    except Exception:  # zipfile and its decompressors raise what they like on a damaged archive, OSError too
        raise error("not a readable .npz archive of plain arrays; write it with numpy.savez") from None


def _read_npy(name: str, data: bytes, error: type[InputError]) -> NDArray[Any]:
    """Read one array; its header may not promise more than is there."""
    stream = io.BytesIO(data)
    versions: dict[Any, Any] = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = versions[npy.read_magic(stream)](stream)  # type: ignore[no-untyped-call]
    if dtype.hasobject:
        raise error(
            f"array {show_name(name)} holds Python objects, a pickle, which is never read; save numbers, or text by "
            ".astype(str)"
        )
    if math.prod(shape) * max(1, dtype.itemsize) > len(data):
        raise error(f"promises an array of shape {shape} in {len(data)} bytes")
    stream.seek(0)
    array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)  # type: ignore[no-untyped-call]
    return array
