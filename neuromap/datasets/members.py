"""Files of a set, in a folder or in an archive, which is read and never unpacked."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from neuromap.errors import InputError
from neuromap.files.messages import show_name

__all__ = ["Members", "open_members"]

_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".zip")
_MOST_BYTES = 2**30


@dataclass(frozen=True)
class Members:
    """Files of an open folder or archive.

    Attributes
    ----------
    path : Path
        Of the folder or archive.
    sizes : mapping of str to int
        Bytes of every file, by its path below the folder, with slashes; in the order of the archive.
    one : callable
        Reads the file of a name.
    """

    path: Path
    sizes: Mapping[str, int]
    one: Callable[[str], bytes]

    @property
    def names(self) -> list[str]:
        """Names of all files, sorted."""
        return sorted(self.sizes)

    def read(self, names: Collection[str]) -> dict[str, bytes]:
        """Read some of the files into memory.

        Parameters
        ----------
        names : collection of str
            Of ``names``.

        Returns
        -------
        dict of str to bytes
            In the order of the archive, which is the order in which it can be read.

        Raises
        ------
        InputError
            If the archive is truncated, or the files are together larger than 1 GiB.
        """
        wanted = set(names)
        total = sum(self.sizes[name] for name in wanted)
        if total > _MOST_BYTES:
            raise InputError(
                f"has {total} bytes of images in this part; at most {_MOST_BYTES} are read; give the set only"
            )
        with _whole(self.path):
            return {name: self.one(name) for name in self.sizes if name in wanted}


@contextmanager
def open_members(path: Path) -> Iterator[Members]:
    """Open a folder or an archive, tar (of any compression) or zip; or the archive in a folder that holds nothing else.

    Parameters
    ----------
    path : Path
        Of the folder or archive.

    Yields
    ------
    Members
        Its files.

    Raises
    ------
    InputError
        If there is nothing at the path, it is no archive, or a truncated one.
    """
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
            raise InputError(f"{show_name(str(path))} is no regular file; give a folder or an archive")
        if path.is_file():
            return path
        inside = list(path.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].name.endswith(_ENDINGS) else path


def _of_folder(path: Path) -> Members:
    sizes = {found.relative_to(path).as_posix(): found.stat().st_size for found in path.rglob("*") if found.is_file()}
    return Members(path, sizes, lambda name: (path / name).read_bytes())


def _of_archive(path: Path, stack: ExitStack) -> Members:
    if path.suffix == ".zip":
        archive = stack.enter_context(zipfile.ZipFile(path))
        found = {info.filename: info.file_size for info in archive.infolist() if not info.is_dir()}
        return Members(path, found, archive.read)
    tape = stack.enter_context(tarfile.open(path, "r:*"))  # noqa: SIM115 - the stack closes it
    files = {member.name: member for member in tape if member.isfile()}
    return Members(path, {name: member.size for name, member in files.items()}, lambda name: _from(tape, files[name]))


def _from(tape: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = tape.extractfile(member)
    return b"" if stream is None else stream.read()


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Tell faults of archives in one line."""
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
