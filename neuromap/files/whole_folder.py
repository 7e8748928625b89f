"""Write a folder of files whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from neuromap.errors import InputError
from neuromap.files.given import path_given
from neuromap.files.unfinished import keep_names, sweep, unfinished_name
from neuromap.files.whole_file import write_all

__all__ = ["check_folder", "write_folder"]


def check_folder(path: str | Path) -> Path:
    """Find out whether a folder can be written, and refuse what cannot."""
    # path: A folder that exists, or is to be made; its parent must exist
    text = os.fspath(path)
    try:
        if not text:
            raise InputError("'': is no folder; give its name")
        target = Path(os.path.realpath(text))
        if target.is_dir():
            if not os.access(target, os.W_OK | os.X_OK):
                raise InputError(f"{text}: cannot be written, folder {target} is read-only")
        elif target.exists():
            raise InputError(f"{text}: is a file; several files are written, give the name of a folder")
        elif not target.parent.is_dir():
            raise InputError(f"{text}: cannot be written, folder {target.parent} does not exist; create it first")
        elif not os.access(target.parent, os.W_OK | os.X_OK):
            raise InputError(f"{text}: cannot be written, folder {target.parent} is read-only")
    except OSError as error:
        raise InputError(f"{text}: cannot be written ({error.strerror or error})") from None
    except ValueError:
        raise InputError(f"{text}: is no path (it holds a null character)") from None
    return target


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
