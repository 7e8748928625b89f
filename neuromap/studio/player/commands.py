"""What a browser may ask of a session: commands as plain values, each checked before anything happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.hardware.chip.chip_file import is_chip_path, load_chip
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.studio.player.session import SPEEDS, Session
from neuromap.studio.player.stage import EXECUTIONS
from neuromap.studio.scene.document import Document
from neuromap.studio.scene.scene import MOST_EDITS, Change, Scene, SceneRun
from neuromap.studio.scene.scene_file import read_edit
from neuromap.studio.scene.shown import MOST_PIXELS, Shown

__all__ = ["act", "picture_shape", "scene_of_network", "with_runs"]


def act(session: Session, command: Document) -> None:
    """Do what is asked."""
    name = command.text("do", 20)
    if name not in _COMMANDS:
        raise InputError(f"command {name!r}: is not known; known are {', '.join(_COMMANDS)}")
    with session.lock:
        _COMMANDS[name](session, command)
        session.changed()


def scene_of_network(network: Network, before: Scene) -> Scene:
    """Put another network into a scene: streaming in place of its runs, nothing recorded."""
    streaming = SceneRun(RolloutPattern.streaming(network))
    return Scene(network, before.chip, (streaming,) * len(before.runs))


def with_runs(scene: Scene, runs: tuple[SceneRun, ...]) -> Scene:
    """Give the scene with other runs, at tick 0: edits go, which were of other programs; what was shown stays."""
    now = Change(0, shown=scene.shown_at(scene.ticks))
    return replace(scene, runs=runs, changes=(now,), ticks=0, checksums=())


def picture_shape(session: Session, node: str) -> tuple[int, int, int] | None:
    """Say which shape pictures of an input node have: that of the images if they fit, else its own."""
    network = session.stage.scene.network
    if session.offer.images is not None and session.stage.takes(node, session.offer.images.shape):
        return session.offer.images.shape
    shape = network.nodes[node].shape
    return shape if shape is not None and session.stage.takes(node, shape) else None


def _play(session: Session, _: Document) -> None:
    session.play()


def _pause(session: Session, _: Document) -> None:
    session.pause()


def _tick(session: Session, _: Document) -> None:
    session.step(1)


def _frame(session: Session, _: Document) -> None:
    session.step(session.stage.ticks_to_frame())


def _restart(session: Session, _: Document) -> None:
    session.pause()
    session.stage.restart()


def _replay(session: Session, _: Document) -> None:
    session.stage.replay()
    session.play()


def _speed(session: Session, command: Document) -> None:
    speed = command.of("value", int)
    if speed not in SPEEDS:
        raise InputError(f"speed {speed}: must be one of {', '.join(map(str, SPEEDS))} ticks per second")
    session.speed = speed


def _run_of(scene: Scene, command: Document) -> int:
    run = command.of("run", int)
    if not 0 <= run < len(scene.runs):
        raise InputError(f"run {run}: there are {len(scene.runs)}, counted from 0")
    return int(run)


def _with_run(session: Session, k: int, run: SceneRun) -> None:
    runs = session.stage.scene.runs
    session.set_scene(with_runs(session.stage.seen, (*runs[:k], run, *runs[k + 1 :])))


def _toggle(session: Session, command: Document) -> None:
    scene = session.stage.scene
    k, edge = _run_of(scene, command), (command.text("source", 200), command.text("target", 200))
    if edge not in scene.network.edges:
        words = " -> ".join(map(show_name, edge))
        raise InputError(f"edge {words}: is none of network {show_name(scene.network.name)}")
    values = dict(scene.runs[k].pattern.items())
    values[edge] = 0 if values[edge] else 1
    pattern = RolloutPattern.from_values(scene.network, values)
    known = (RolloutPattern.named(scene.network, name) for name in scene.network.pattern_names)
    same = next((found for found in known if found.values == pattern.values), None)
    _with_run(session, k, replace(scene.runs[k], pattern=same or replace(pattern, name="own")))


def _pattern(session: Session, command: Document) -> None:
    scene = session.stage.scene
    k, pattern = _run_of(scene, command), RolloutPattern.named(scene.network, command.text("value", 200))
    _with_run(session, k, replace(scene.runs[k], pattern=pattern))


def _execution(session: Session, command: Document) -> None:
    scene = session.stage.scene
    k, execution = _run_of(scene, command), command.text("value", 20)
    if execution not in EXECUTIONS:
        raise InputError(f"execution {execution!r}: must be one of {', '.join(EXECUTIONS)}")
    _with_run(session, k, replace(scene.runs[k], execution=execution))


def _second(session: Session, command: Document) -> None:
    scene = session.stage.seen
    first = scene.runs[0]
    if not command.of("value", bool):
        session.set_scene(with_runs(scene, (first,)))
    elif len(scene.runs) == 1:
        other = "sequential" if first.pattern.values == RolloutPattern.streaming(scene.network).values else "streaming"
        session.set_scene(with_runs(scene, (first, SceneRun(RolloutPattern.named(scene.network, other)))))


def _network(session: Session, command: Document) -> None:
    name = command.text("value", 300)
    if name not in session.offer.networks:
        raise InputError(f"network {name!r:.60}: is none of {', '.join(session.offer.networks)}; load its files")
    session.set_scene(scene_of_network(session.offer.networks[name], session.stage.scene))


def _chip(session: Session, command: Document) -> None:
    name = command.text("value", 100)
    if is_chip_path(name):
        raise InputError(f"chip {name!r}: must be the name of a packaged chip")
    scene = session.stage.seen
    session.set_scene(with_runs(replace(scene, chip=load_chip(name)), scene.runs))


def _draw(session: Session, command: Document) -> None:
    node, pixels = command.text("node", 200), command.of("pixels", list)
    shape = picture_shape(session, node) if node in session.stage.scene.network.inputs else None
    if shape is None:
        raise InputError(f"picture: node {node!r:.40} is no input that takes pictures")
    if len(pixels) > MOST_PIXELS or any(type(p) is not int or not 0 <= p <= 255 for p in pixels):
        raise InputError(f"picture: needs at most {MOST_PIXELS} whole numbers, 0 to 255")
    if len(pixels) != np.prod(shape):
        raise InputError(f"picture: has {len(pixels)} pixels; node {node} takes {np.prod(shape)}")
    pictures = {**session.stage.shown.pictures, node: np.array(pixels, np.uint8).reshape(shape)}
    session.stage.show(replace(session.stage.shown, kind="picture", pictures=pictures, label="drawn by hand"))


def _image(session: Session, command: Document) -> None:
    images, number = session.offer.images, command.of("value", int)
    takes = [n for n in session.stage.scene.network.inputs if images and session.stage.takes(n, images.shape)]
    if images is None or not takes:
        raise InputError("image: no set of images fits an input of this network; draw, or give --data")
    if not 0 <= number < len(images.images):
        raise InputError(f"image {number}: {images.name} has images 0 to {len(images.images) - 1}")
    picture = (images.images[number].astype(np.uint32) * 255 // images.white).astype(np.uint8)
    label = f"{images.name} {images.part} image {number}, label {images.classes[images.labels[number]]}"
    shown = replace(session.stage.shown, kind="picture", pictures={takes[0]: picture}, label=label[:200])
    session.stage.show(shown)


def _noise(session: Session, command: Document) -> None:
    session.stage.show(replace(session.stage.shown, noise=float(command.of("value", float))))


def _random(session: Session, command: Document) -> None:
    density = float(command.of("value", float))
    session.stage.show(replace(session.stage.shown, kind="random", density=density, label="random frames"))


def _stimulus(session: Session, _: Document) -> None:
    session.stage.show(replace(session.stage.shown, kind="stimulus", label="stimulus file, again and again"))


def _clear(session: Session, _: Document) -> None:
    shown = session.stage.shown
    session.stage.show(Shown(noise=shown.noise, seed=shown.seed))


def _edit(session: Session, command: Document) -> None:
    k, edit = _run_of(session.stage.scene, command), read_edit(command.inner("edit"))
    if not session.stage.runs:
        raise InputError("edit: nothing runs yet; wait until the network is mapped")
    session.stage.edit(k, (*session.stage.runs[k].edits, edit))


def _undo(session: Session, command: Document) -> None:
    k, place = _run_of(session.stage.scene, command), command.of("value", int)
    if not session.stage.runs or not 0 <= place < min(MOST_EDITS, len(session.stage.runs[k].edits)):
        raise InputError(f"edit {place}: is not there any more")
    edits = session.stage.runs[k].edits
    session.stage.edit(k, (*edits[:place], *edits[place + 1 :]))


_COMMANDS: Mapping[str, Callable[[Session, Document], None]] = ReadOnlyMapping(
    {
        "play": _play, "pause": _pause, "tick": _tick, "frame": _frame, "restart": _restart, "replay": _replay,
        "speed": _speed, "toggle": _toggle, "pattern": _pattern, "execution": _execution, "second": _second,
        "network": _network, "chip": _chip, "draw": _draw, "image": _image, "noise": _noise, "random": _random,
        "stimulus": _stimulus,
        "clear": _clear, "edit": _edit, "undo": _undo,
    }
)  # fmt: skip
