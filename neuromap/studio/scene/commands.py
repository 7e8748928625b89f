"""Commands from a browser to a session: plain values, checked before they take effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import as_file, files
from threading import Event, RLock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError, NeuromapError
from neuromap.files.messages import show_name
from neuromap.hardware.chip.chip_file import is_chip_path, load_chip
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.studio.scene.player import EXECUTIONS, Stage
from neuromap.studio.scene.scene import MOST_EDITS, MOST_PIXELS, Change, Scene, SceneRun, Shown, World
from neuromap.studio.scene.scene_file import Document, read_edit


def act(session: Session, command: Document) -> None:
    """Execute a command."""
    name = command.text("do", 20)
    if name not in _COMMANDS:
        raise InputError(f"command {name!r}: is not known; known are {', '.join(_COMMANDS)}")
    with session.lock:
        _COMMANDS[name](session, command)
        session.changed()


def scene_of_network(network: Network, before: Scene) -> Scene:
    """Return a new scene of another network on the same chip, with streaming runs and no recording."""
    streaming = SceneRun(RolloutPattern.streaming(network))
    return Scene(network, before.chip, (streaming,) * len(before.runs))


def with_input(scene: Scene, images: ImageSet | None) -> Scene:
    """Give a scene an initial input: the first image if an input takes it, else random frames."""
    takes = [] if images is None else World(scene.network).takers(images.shape)
    shown = Shown(kind="random", label="random frames")
    if images is not None and takes:
        picture, label = _picture_of(images, 0)
        shown = Shown(pictures={takes[0]: picture}, label=label)
    return replace(scene, changes=(Change(0, shown=shown),))


def with_runs(scene: Scene, runs: tuple[SceneRun, ...]) -> Scene:
    """Return the scene with other runs, at tick 0; its input is kept, edits are not, as programs differ."""
    now = Change(0, shown=scene.shown_at(scene.ticks))
    return replace(scene, runs=runs, changes=(now,), ticks=0, checksums=())


def picture_shape(session: Session, node: str) -> tuple[int, int, int] | None:
    """Return the shape of pictures for an input node: that of the images if they fit, else its own; None if neither."""
    images, own = session.offer.images, session.stage.scene.network.nodes[node].shape
    shapes = (own if images is None else images.shape, own)
    return next((shape for shape in shapes if shape is not None and session.stage.world.takes(node, shape)), None)


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


def _show(session: Session, **changes: Any) -> None:
    session.stage.show(replace(session.stage.shown, **changes))


def _draw(session: Session, command: Document) -> None:
    node, pixels = command.text("node", 200), command.of("pixels", list)
    shape = picture_shape(session, node) if node in session.stage.scene.network.inputs else None
    if shape is None:
        raise InputError(f"picture: node {node!r:.40} is not an input that takes pictures")
    if len(pixels) > MOST_PIXELS or any(type(p) is not int or not 0 <= p <= 255 for p in pixels):
        raise InputError(f"picture: needs at most {MOST_PIXELS} whole numbers, 0 to 255")
    if len(pixels) != np.prod(shape):
        raise InputError(f"picture: has {len(pixels)} pixels; node {node} takes {np.prod(shape)}")
    pictures = {**session.stage.shown.pictures, node: np.array(pixels, np.uint8).reshape(shape)}
    _show(session, kind="picture", pictures=pictures, label="drawn by hand")


def _image(session: Session, command: Document) -> None:
    images, number = session.offer.images, command.of("value", int)
    takes = [] if images is None else session.stage.world.takers(images.shape)
    if images is None or not takes:
        raise InputError("image: no set of images fits an input of this network; draw, or give --data")
    if not 0 <= number < len(images.images):
        raise InputError(f"image {number}: {images.name} has images 0 to {len(images.images) - 1}")
    picture, label = _picture_of(images, number)
    _show(session, kind="picture", pictures={takes[0]: picture}, label=label)


def _picture_of(images: ImageSet, number: int) -> tuple[NDArray[np.uint8], str]:
    """Return an image with intensities 0 to 255, and its label."""
    picture = (images.images[number].astype(np.uint32) * 255 // images.white).astype(np.uint8)
    label = f"{images.name} {images.part} image {number}, label {images.classes[images.labels[number]]}"
    return picture, label[:200]


def _random(session: Session, command: Document) -> None:
    density = float(command.of("value", float))
    _show(session, kind="random", density=density, label="random frames")


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
        "play": lambda session, _: session.play(),
        "pause": lambda session, _: session.pause(),
        "tick": lambda session, _: session.step(1),
        "frame": lambda session, _: session.step(session.stage.ticks_to_frame()),
        "restart": _restart, "replay": _replay, "speed": _speed, "toggle": _toggle, "pattern": _pattern,
        "execution": _execution, "second": _second, "network": _network, "chip": _chip, "draw": _draw, "image": _image,
        "noise": lambda session, command: _show(session, noise=float(command.of("value", float))),
        "random": _random,
        "stimulus": lambda session, _: _show(session, kind="stimulus", label="stimulus file, again and again"),
        "clear": _clear, "edit": _edit, "undo": _undo,
    }
)  # fmt: skip


# ``Session``: a stage with a clock, which maps in the background, plays at a speed and counts changes.


# Ticks of the chip per second of wall-clock time.
SPEEDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
_BEAT = 0.05
# Most ticks replayed between two updates.
_CATCH_UP = 200


class Session:
    """One user's session, shown in one or more tabs."""

    # stage: hold :attr:`lock` for several calls that belong together
    # version: grows with every change except the passing of ticks
    # line: the last error, in one line; empty if none
    # speed: one of ``SPEEDS``
    # is_playing, is_mapping, is_closed: whether the clock runs ticks, a mapper is running, the session has ended

    def __init__(self, name: str, scene: Scene, offer: Offer | None = None) -> None:
        self.name, self.offer = name, offer or Offer()
        self.stage: Stage = Stage(scene)
        self.lock = RLock()
        self.version, self.line, self.speed = 0, "", 10
        self.is_playing = self.is_mapping = False
        self._wake, self.is_closed = Event(), False
        self._is_behind = scene.ticks > 0
        self._is_to_play = self.offer.plays and scene.ticks == 0
        self._clock = Thread(target=self._run, name=f"studio {name[:8]}", daemon=True)
        self._mapper: Thread | None = None
        self._clock.start()
        self.map()

    def changed(self, line: str = "") -> None:
        """Record a change or an error."""
        with self.lock:
            self.version += 1
            self.line = line

    def set_scene(self, scene: Scene) -> None:
        """Replace the scene, pause, and map the new one."""
        with self.lock:
            self.is_playing = self._is_to_play = False
            self.stage.set_scene(scene)
            self._is_behind = scene.ticks > 0
            self.changed()
            self.map()

    def map(self) -> None:
        """Map the current scene in a separate thread."""
        with self.lock:
            if self.is_mapping:
                return  # the mapper checks for a new scene when it is done
            self.is_mapping = True
            self._mapper = Thread(target=self._map, name=f"mapping {self.name[:8]}", daemon=True)
            self._mapper.start()

    def _map(self) -> None:
        while not self.is_closed:
            try:
                is_done = self.stage.map(self._mapped_one)
            except Exception as error:  # the page waits for this thread: end with a line, whatever happens
                # changes of a scene file that do not fit are cut off; after an internal error nothing is retried
                is_done = not isinstance(error, NeuromapError) or not self.stage.cut()
                self._is_behind = not is_done and self.stage.scene.ticks > 0
                self.changed(line_of(error))
            with self.lock:
                if is_done:
                    self.is_mapping = False
                    self.changed(self.line)
                    return

    def _mapped_one(self) -> None:
        """Signal that a run is mapped; a scene saved in the middle of a run is first replayed up to there."""
        while self._is_behind and self.stage.is_ready and not self.is_closed:
            self._is_behind = not self.stage.catch_up(_CATCH_UP, _BEAT)
        self.changed(self.line)
        with self.lock:
            if self._is_to_play and self.stage.is_ready:
                self._is_to_play = False
                self.play()

    def play(self) -> None:
        """Start the clock."""
        with self.lock:
            self._require_ready()
            self.is_playing = True
            self._wake.set()
            self.changed()

    def _require_ready(self) -> None:
        if not self.stage.is_ready:
            raise InputError("run: nothing runs yet; wait until the network is mapped, or choose a valid pattern")
        if self._is_behind:
            raise InputError("run: what was saved is played up to where it was; wait a moment")

    def pause(self) -> None:
        """Stop the clock."""
        with self.lock:
            self.is_playing = False
            self.changed()

    def step(self, n_ticks: int) -> None:
        """Pause, and run some ticks."""
        with self.lock:
            self._require_ready()
            self.is_playing = False
            self.stage.advance(n_ticks)
            self.changed()

    def _run(self) -> None:
        due, last = 0.0, time.monotonic()
        while not self.is_closed:
            if not self.is_playing:
                self._wake.wait(1.0)
                self._wake.clear()
                due, last = 0.0, time.monotonic()
                continue
            now = time.monotonic()
            due, last = min(due + (now - last) * self.speed, self.speed * 4 * _BEAT + 1), now
            whole = int(due)
            due -= whole
            self._advance(whole)
            time.sleep(_BEAT)

    def _advance(self, n_ticks: int) -> None:
        try:
            was_replaying = self.stage.is_replaying
            self.stage.advance(n_ticks, _BEAT)
            if was_replaying and not self.stage.is_replaying:
                self.pause()
        except Exception as error:  # as above
            with self.lock:
                self.is_playing = False
                self.changed(line_of(error))

    def close(self) -> None:
        """End the session and free its resources."""
        with self.lock:
            if self.is_closed:
                return
            self.is_playing, self.is_closed = False, True
            self._wake.set()
            self.stage.set_scene(self.stage.scene)  # releases programs and engines, and stops the mapper


def line_of(error: Exception) -> str:
    """Format an error as one line; anything but a NeuromapError is reported as an internal error."""
    if isinstance(error, NeuromapError):
        return " ".join(str(error).splitlines())
    text = str(error).splitlines()[0] if str(error) else "no message"
    return f"internal error, please report it: {type(error).__name__}: {text}"


# ``Offer``: networks by name and labelled images, available to every session.
def example_network() -> Network:
    """Load the network included with the studio: a trained SR for digits."""
    with as_file(files("neuromap.studio.scene").joinpath("examples")) as folder:
        return load_network(folder / "digits_sr.toml")


@dataclass(frozen=True, eq=False)
class Offer(ReadOnly, Card):
    """Networks and images to choose from."""

    networks: Mapping[str, Network] = field(default_factory=dict)  # by displayed name
    images: ImageSet | None = None  # for inputs that they fit
    plays: bool = False  # whether a new session plays as soon as it is mapped
