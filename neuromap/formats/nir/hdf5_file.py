"""Read NIR files: HDF5, held against bounds before any of it is in memory; nothing in it is executed.

``nir.read`` follows every link of a file and takes whatever size it states. This reader takes hard links to groups and
whole datasets of numbers and texts only: no soft or external links, no data in other files, no virtual datasets, no
compression filters beyond those that HDF5 and h5py bring along, no object that is reached twice. It runs in a process
of its own, since the HDF5 library believes a file's bookkeeping: lengths of texts, addresses, chains without end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.confined import confined
from neuromap.files.foreign import HEAD, check_regular, file_kind
from neuromap.files.messages import show, show_name
from neuromap.formats.nir.nir_graph import MAX_DEPTH, MAX_EDGES, MAX_NAME, MAX_NODES, MAX_VALUES, NirGraph, graph_of
from neuromap.registry import require_package

MAX_FILE = 2**30
"""Bytes of a file."""
MAX_BYTES = 2**31
"""Bytes of all its numbers, unpacked."""
_MAX_TEXT = 2**24
_MOST_TEXT = 2**26
"""Characters of a text, and of all texts: many references may lead to one."""
_TIGHTEST = 1100
"""Times that gzip, the tightest of the filters, packs numbers at most."""
_BESIDE = 2**28
"""Bytes that the library and its caches, and texts, may take beside the numbers."""
_SECONDS, _BYTES_A_SECOND = 5.0, 10**6
"""Work to read a small file, ten times what it takes, and the pace of others: small nodes are slow, by h5py."""
_ARRAY = ""
"""Stands in a table for an array, with its name; no group of a file holds an empty name."""
_MAX_OBJECTS = 16 * MAX_NODES
_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf"}
_SIGNATURE = b"\x89HDF\r\n\x1a\n"


def read_nir(path: str | Path) -> NirGraph:
    """Read a NIR file.

    Parameters
    ----------
    path : str or Path
        As ``nir.write`` wrote it: HDF5, up to ``MAX_FILE`` bytes, its numbers up to ``MAX_BYTES`` unpacked.

    Returns
    -------
    NirGraph

    Raises
    ------
    InputError
        If it is no such file: truncated, too large, with links, or with a graph that is none.
    NotSupportedError
        If h5py is missing.
    """
    path = Path(path)
    name = show_name(str(path))
    require_package(f"{name}: as HDF5", "h5py", "nir")  # before a process is begun
    try:
        size = check_regular(path, "NIR file (HDF5)", InputError).st_size
        if size > MAX_FILE:
            raise InputError(f"is larger than {MAX_FILE // 2**20} MiB; expected a NIR file (HDF5)")
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        if not head.startswith(_SIGNATURE):
            raise InputError(f"is {file_kind(head) or 'not an HDF5 file'}; expected a NIR file (HDF5)")
        told, arrays = confined(
            f"{__name__}:file_content",
            {"path": str(path)},
            "NIR file (HDF5)",
            # numbers in pieces are unpacked before they are in place
            memory=2 * min(MAX_BYTES, _TIGHTEST * size) + _BESIDE,
            work=_SECONDS + size / _BYTES_A_SECOND,
            seconds=12 * (_SECONDS + size / _BYTES_A_SECOND),
        )
        return graph_of(_put_back(told["node"], arrays), told["version"])
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from None


def _put_back(tree: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Put arrays in the places that :class:`_Reader` marked."""
    if not isinstance(tree, dict):
        return tree
    place = tree.get(_ARRAY)
    return {name: _put_back(part, arrays) for name, part in tree.items()} if place is None else arrays[place]


def file_content(path: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read a file by h5py, in the process that :func:`read_nir` begins: its tables and texts, and its arrays."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            reader = _Reader(h5py, Path(path).stat().st_size)
            return reader.content(file), reader.arrays
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError, UnicodeError) as error:
        told = " ".join(str(error).split())[:160]
        raise InputError(f"is not a complete HDF5 file ({show_name(told)}); write it again") from None


class _Reader:
    """One file under inspection."""

    def __init__(self, h5py: Any, size: int) -> None:
        self._h5py, self._size = h5py, size
        self._seen: set[int] = set()
        self._bytes = self._characters = 0
        self.arrays: dict[str, NDArray[Any]] = {}

    def content(self, file: Any) -> dict[str, Any]:
        version = ""
        if "version" in file and self._kind(file, "version") == "hard":
            found = self._value(file["version"], "version")
            version = found[:40] if isinstance(found, str) and found.isprintable() else ""
        if "node" not in file or self._kind(file, "node") != "hard":
            raise InputError("has no group 'node'; expected a NIR file as nir.write makes it")
        tree = self._object(file["node"], "node", 0)
        if not isinstance(tree, dict) or _ARRAY in tree:
            raise InputError("node: is not a group; expected a NIR file as nir.write makes it")
        return {"node": tree, "version": version}

    def _kind(self, group: Any, name: str) -> str:
        link = group.get(name, getlink=True)
        if isinstance(link, self._h5py.HardLink):
            return "hard"
        return "an external" if isinstance(link, self._h5py.ExternalLink) else "a soft"

    def _object(self, item: Any, where: str, depth: int) -> Any:
        address = self._h5py.h5o.get_info(item.id).addr
        if address in self._seen:
            raise InputError(f"{where}: is reached by two names; a NIR file holds everything once")
        self._seen.add(address)
        if len(self._seen) > _MAX_OBJECTS:
            raise InputError(f"has more than {_MAX_OBJECTS} groups and datasets; split the graph")
        if isinstance(item, self._h5py.Dataset):
            return self._value(item, where)
        if not isinstance(item, self._h5py.Group):
            raise InputError(f"{where}: is neither a group nor a dataset; expected a NIR file")
        if depth > 2 * MAX_DEPTH + 2:
            raise InputError(f"{where[:100]}: is nested {depth} deep; at most {MAX_DEPTH} graphs are allowed")
        if len(item) > MAX_NODES:
            raise InputError(f"{where}: holds {len(item)} names; at most {MAX_NODES} are allowed")
        found = {}
        for name in item:
            if not isinstance(name, str) or not name or not name.isprintable() or len(name) > MAX_NAME:
                raise InputError(f"{where}: holds the name {show(name)}; needs up to {MAX_NAME} printable characters")
            below = f"{where}.{name}"
            if (kind := self._kind(item, name)) != "hard":
                raise InputError(f"{below}: is {kind} link; links are not followed, copy what it leads to")
            found[name] = self._object(item[name], below, depth + 1)
        return found

    def _value(self, data: Any, where: str) -> Any:
        """Read a dataset whose size, storage and filters are known to be harmless."""
        if not isinstance(data, self._h5py.Dataset):
            raise InputError(f"{where}: is not a dataset; expected a NIR file")
        if data.shape is None:
            return None
        plan = data.id.get_create_plist()
        if data.is_virtual or data.external:
            raise InputError(f"{where}: lies in another file; a NIR file holds all its numbers")
        filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
        if unknown := [number for number in filters if number not in _FILTERS]:
            raise InputError(f"{where}: is packed with filter {unknown[0]}; allowed are {', '.join(_FILTERS.values())}")
        count, chunk = _product(data.shape), _product(data.chunks or ())
        if data.dtype.kind in "OS":
            return self._texts(data, where, count)
        if data.dtype.kind not in "biuf" or data.dtype.itemsize > 16:
            raise InputError(f"{where}: holds {show(data.dtype)}; numbers and texts are allowed")
        if max(count, chunk) > MAX_VALUES:
            raise InputError(f"{where}: holds {max(count, chunk)} numbers; at most {MAX_VALUES} are allowed")
        self._require_stored(data, where, count)
        self._bytes += count * max(data.dtype.itemsize, 8)
        if self._bytes > MAX_BYTES:
            raise InputError(f"{where}: its numbers and those before take more than {MAX_BYTES // 2**20} MiB")
        place = str(len(self.arrays))
        self.arrays[place] = np.asarray(data[()])
        return {_ARRAY: place}

    def _require_stored(self, data: Any, where: str, count: int) -> None:
        """Refuse values that the file does not hold, before there is room for them in memory."""
        stored, wanted = data.id.get_storage_size(), count * data.dtype.itemsize
        offset = None if data.chunks else data.id.get_offset()
        is_beyond = offset is not None and offset + wanted > self._size
        if is_beyond or stored > self._size or wanted > stored * (_TIGHTEST if data.chunks else 1):
            raise InputError(f"{where}: states {wanted} bytes and stores {stored}; write the file again")

    def _texts(self, data: Any, where: str, count: int) -> Any:
        """Read a text, or pairs of names."""
        if data.dtype.kind != "S" and self._h5py.check_string_dtype(data.dtype) is None:
            raise InputError(f"{where}: holds objects; numbers and texts are allowed")
        if count > 2 * MAX_EDGES or data.dtype.itemsize * count > _MAX_TEXT:
            raise InputError(f"{where}: holds {count} texts; at most {2 * MAX_EDGES} short ones are allowed")
        longest = _MAX_TEXT if data.shape == () else 2 * MAX_NAME
        texts = [_text(part, where, longest) for part in np.asarray(data[()], object).ravel().tolist()]
        self._characters += sum(map(len, texts))
        if self._characters > _MOST_TEXT:
            raise InputError(f"{where}: its texts and those before have more than {_MOST_TEXT} characters")
        return texts[0] if data.shape == () else np.array(texts, object).reshape(data.shape).tolist()


def _product(shape: Any) -> int:
    total = 1
    for n in shape:
        total *= int(n)
    return total


def _text(value: Any, where: str, longest: int) -> str:
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise InputError(f"{where}: holds a text that is not UTF-8") from None
    if len(text) > longest:
        raise InputError(f"{where}: holds a text of {len(text)} characters; at most {longest} are allowed")
    return text
