"""What a browser sends as files: a network, input frames, a scene; each checked before it takes the stage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from neuromap.errors import InputError
from neuromap.simulation.stimulus.stimulus import load_frames
from neuromap.studio.scene.document import Document, parse_json
from neuromap.studio.scene.network_files import MOST_TOML_BYTES, MOST_WEIGHT_BYTES, network_from_bytes
from neuromap.studio.scene.scene_file import MOST_BYTES, read_scene
from neuromap.studio.stage.commands import scene_of_network
from neuromap.studio.stage.session import Session

__all__ = ["UPLOADS", "take_upload"]

_MOST_STIMULUS_BYTES = 2**24


def take_upload(session: Session, kind: str, data: bytes) -> None:
    """Take a file into a session.

    Parameters
    ----------
    session : Session
    kind : str
        Of ``UPLOADS``.
    data : bytes
        What was sent.

    Raises
    ------
    InputError
        In one line, if the file is none that can be taken; the session stays as it is.
    """
    UPLOADS[kind](session, data)


def _network(session: Session, data: bytes) -> None:
    body = Document(parse_json(data, "upload", 2 * (MOST_TOML_BYTES + MOST_WEIGHT_BYTES)), "upload")
    weights = body.raw("weights", MOST_WEIGHT_BYTES) if "weights" in body else None
    network = network_from_bytes(body.text("toml", MOST_TOML_BYTES).encode(), weights, "network file")
    session.set_scene(scene_of_network(network, session.stage.scene))


def _stimulus(session: Session, data: bytes) -> None:
    if len(data) > _MOST_STIMULUS_BYTES:
        raise InputError(f"stimulus file: has {len(data)} bytes; the studio takes at most {_MOST_STIMULUS_BYTES}")
    scene = session.stage.scene
    with TemporaryDirectory(prefix="neuromap-") as folder:
        path = Path(folder, "stimulus")
        path.write_bytes(data)
        try:
            frames = load_frames(path, scene.network)
        except InputError as error:
            raise type(error)(str(error).replace(str(path), "stimulus file")) from None
    session.set_scene(replace(scene, changes=(), ticks=0, checksums=(), stimulus=frames))


def _scene(session: Session, data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise InputError(f"scene file: has {len(data)} bytes; at most {MOST_BYTES} are read")
    session.set_scene(read_scene(data, "scene file"))


UPLOADS = {"network": _network, "stimulus": _stimulus, "scene": _scene}
"""Kinds of files, and what takes them."""
