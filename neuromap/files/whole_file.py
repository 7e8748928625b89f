"""Write a folder of files whole or not at all."""

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

# Of a machine, of the time since it was started, of the process there; the rest is random.
_NAME = re.compile(r"\.neuromap-([0-9a-f]{8})-([0-9a-f]{8})-([1-9][0-9]{0,9})-[0-9a-f]{16}")
# After which what was written before the machine was started is taken as left: of two machines that pass for one, none
# can see whether the other still writes.
_SECONDS = 86_400.0
# Files that are waited for at once.
_TOGETHER = 16
# What file systems say that cannot be asked to keep something; a disk that fails says something else.
_NOT_FOR_THIS_DISK = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}


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


def check_folder(path: str | Path) -> Path:
    """Find out whether a folder can be written, and refuse what cannot."""
    # path: A folder that exists, or is to be made; its parent must exist
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
    """Refuse to write where there is no folder, or one in which no file can be made."""
    if not folder.is_dir():
        raise InputError(f"{text}: cannot be written, folder {folder} does not exist; create it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{text}: cannot be written, folder {folder} is read-only")


@contextmanager
def _told(text: str) -> Iterator[None]:
    """Say in one line what the system refuses about a path."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{text}: cannot be written ({error.strerror or error})") from None
    except ValueError:
        raise InputError(f"{text}: is not a path (it holds a null character)") from None


def write_folder(path: str | Path, files: Mapping[str, bytes | str]) -> None:
    """Write files into a folder so that all of them appear, or none."""
    # A folder that is not there is written beside its place and renamed. In one that is there, files of the same names
    # are replaced and all others stay.
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
    """Find out what a write to ``path`` would replace, and refuse what cannot be written."""
    # gives the file itself, symbolic links followed; ``None`` for a device, a pipe, or what stdout and stderr are
    # already, which are written into and never replaced
    text = os.fspath(path)
    with _told(text):
        if not text or text.endswith(("/", os.sep)) or Path(text).is_dir():
            raise InputError(f"{text or repr(text)}: is a folder; give the name of a file")
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
    # An error or an interrupt while they are written leaves what was there before; an interrupt while they are renamed
    # comes when all are. Text is written as UTF-8. What is written is on the disk before it is renamed, and the new
    # names are when the call returns: after a power cut a file is the old one or the new one. What killed writers left
    # in the folders is removed. Symbolic links are followed, and a file that exists keeps its mode; as it is replaced,
    # its other hard links keep the old content. Devices and pipes are written into.
    for path, _ in files:
        path_given("save", path)
    targets = [check_target(path) for path, _ in files]
    made: list[tuple[Path, Path]] = []
    where: str | Path = ""
    try:
        for (path, data), target in zip(files, targets, strict=True):
            where = path
            if target is not None:
                # a name of its own: one made from the destination's may be too long for the file system
                sweep(target.parent)
                temporary = target.with_name(unfinished_name())
                made.append((temporary, target))
                _write_new(temporary, _bytes(data), _stat(target))
        keep_on_disk(temporary for temporary, _ in made)
        try:
            for temporary, target in made:
                where = target
                temporary.replace(target)
        except KeyboardInterrupt:  # all are whole by now: go on, rather than leave some old and some new
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
    handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)  # the mask takes bits away
    with os.fdopen(handle, "wb") as stream:
        if replaced is not None:
            path.chmod(mode)
        stream.write(payload)


def _open_stream(found: os.stat_result) -> int | None:
    """Give the number of the standard stream that a file is already, as /dev/stdout is."""
    for number in (1, 2):
        try:
            if os.path.samestat(found, os.fstat(number)):
                return number
        except OSError:  # closed
            continue
    return None


def _write_into(path: str | Path, payload: bytes) -> None:
    # opening stdout anew, where it is a file, would start over at its beginning
    number = _open_stream(os.stat(path))  # noqa: PTH116
    with Path(path).open("wb") if number is None else os.fdopen(os.dup(number), "wb") as stream:
        stream.write(payload)
