"""Write files, or a folder of them, whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path

from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given

# Machine, its boot, process number; the rest is random.
_NAME = re.compile(r"\.neuromap-([0-9a-f]{8})-([0-9a-f]{8})-([1-9][0-9]{0,9})-[0-9a-f]{16}")
# Age from which files of another boot count as left over: of two machines that pass for one, neither can see whether
# the other still writes.
_SECONDS = 86_400.0
# Files synced at once.
_TOGETHER = 16
# Errors of file systems that cannot sync; a failing disk gives others.
_NOT_FOR_THIS_DISK = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}


def unfinished_name() -> str:
    """Make a unique name for an unfinished file of this process."""
    machine, start = _here()
    return f".neuromap-{machine}-{start}-{os.getpid()}-{os.urandom(8).hex()}"


@cache
def _here() -> tuple[str, str]:
    """Identify this machine, alike for processes that see each other, and its current boot."""
    from hashlib import blake2b  # loads OpenSSL, which commands that write no file, such as --help, do without

    def told(path: str) -> str:
        try:
            return Path(path).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""

    def short(text: str) -> str:
        return blake2b(text.encode(), digest_size=4).hexdigest()

    node = os.uname().nodename if hasattr(os, "uname") else ""
    processes = ""
    with suppress(OSError):  # containers of one machine reuse process numbers
        processes = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return short(f"{node} {told('/etc/machine-id')} {processes}"), short(told("/proc/sys/kernel/random/boot_id"))


def keep_on_disk(paths: Iterable[Path]) -> None:
    """Wait until the contents of files are on disk, so that no power cut leaves a new name without contents."""
    # All are written before the first is synced, and they are synced together: file systems handle many at once.
    asked = list(paths)
    if len(asked) == 1:
        _wait_for(asked[0])
    elif asked:
        from concurrent.futures import ThreadPoolExecutor  # imports logging: commands that write one file start fast

        with ThreadPoolExecutor(min(len(asked), _TOGETHER)) as threads:
            list(threads.map(_wait_for, asked))


def keep_names(folders: Iterable[Path]) -> None:
    """Wait until the names in folders are on disk, each folder once."""
    for folder in dict.fromkeys(folders):
        with suppress(PermissionError):  # a folder may be writeable but not readable; Windows opens none
            _wait_for(folder)


def _wait_for(path: Path) -> None:
    # some file systems do not sync through a read-only handle
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
    """Remove what killed processes left in a folder, once per folder: other processes do so, too."""
    for path in left_in(folder):
        with suppress(OSError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def left_in(folder: Path) -> Iterator[Path]:
    """Iterate over what killed processes left in a folder."""
    # That is, files and folders of this user with exactly a name of :func:`unfinished_name`, written on this machine
    # by a process that no longer runs.
    if sys.platform == "win32":  # there, checking whether a process lives may harm it
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
    """Return whether a process of this machine may still run."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # as it is another user's
        return True
    return True


def check_folder(path: str | Path) -> Path:
    """Return the real path of a folder to write, or refuse it."""
    # path: a folder that exists, or is to be made in one that does
    text = os.fspath(path)
    if not text:
        raise InputError("'': is not a folder; give its name")
    with _told(text):
        target = Path(os.path.realpath(text))
        if target.is_dir():
            _require_folder(text, target)
        elif target.exists():
            raise InputError(f"{text}: is a file; several files are written, give the name of a folder")
        else:
            _require_folder(text, target.parent)
    return target


def _require_folder(text: str, folder: Path) -> None:
    """Refuse a folder that does not exist, or in which no file can be made."""
    if not folder.is_dir():
        raise InputError(f"{text}: cannot be written, folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{text}: cannot be written, folder {folder} is read-only")


@contextmanager
def _told(text: str) -> Iterator[None]:
    """Report errors of the system about a path in one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{text}: cannot be written ({error.strerror or error})") from None
    except ValueError:
        raise InputError(f"{text}: is not a path (it holds a null character)") from None


def write_folder(path: str | Path, files: Mapping[str, bytes | str]) -> None:
    """Write files into a folder so that all of them appear, or none."""
    # A new folder is written beside its place and renamed. In an existing one, files of the same names are replaced
    # and all others stay.
    path_given("save", path)
    target = check_folder(path)
    if target.is_dir():
        write_all([(target / name, data) for name, data in files.items()])
        return
    sweep(target.parent)
    made = target.with_name(unfinished_name())
    try:
        made.mkdir()
        write_all([(made / name, data) for name, data in files.items()])
        made.replace(target)
        keep_names([target.parent])
    except InputError as error:
        raise InputError(str(error).replace(os.fspath(made), os.fspath(path))) from None
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be written ({error.strerror or error})") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


# Write files whole or not at all.


def check_target(path: str | Path) -> Path | None:
    """Return what a write to ``path`` would replace, or refuse the path."""
    # returns the file itself, symbolic links followed; ``None`` for a device, a pipe, or the file that stdout or stderr
    # is, which are written into and never replaced
    text = os.fspath(path)
    with _told(text):
        if not text:
            raise InputError("'': is not a file; give its name")
        if text.endswith(("/", os.sep)) or Path(text).is_dir():
            raise InputError(f"{text}: is a folder; give the name of a file")
        found = _stat(text)
        if found is not None and (not stat.S_ISREG(found.st_mode) or _open_stream(found) is not None):
            if stat.S_ISBLK(found.st_mode) or stat.S_ISSOCK(found.st_mode):
                raise InputError(f"{text}: is a disk or a socket; give the name of a file")
            return None
        if found is not None and not os.access(text, os.W_OK):
            raise InputError(f"{text}: cannot be written, it is read-only")
        target = Path(os.path.realpath(text))
        _require_folder(text, target.parent)
    return target


def write_whole(path: str | Path, data: bytes | str) -> None:
    """Write ``data`` to ``path`` as :func:`write_all` does."""
    write_all([(path, data)])


def write_all(files: Sequence[tuple[str | Path, bytes | str]]) -> None:
    """Write every file beside its destination, then rename all of them."""
    # An error or interrupt during writing leaves the old files; an interrupt during renaming is raised once all are
    # renamed. Text is written as UTF-8. Contents are on disk before the rename, and the new names when the call
    # returns: after a power cut a file is the old one or the new one. What killed writers left in the folders is
    # removed. Symbolic links are followed, and an existing file keeps its mode; as it is replaced, its other hard links
    # keep the old content. Devices and pipes are written into.
    for path, _ in files:
        path_given("save", path)
    targets = [check_target(path) for path, _ in files]
    made: list[tuple[Path, Path]] = []
    where: str | Path = ""
    try:
        for (path, data), target in zip(files, targets, strict=True):
            where = path
            if target is not None:
                # not derived from the destination's name, which could make it too long for the file system
                sweep(target.parent)
                temporary = target.with_name(unfinished_name())
                made.append((temporary, target))
                _write_new(temporary, _bytes(data), _stat(target))
        keep_on_disk(temporary for temporary, _ in made)
        try:
            for temporary, target in made:
                where = target
                temporary.replace(target)
        except KeyboardInterrupt:  # all are whole by now: finish, rather than leave some old and some new
            for temporary, target in made:
                if temporary.exists():
                    temporary.replace(target)
            raise
        keep_names(target.parent for _, target in made)
        for (path, data), target in zip(files, targets, strict=True):
            if target is None:
                where = path
                _write_into(path, _bytes(data))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{where}: cannot be written ({error.strerror or error})") from None
    finally:
        for temporary, _ in made:
            temporary.unlink(missing_ok=True)


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _stat(path: str | Path) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None


def _write_new(path: Path, payload: bytes, replaced: os.stat_result | None) -> None:
    mode = 0o666 if replaced is None else replaced.st_mode & 0o777
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)  # less the bits of the umask
    with os.fdopen(handle, "wb") as stream:
        if replaced is not None:
            path.chmod(mode)
        stream.write(payload)


def _open_stream(found: os.stat_result) -> int | None:
    """Return the number of the standard stream that a file is, such as /dev/stdout."""
    for number in (1, 2):
        try:
            if os.path.samestat(found, os.fstat(number)):
                return number
        except OSError:  # closed
            continue
    return None


def _write_into(path: str | Path, payload: bytes) -> None:
    # reopening stdout, where it is a file, would start at its beginning
    number = _open_stream(os.stat(path))  # noqa: PTH116
    with Path(path).open("wb") if number is None else os.fdopen(os.dup(number), "wb") as stream:
        stream.write(payload)
