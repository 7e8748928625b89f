"""Moving digits: generated streams in which a digit drifts, hides behind bars and flashes; and events of such scenes.

Random numbers depend only on the seed, the part and the number of a stream, and use the raw output of NumPy's PCG64,
so the first streams of a part are the same for any limit, machine and version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.datasets.streams import MOST_FRAMES, check_room, told
from neuromap.datasets.tracks import MOST_TICKS, PARTS, ImageSet, uniform
from neuromap.errors import InputError
from neuromap.options import option

_WHITE = 255
# Random streams of a part: motion of digits, and spurious events.
_FLIGHT, _NOISE = 1, 2
# Most values of streams made at once: a 64-bit number is drawn for each.
_AT_ONCE = 2**24


@dataclass(frozen=True)
class Scene:
    """What moves, and how; the settings of ``moving-digits``."""

    of: str = option("SET  Which digits: digits, mnist:PATH, or another source of grey stills.", "digits")
    shrink: int = option("N  Mean of squares of N x N pixels first.", 1, within=(1, 16))
    canvas: int = option("N  Rows and columns of a frame; 0: twice those of the digit.", 0, within=(0, 256))
    frames: int = option("N  Frames of a stream.", 16, within=(1, MOST_FRAMES))
    ticks: int = option("N  Ticks that a frame lasts.", 1, within=(1, MOST_TICKS))
    speed: float = option(
        "V  Pixels that it drifts in a frame, in a drawn direction and back at the rim.", 1.0, within=(0, 256)
    )
    bars: int = option("N  Columns of a bar, and of a gap, of a fence in front of it; 0: no fence.", 0, within=(0, 256))
    flash: int = option("N  The digit is seen in one of N frames, the first of them drawn.", 1, within=(1, MOST_FRAMES))
    copies: int = option("N  Streams of every digit, each on a way of its own.", 4, within=(1, 1000))
    seed: int = option("N  Of what is drawn.", 2018, within=(0, 2**63 - 1))


@dataclass(frozen=True)
class Events(Scene):
    """How a sensor of events sees a scene; the settings of ``events``."""

    threshold: float = option("C  Change of brightness that is an event; black to white is 1.", 0.25, above=0.0)
    counts: int = option("N  Most events of a pixel in a frame that count.", 1, within=(1, 255))
    noise: float = option("P  Probability of an event out of nothing, of a pixel in a frame.", 0.0, within=(0, 1))


def moving_digits(scene: Scene, part: str, limit: int | None, load: Callable[..., ImageSet]) -> ImageSet:
    """Make one part of ``moving-digits``, or of ``events`` if ``scene`` has a sensor; ``load`` provides the digits."""
    still = _shrunk(load(scene.of, part, limit=limit), scene)
    n = len(still.images) * scene.copies if limit is None else min(len(still.images) * scene.copies, limit)
    side = max(still.shape[:2])
    canvas = scene.canvas or 2 * side
    if canvas < side:
        raise InputError(f"canvas={canvas}: must be {side} or more, the pixels of a digit; leave it out for {2 * side}")
    is_events = isinstance(scene, Events)
    check_room(n, scene.frames, (canvas, canvas, 1 + is_events))
    images = np.empty((n, scene.frames, canvas, canvas, 1 + is_events), np.uint8)
    labels = np.full((n, scene.frames), -1, np.int64)
    number = [scene.seed, PARTS.index(part)]
    flights, noise = (np.random.PCG64([*number, what]) for what in (_FLIGHT, _NOISE))
    at_once = max(1, _AT_ONCE // images[0].size)
    for start in range(0, n, at_once):
        chosen = np.arange(start, min(n, start + at_once)) % len(still.images)
        films = _films(scene, still.images[chosen, ..., 0], canvas, uniform((len(chosen), 5), flights), is_events)
        own = slice(start, start + len(chosen))
        images[own] = _seen(scene, films) if isinstance(scene, Events) else films[..., np.newaxis]
        labels[own] = np.where(images[own].any(axis=(2, 3, 4)), still.labels[chosen, np.newaxis], -1)
        if isinstance(scene, Events) and scene.noise:  # after labels: events out of nothing show no digit
            spurious = uniform(images[own].shape, noise) < scene.noise
            np.maximum(images[own], spurious, out=images[own], casting="unsafe")
    return ImageSet(
        name=name_of_scene(scene),
        part=part,
        images=adopted(images),
        labels=still.labels[np.arange(n) % len(still.images)],
        classes=still.classes,
        white=scene.counts if isinstance(scene, Events) else _WHITE,
        notes=still.notes,
        frame_ticks=scene.ticks,
        frame_labels=labels,
    )


def name_of_scene(scene: Scene) -> str:
    """Return the name of a scene's streams, regardless of the location of its digits' files."""
    scheme = "events" if isinstance(scene, Events) else "moving-digits"
    return told(replace(scene, of=scene.of.partition(":")[0]), scheme)


def _shrunk(still: ImageSet, scene: Scene) -> ImageSet:
    """Scale digits to intensities 0 to 255 and to fewer pixels."""
    if still.is_stream or still.shape[2] != 1:
        found = "holds streams" if still.is_stream else f"has the shape {list(still.shape)}"
        raise InputError(f"of={scene.of}: {found}; allowed are grey stills of one feature, such as of=digits")
    n, rows, columns, _ = still.images.shape
    step = scene.shrink
    if min(rows, columns) < step:
        raise InputError(f"shrink={step}: leaves no pixel of {rows} x {columns}; take fewer")
    cut = still.images[:, : rows // step * step, : columns // step * step].reshape(
        n, rows // step, step, columns // step, step, 1
    )
    pixels = np.rint(cut.mean(axis=(2, 4), dtype=np.float64) * _WHITE / still.white).astype(np.uint8)
    return replace(still, images=pixels, white=_WHITE)


def _films(
    scene: Scene, digits: NDArray[np.uint8], canvas: int, drawn: NDArray[np.float64], is_longer: bool
) -> NDArray[np.uint8]:
    """Make films of digits, shape (n, frames, canvas, canvas); for events, with an additional first frame."""
    # drawn: (n, 5), uniform from 0 to 1: position (2), direction, phase of the fence, phase of the flash
    n, rows, columns = digits.shape
    angle = 2 * np.pi * drawn[:, 2]
    n_frames = scene.frames + is_longer
    time = np.arange(n_frames)
    films = np.zeros((n, n_frames, canvas, canvas), np.uint8)
    top, left = (
        _place(drawn[:, axis], way(angle) * scene.speed, canvas - size, time)
        for axis, size, way in ((0, rows, np.sin), (1, columns, np.cos))
    )
    one = np.arange(n)[:, np.newaxis, np.newaxis]
    for k in range(n_frames):
        films[
            one,
            k,
            top[:, k, np.newaxis, np.newaxis] + np.arange(rows)[:, np.newaxis],
            left[:, k, np.newaxis, np.newaxis] + np.arange(columns),
        ] = digits
    if scene.bars:
        phase = (drawn[:, 3] * 2 * scene.bars).astype(np.int64)
        hidden = (np.arange(canvas) + phase[:, np.newaxis]) // scene.bars % 2 == 1
        films[np.broadcast_to(hidden[:, np.newaxis, np.newaxis], films.shape)] = 0
    if scene.flash > 1:
        phase = (drawn[:, 4] * scene.flash).astype(np.int64)
        films[(time + phase[:, np.newaxis]) % scene.flash > 0] = 0
    return films


def _place(
    start: NDArray[np.float64], speed: NDArray[np.float64], room: int, time: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a coordinate over time in whole pixels: uniform motion, reflected at the border."""
    if not room:
        return np.zeros((len(start), len(time)), np.int64)
    way = (start[:, np.newaxis] * room + speed[:, np.newaxis] * time) % (2 * room)
    place: NDArray[np.int64] = np.rint(room - np.abs(way - room)).astype(np.int64)
    return place


def _seen(sensor: Events, films: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the events of films, shape (n, frames, rows, columns, 2): brighter pixels, then darker ones.

    Every pixel remembers a brightness, initially that of the frame before the stream. If the picture differs from it by
    a threshold or more, there are as many events as whole thresholds, and the remembered value moves by these.
    """
    n, n_frames, rows, columns = films.shape
    events = np.zeros((n, n_frames - 1, rows, columns, 2), np.uint8)
    remembered = films[:, 0] / _WHITE
    for k in range(1, n_frames):
        change = films[:, k] / _WHITE - remembered
        steps = np.trunc(change / sensor.threshold + np.sign(change) * 1e-9)  # 0.5 is two steps of 0.25
        remembered += steps * sensor.threshold
        for feature, sign in enumerate((1, -1)):
            events[:, k - 1, ..., feature] = np.clip(sign * steps, 0, sensor.counts)
    return events
