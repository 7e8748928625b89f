"""Files of a set, in a folder or in an archive, which is read without unpacking it to disk.

Before anything is decompressed, what an archive claims is checked against bounds: its members and their sizes; for
compressed tar files, the stream is checked as it is read.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.files.unpacked import Unpacked, most_unpacked

_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".zip")
_MOST_BYTES = 2**30
# Most bytes of a tar file, decompressed: of both parts, with the headers of its members.
_MOST_TAPE = 2**31
# Most files of a set: five times as many as in the largest supported one.
MOST_MEMBERS = 2**18
# Decompressors of tar files, by their first bytes.
_PACKERS: Mapping[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}


@dataclass(frozen=True)
class Members:
    """Files of an open folder or archive."""

    path: Path  # path of the folder or archive
    # size of every file in bytes, by its path below the folder, with slashes; in the order of the archive
    sizes: Mapping[str, int]
    one: Callable[[str], bytes]  # reads a file by its name
    packed: int  # bytes of the archive; for a folder, the most that may be read

    @property
    def names(self) -> list[str]:
        """Names of all files, sorted."""
        return sorted(self.sizes)

    def each(
        self, names: Collection[str], most: int = _MOST_BYTES, most_of_one: int | None = None
    ) -> Iterator[tuple[str, bytes]]:
        """Read some of the files, one at a time, after checking the sizes of all."""
        # yields data in the order of the archive, in which it can be read sequentially
        for name in names:
            if most_of_one is not None and self.sizes[name] > most_of_one:
                raise InputError(f"{show(name)}: has {self.sizes[name]} bytes; allowed are {most_of_one}")
        wanted = set(names)
        total = sum(self.sizes[name] for name in wanted)
        most = most_unpacked(self.packed, most)
        if total > most:
            raise InputError(
                f"has {total} bytes of images in this part; at most {most} are read of {self.packed} bytes; give the "
                "set only"
            )
        for name in self.sizes:
            if name in wanted:
                with _whole(self.path):
                    data = self.one(name)
                yield name, data


@contextmanager
def open_members(path: Path) -> Iterator[Members]:
    """Open a folder or an archive, tar (with any compression) or zip."""
    # If a folder holds nothing but an archive, open the archive.
    path = _archive_within(path)
    with ExitStack() as stack:
        with _whole(path):
            members = _of_folder(path) if path.is_dir() else _of_archive(path, stack)
        yield members


def _archive_within(path: Path) -> Path:
    with _whole(path):
        if not path.exists():
            raise InputError(f"{show_name(str(path))} does not exist; give a folder or an archive")
        if not path.is_dir() and not path.is_file():
            raise InputError(f"{show_name(str(path))} is not a regular file; give a folder or an archive")
        if path.is_file():
            return path
        inside = list(path.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].name.endswith(_ENDINGS) else path


def _of_folder(path: Path) -> Members:
    files = _by_name((found.relative_to(path).as_posix(), found) for found in _files_below(path))
    sizes = {name: found.stat().st_size for name, found in files.items()}

    def read(name: str) -> bytes:
        with files[name].open("rb") as stream:
            data: bytes = stream.read(sizes[name])
        return data

    return Members(path, sizes, read, _MOST_BYTES)


def _files_below(path: Path) -> Iterator[Path]:
    """Find the files of a folder; refuse links to folders, which may be circular, and if skipped would lose a class."""
    for found in path.rglob("*"):
        if found.is_file():
            yield found
        elif found.is_symlink() and found.is_dir():
            name = show(found.relative_to(path).as_posix())
            raise InputError(f"{name} is a link to a folder, which is not followed; put the folder in its place")


def _of_archive(path: Path, stack: ExitStack) -> Members:
    packed = path.stat().st_size
    if path.suffix == ".zip":
        archive = stack.enter_context(zipfile.ZipFile(path))
        infos = _by_name((info.filename, info) for info in archive.infolist() if not info.filename.endswith("/"))
        return Members(
            path,
            {name: info.file_size for name, info in infos.items()},
            lambda name: _of_zip(archive, infos[name]),
            packed,
        )
    with path.open("rb") as stream:
        head = stream.read(6)
    opener = next((opener for sign, opener in _PACKERS.items() if head.startswith(sign)), None)
    if opener is None:  # then no member's header may claim more than the file has
        source = Unpacked(path.open("rb"), packed)
    else:
        source = Unpacked(opener(path), most_unpacked(packed, _MOST_TAPE))
    stack.enter_context(source)
    tape = stack.enter_context(tarfile.open(fileobj=cast("IO[bytes]", source), mode="r:"))  # noqa: SIM115 - the stack closes it
    files = _by_name((member.name, member) for member in tape if member.isfile())

    def read(name: str) -> bytes:
        stream = tape.extractfile(files[name])
        return b"" if stream is None else stream.read()

    return Members(path, {name: member.size for name, member in files.items()}, read, packed)


def _by_name(files: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return files by normalised names, without ``./`` and doubled slashes; the last of equal names wins."""
    # Names are only looked up and compared, never used as paths outside an archive.
    found = {}
    for name, file in files:
        if name.strip("/."):
            found[str(PurePosixPath(name))] = file
        if len(found) > MOST_MEMBERS:
            raise InputError(f"holds more than {MOST_MEMBERS} files; give the set only")
    return found


def _of_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read only as many bytes as a member claims; reading all would decompress any amount."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(
            f"{show(info.filename)}: is packed by method {info.compress_type} of zip; allowed are 0 (stored) and 8 "
            "(deflated), pack it again"
        )
    with archive.open(info) as stream:
        data = stream.read(info.file_size) if info.file_size else b""
    if len(data) != info.file_size:
        raise InputError(
            f"{show(info.filename)}: has {len(data)} bytes, while the archive says {info.file_size}; fetch it again"
        )
    return data


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Report faults of archives in one line."""
    try:
        yield
    except (
        OSError,
        EOFError,
        tarfile.TarError,
        zipfile.BadZipFile,
        lzma.LZMAError,
        zlib.error,
        RuntimeError,
    ) as reason:
        text = " ".join(str(reason).split())[:120] or type(reason).__name__
        raise InputError(
            f"{show_name(str(path))}: cannot be read as a folder, tar or zip ({text}); fetch it again"
        ) from None
