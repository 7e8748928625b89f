"""Files that are not whole yet: how they are called, how they reach the disk, and what killed writers left of them.

A file is written under a name of its own beside its destination, and renamed when it is whole. A process that is killed
meanwhile leaves it there. The name tells whose it is, so that the next one that writes into the folder can remove it.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path

_NAME = re.compile(r"\.neuromap-([0-9a-f]{8})-([0-9a-f]{8})-([1-9][0-9]{0,9})-[0-9a-f]{16}")
"""Of a machine, of the time since it was started, of the process there; the rest is random."""
_SECONDS = 86_400.0
"""After which what was written before the machine was started is taken as left: of two machines that pass for one, none
can see whether the other still writes."""
_TOGETHER = 16
"""Files that are waited for at once."""
_NOT_FOR_THIS_DISK = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}
"""What file systems say that cannot be asked to keep something; a disk that fails says something else."""


def unfinished_name() -> str:
    """Make a name for a file of this process that is not whole yet; no two are equal."""
    machine, start = _here()
    return f".neuromap-{machine}-{start}-{os.getpid()}-{os.urandom(8).hex()}"


@cache
def _here() -> tuple[str, str]:
    """Name this machine, as processes see it that see each other, and the time since it was started."""
    from hashlib import blake2b  # brings OpenSSL: what writes no file, such as --help, does without

    def told(path: str) -> str:
        try:
            return Path(path).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""

    def short(text: str) -> str:
        return blake2b(text.encode(), digest_size=4).hexdigest()

    node = os.uname().nodename if hasattr(os, "uname") else ""
    processes = ""
    with suppress(OSError):  # containers of one machine have processes of the same numbers
        processes = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return short(f"{node} {told('/etc/machine-id')} {processes}"), short(told("/proc/sys/kernel/random/boot_id"))


def keep_on_disk(paths: Iterable[Path]) -> None:
    """Wait until what the files hold is on the disk, so that no power cut leaves a new name with nothing behind it."""
    # All are written before the first is waited for, and they are waited for together: file systems take many at once.
    asked = list(paths)
    if len(asked) == 1:
        _wait_for(asked[0])
    elif asked:
        from concurrent.futures import ThreadPoolExecutor  # with logging: most commands write one file, and start fast

        with ThreadPoolExecutor(min(len(asked), _TOGETHER)) as threads:
            list(threads.map(_wait_for, asked))


def keep_names(folders: Iterable[Path]) -> None:
    """Wait until the names in folders are on the disk, each folder once."""
    for folder in dict.fromkeys(folders):
        with suppress(PermissionError):  # of a folder that may be written but not read; Windows opens none
            _wait_for(folder)


def _wait_for(path: Path) -> None:
    # some file systems keep nothing by a handle that cannot write
    writes = not path.is_dir() and os.access(path, os.W_OK)
    handle = os.open(path, os.O_RDWR if writes else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_FOR_THIS_DISK:
            raise
    finally:
        os.close(handle)


@lru_cache(maxsize=256)
def sweep(folder: Path) -> None:
    """Remove what killed processes left in a folder, once for each folder: others are as good at it."""
    for path in left_in(folder):
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def left_in(folder: Path) -> Iterator[Path]:
    """Give what killed processes left in a folder."""
    # That is what bears a name of :func:`unfinished_name` to the letter, is a file or a folder of this user, and was
    # written on this machine by a process that is no more.
    if sys.platform == "win32":  # there, whether a process lives is not asked without risk to it
        return
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        match = _NAME.fullmatch(entry.name)
        if match is not None:
            with suppress(OSError):
                if _is_left(Path(entry.path).lstat(), *match.groups()):
                    yield Path(entry.path)


def _is_left(found: os.stat_result, machine: str, start: str, process: str) -> bool:
    here, since = _here()
    if machine != here or found.st_uid != os.geteuid():
        return False
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return False
    return not _is_alive(int(process)) if start == since else time.time() - found.st_mtime > _SECONDS


def _is_alive(process: int) -> bool:
    """Say whether a process of this machine may still run."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # as it is another user's
        return True
    return True
