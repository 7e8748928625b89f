"""Streams: options in the name of a source, such as ``moving-digits:flash=3``, and memory limits of frames."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean, show_name
from neuromap.options import check_options, options_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Asked = TypeVar("Asked", bound="DataclassInstance")

# Most bytes of a part's frames, as for the files of a part of images.
MOST_BYTES = 2**30
# Most frames of a stream.
MOST_FRAMES = 10_000
_SETTING = re.compile(r"([a-z_]+)=(.*)", re.DOTALL)


def path_and_settings(text: str) -> tuple[str, str]:
    """Split ``PATH,key=value,...``; a path may contain commas, unless followed by a word and an equals sign."""
    words = text.split(",")
    start = len(words)
    while start > 1 and _SETTING.fullmatch(words[start - 1]) is not None:
        start -= 1
    return ",".join(words[:start]), ",".join(words[start:])


def settings_of(cls: type[Asked], scheme: str, text: str) -> Asked:
    """Read ``key=value,...`` into the options of a source."""
    known = options_of(cls)
    given: dict[str, object] = {}
    for word in text.split(",") if text else []:
        found = _SETTING.fullmatch(word)
        if found is None or found[1] not in known:
            name = word.partition("=")[0]
            if name in known:
                raise InputError(f"{name}: has no value; write {name}={known[name].metavar}")
            raise InputError(
                f"{show_name(word)} is no setting of {scheme}; there are {', '.join(known)}, such as "
                f"{scheme}{',' if ':' in scheme else ':'}{next(iter(known))}=...{did_you_mean(name, known)}"
            )
        name, value = found[1], found[2]
        if name in given:
            raise InputError(f"{name} is given twice; give it once")
        said = known[name]
        try:
            given[name] = {"int": int, "float": float, "str": str}[said.kind](value)
        except ValueError:
            raise InputError(f"{name}={show_name(value)}: {said.type_told}") from None
    made = cls(**given)
    check_options(made, "{name}={value}: ", "{name}={value}: allowed are {choices}")
    return made


def told(options: DataclassInstance, scheme: str) -> str:
    """Return a source's name with its non-default settings in order, equal for equal streams."""
    said = [(f.name, getattr(options, f.name)) for f in fields(options)]
    changed = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in said
               if value != getattr(type(options), name)]  # fmt: skip
    return ":".join([scheme, *([",".join(changed)] if changed else [])])


def check_room(n: int, frames: int, shape: tuple[int, int, int]) -> None:
    """Refuse streams that would not fit in memory, before any is made."""
    n_bytes = n * frames * shape[0] * shape[1] * shape[2]
    if n_bytes > MOST_BYTES:
        fit = MOST_BYTES // (n_bytes // n)
        raise InputError(
            f"{n:,} streams of {frames} frames of {shape[0]} x {shape[1]} x {shape[2]} take {n_bytes // 2**20:,} MiB; "
            f"allowed are {MOST_BYTES // 2**20:,}: take "
            + (f"the first {fit:,} (--limit {fit}), or fewer or smaller frames" if fit else "fewer or smaller frames")
        )
