"""What a browser sends as files: a network, input frames, a scene; each checked before it takes the stage."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from neuromap.errors import InputError
from neuromap.files.foreign import foreign_boundary
from neuromap.simulation.stimulus.stimulus import load_frames
from neuromap.studio.scene.document import Document, parse_json
from neuromap.studio.scene.network_files import MOST_TOML_BYTES, MOST_WEIGHT_BYTES, check_size, network_from_bytes
from neuromap.studio.scene.scene import Scene
from neuromap.studio.scene.scene_file import MOST_BYTES, read_scene
from neuromap.studio.stage.commands import scene_of_network
from neuromap.studio.stage.session import Session
from neuromap.studio.stage.world import World

__all__ = ["UPLOADS", "take_upload"]

_MOST_STIMULUS_BYTES = 2**24
_MOST_UNPACKED = 2**27
_PORTION = 2**20


def take_upload(session: Session, kind: str, data: bytes) -> None:
    """Take a file into a session."""
    with foreign_boundary(f"a {kind} file"):
        scene = UPLOADS[kind](session, data)
    session.set_scene(scene)


def _network(session: Session, data: bytes) -> Scene:
    body = Document(parse_json(data, "upload", 2 * (MOST_TOML_BYTES + MOST_WEIGHT_BYTES)), "upload")
    weights = body.raw("weights", MOST_WEIGHT_BYTES) if "weights" in body else None
    network = network_from_bytes(body.text("toml", MOST_TOML_BYTES).encode(), weights, "network file")
    check_size(network, "network file")
    return scene_of_network(network, session.stage.scene)


def _stimulus(session: Session, data: bytes) -> Scene:
    if len(data) > _MOST_STIMULUS_BYTES:
        raise InputError(f"stimulus file: has {len(data)} bytes; the studio takes at most {_MOST_STIMULUS_BYTES}")
    scene, is_npz = session.stage.scene, data.startswith(b"PK\x03\x04")
    if is_npz:
        data = _unpacked(data)
    with TemporaryDirectory(prefix="neuromap-") as folder:
        path = Path(folder, "stimulus.npz" if is_npz else "stimulus.safetensors")
        path.write_bytes(data)
        try:
            frames = load_frames(path, scene.network)
        except InputError as error:
            raise type(error)(str(error).replace(str(path), "stimulus file")) from None
    return replace(scene, changes=(), ticks=0, checksums=(), stimulus=frames)


def _unpacked(data: bytes) -> bytes:
    """Give the same archive without compression, read within bounds: its members may be larger than it says."""
    found = BytesIO()
    try:
        with ZipFile(BytesIO(data)) as archive, ZipFile(found, "w") as plain:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > _MOST_UNPACKED:
                raise InputError(
                    f"stimulus file: unpacks to {unpacked} bytes; the studio takes at most {_MOST_UNPACKED}"
                )
            for member in members:
                if member.compress_type not in (
                    ZIP_STORED,
                    ZIP_DEFLATED,
                ):  # of the others a few bytes unpack to any size
                    raise InputError(
                        f"stimulus file: {member.filename!r:.40} is packed in a way that NumPy does not use"
                    )
                with archive.open(member) as stream, plain.open(member.filename, "w") as copy:
                    while part := stream.read(_PORTION):
                        copy.write(part)
    except InputError:
        raise
    except Exception:  # zipfile raises what it likes on a damaged archive, or on a version that it does not know
        raise InputError(
            "stimulus file: not a readable .npz archive of plain arrays; save frames with NumPy's savez"
        ) from None
    return found.getvalue()


def _scene(_: Session, data: bytes) -> Scene:
    if len(data) > MOST_BYTES:
        raise InputError(f"scene file: has {len(data)} bytes; at most {MOST_BYTES} are read")
    scene = read_scene(data, "scene file")
    check_size(scene.network, "scene file")
    world = World(scene.network, scene.stimulus)
    for change in scene.changes:
        if change.shown is not None:
            world.check(change.shown)
    return scene


UPLOADS = {"network": _network, "stimulus": _stimulus, "scene": _scene}
"""Kinds of files, and what takes them."""
