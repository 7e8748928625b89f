"""Images by the name of their source: ``mnist:PATH``, ``cifar10:PATH``, ``gtsrb:PATH`` or ``digits``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.cifar10 import load_cifar10
from neuromap.datasets.digits import load_digits
from neuromap.datasets.gtsrb import load_gtsrb
from neuromap.datasets.image_set import PARTS, ImageSet
from neuromap.datasets.mnist import load_mnist
from neuromap.errors import InputError
from neuromap.files.foreign import foreign_boundary
from neuromap.files.given import whole_number
from neuromap.files.messages import did_you_mean, show, show_name

__all__ = ["SCHEMES", "load_images"]

_OF_FILES: Mapping[str, Callable[[Path, str, int | None], ImageSet]] = ReadOnlyMapping(
    {"mnist": load_mnist, "cifar10": load_cifar10, "gtsrb": load_gtsrb}
)

SCHEMES = (*_OF_FILES, "digits")
"""Names of sources; ``digits`` takes no path."""


def load_images(source: str, part: str, *, limit: int | None = None) -> ImageSet:
    """Read one part of a set of labelled images; nothing is ever downloaded.

    Parameters
    ----------
    source : str
        ``mnist:PATH``, the folder of the four files; ``cifar10:PATH``, a folder or archive of batches or pictures;
        ``gtsrb:PATH``, a folder or archive of the training pictures; ``digits``, which come with scikit-learn.
    part : {"train", "validation", "test"}
        Which part. Files of the test part are opened only where it is asked for.
    limit : int, optional
        Only the first so many images of the part, for a quick look; 1 or more.

    Returns
    -------
    ImageSet

    Raises
    ------
    InputError
        If source or part is unknown, or a file is missing, truncated or of another kind.
    NotSupportedError
        If the library that reads the files is not installed.
    """
    scheme, path = _source(source)
    if part not in PARTS:
        near = did_you_mean(part, PARTS) if isinstance(part, str) else ""
        raise InputError(f"part {show(part)}: allowed are {', '.join(PARTS)}{near}")
    if limit is not None and whole_number("limit", limit) < 1:
        raise InputError(f"limit = {limit}: must be 1 or more images; leave it out for all")
    try:
        with foreign_boundary(f"files of {scheme}"):
            found = load_digits(part, limit) if path is None else _OF_FILES[scheme](path, part, limit)
        if not len(found.images):
            raise InputError(f"part {part} has no images; the set is too small to be split")
    except InputError as error:
        raise InputError(f"{show_name(source)}: {error}") from None
    return found


def _source(source: object) -> tuple[str, Path | None]:
    """Take a source apart into its scheme and its path."""
    if not isinstance(source, str):
        raise InputError(f"source {show(source)}: allowed is a text such as mnist:PATH or digits")
    scheme, _, path = source.partition(":")
    if scheme not in SCHEMES:
        allowed = ", ".join(f"{name}:PATH" if name in _OF_FILES else name for name in SCHEMES)
        raise InputError(f"source {show(source)}: allowed are {allowed}{did_you_mean(scheme, SCHEMES)}")
    if (scheme in _OF_FILES) != bool(path):
        remedy = f"give its place, {scheme}:PATH" if scheme in _OF_FILES else f"takes no path, give {scheme}"
        raise InputError(f"source {show(source)}: {remedy}")
    return scheme, _expanded(source, path) if path else None


def _expanded(source: str, path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~NAME of nobody
        raise InputError(f"{show_name(source)}: there is no home of this name; write the path in full") from None
