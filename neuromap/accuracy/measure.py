"""Accuracy of a program on the simulated chip, and of the reference, with the same frames and the same rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.accuracy import (
    Accuracy,
    FrameAccuracy,
    SureAnswers,
    SureMargin,
    decide,
    frames_of_answers,
    leads_of,
)
from neuromap.arrays.times import largest_gap
from neuromap.datasets.tracks import ImageSet
from neuromap.encoding.frames import InputEncoding, encode_set
from neuromap.encoding.input_tables import input_encodings, with_known_classes
from neuromap.errors import InputError, NetworkError
from neuromap.files.argument_checks import needs, whole_number
from neuromap.files.messages import show
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.network import Network
from neuromap.rollout.pattern import first_frame
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.steady_figures import measure_steady_activity
from neuromap.simulation.cost.tick_times import ResponseSeconds
from neuromap.simulation.reference_frames import reference_batch
from neuromap.simulation.run.simulate_batch import simulate_batch

# Number of images over which costs are averaged, spread evenly over the set.
_COSTED = 16


def accuracy_on_chip(
    rollout: Rollout,
    program: ChipProgram,
    images: ImageSet,
    n_frames: int = 1,
    *,
    summed: bool = False,
    at: Sequence[int] | None = None,
    sure: int | float | str | None = None,
    training: ImageSet | None = None,
    seed: int = 0,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Accuracy:
    """Run all images of a set through a program, and measure the accuracy of each output frame.

    Every image starts from the program's initial state and is shown in all frames, encoded as in the network's table
    ``inputs``. Streams run in real time: an input frame shows the stream at the tick at which it is sampled
    (:meth:`neuromap.Rollout.sample_ticks`). Classes are decided as in :mod:`neuromap.accuracy.accuracy`.

    Parameters
    ----------
    rollout : Rollout
        Rollout as mapped; if splitters turned the schedule into one in ticks, that one.
    program : ChipProgram
        Program of this rollout.
    images : ImageSet
        Images to run, all of them.
    n_frames : int
        Number of output frames to decide on, from the first response on.
    summed : bool
        Whether each frame decides together with all before it, from the first response on, as for rate codes.
    at : sequence of int, optional
        Frames to report, from 1 to ``n_frames``; all by default.
    sure : int, float or "all", optional
        Answer as soon as the predicted class leads by this margin in the sum of all frames so far, else at the last
        of ``n_frames``; ``"all"`` tries every margin. A fraction below 1 takes the least margin with which sure
        answers to the images of ``training`` are right that often.
    training : ImageSet, optional
        Images on which a margin is chosen; never the measured ones.
    seed : int
        Seed of the encoding's random numbers: image k has the same frames whatever else is run.
    engine, threads, noise_seed, progress
        As in :func:`neuromap.simulate_batch`.

    Returns
    -------
    Accuracy
        With costs per frame in steady operation, averaged over up to 16 images.

    Raises
    ------
    NetworkError
        If there are several inputs or outputs, the classes do not divide the output, or an input takes intensities.
    InputError, StimulusError
        If images, network, program and numbers do not match.
    """
    needs("accuracy_on_chip: program", program, ChipProgram)
    shown = ImageFrames.of(rollout, images, n_frames, seed, program.ticks_per_step)
    images = shown.images
    told = _told(at, n_frames)
    n_images, how = len(images.images), {"engine": engine, "threads": threads, "noise_seed": noise_seed}

    def tell(done: int, _: int) -> None:
        if progress is not None:
            progress(done, n_images)

    def answers(to: ImageFrames) -> NDArray[Any]:
        batch = simulate_batch(program, to.portions(), progress=tell, **how)  # type: ignore[arg-type]
        return batch.frames(to.output)[:, to.first :]

    require_margin(sure, n_frames, images, training)
    asked, chosen = sure, None
    if isinstance(asked, float) and training is not None:
        learned_on = ImageFrames.of(rollout, training, n_frames, seed, program.ticks_per_step)
        chosen = _chosen_margin(asked, answers(learned_on), learned_on.images)
        asked = chosen.margin
    spikes = answers(shown)
    costed = np.unique(np.linspace(0, n_images - 1, min(_COSTED, n_images)).astype(np.int64))
    stimuli = shown.stimuli(costed)
    each = [{name: rows[k] for name, rows in stimuli.items()} for k in range(len(costed))]
    costs = measure_steady_activity(program, each, **how)  # type: ignore[arg-type]
    times, clock = _times(rollout, program, shown), ResponseSeconds(program, costs.seconds)
    seconds = [clock.of(tick, shown.output) for _, tick in times] if program.chip.is_timed else None
    early = () if asked is None else _sure_answers(asked, spikes, images, times, seconds)
    known = zip(times, _correct(spikes, images, summed=summed), seconds or [None] * n_frames, strict=True)
    found = [
        FrameAccuracy(number, step, tick, right, right / n_images, moment)
        for number, ((step, tick), right, moment) in enumerate(known, start=1)
    ]
    return Accuracy(
        network=rollout.network.name,
        pattern=rollout.pattern.name or rollout.pattern.digits,
        execution=rollout.execution,
        chip=program.chip.name,
        data=images.name,
        part=images.part,
        output=shown.output,
        n_images=n_images,
        classes=len(images.classes),
        voters=rollout.network.nodes[shown.output].size // len(images.classes),
        seed=seed,
        frames=tuple(found[number - 1] for number in told),
        n_frames=n_frames,
        cores=len(program.coordinates),
        first_response=times[0][1],
        first_response_seconds=found[0].seconds,
        sampling_frequency=clock.frequency(program.period),
        n_costed=len(costed),
        synaptic_events=costs.synaptic_events_per_frame,
        spikes=costs.spikes_per_frame,
        joules=costs.joules_per_frame,
        is_graded=rollout.network.is_graded,
        summed=summed,
        sure=early,
        chosen_margin=chosen,
    )


# Sure answers: with a given margin, with all margins, or with one chosen on training images.


def require_margin(sure: int | float | str | None, n_frames: int, images: ImageSet, training: ImageSet | None) -> None:
    """Refuse invalid margins, and missing or unsuitable images to choose one on."""
    if sure is None:
        return
    if n_frames == 1:
        raise InputError(f"sure {sure}: of 1 frame every answer is the first; ask for more frames (--frames)")
    if isinstance(sure, float) and 0 < sure < 1:
        if training is None or (training.part, training.name) == (images.part, images.name):
            given = "none are given" if training is None else f"part {images.part} is what is measured"
            raise InputError(
                f"sure {sure:.6g}: a margin is chosen on training images, and {given}; give others, or a lead in votes"
            )
    elif sure != "all" and (isinstance(sure, str) or whole_number("sure", sure) < 0):
        raise InputError(f"sure {show(sure)}: must be votes, 0 or more, all, or a fraction below 1 such as 0.95")


def _chosen_margin(wanted: float, spikes: NDArray[Any], images: ImageSet) -> SureMargin:
    """Choose the least margin with which sure answers reach the wanted accuracy."""
    found = _sure_answers("all", spikes, images, [(None, 0)] * spikes.shape[1])
    rated = [(one.right_when_sure, one.margin) for one in found if one.right_when_sure is not None]
    enough = [(right, margin) for right, margin in rated if right >= wanted]
    if not enough:
        right, margin = max(rated)
        raise InputError(
            f"sure = {100 * wanted:g} %: no lead makes sure answers to the {len(images.images):,} {images.part} images "
            f"right so often; the most is {100 * right:.2f} %, by {margin} votes; ask for less, or for more frames"
        )
    right, margin = min(enough, key=lambda one: one[1])
    return SureMargin(wanted, margin, right, len(images.images))


def _sure_answers(
    asked: int | float | str,
    spikes: NDArray[Any],
    images: ImageSet,
    times: Sequence[tuple[int | None, int]],
    seconds: Sequence[float | None] | None = None,
) -> tuple[SureAnswers, ...]:
    """Evaluate one margin, or all that differ, from always answering at the first frame to always at the last."""
    classes = len(images.classes)
    named, leads = decide(spikes, classes, summed=True), leads_of(spikes, classes)
    # between two leads that occur, in the last frame too, neither answers nor what is sure of them change
    margins = np.unique(np.append(np.maximum(leads, -1) + 1, 0)).tolist() if asked == "all" else [int(asked)]
    steps = None if times[0][0] is None else np.array([step for step, _ in times], float)
    ticks, each = np.array([tick for _, tick in times], float), np.arange(len(leads))
    found = []
    for margin in margins:
        frames, is_sure = frames_of_answers(leads, margin)
        right = named[each, frames] == images.labels
        found.append(
            SureAnswers(
                margin=margin,
                accuracy=float(right.mean()),
                tick=float(ticks[frames].mean()),
                update_step=None if steps is None else float(steps[frames].mean()),
                sure=float(is_sure.mean()),
                right_when_sure=float(right[is_sure].mean()) if is_sure.any() else None,
                seconds=None if seconds is None else float(np.array(seconds, float)[frames].mean()),
            )
        )
    return tuple(found)


def _told(at: Sequence[int] | None, n_frames: int) -> list[int]:
    told = list(range(1, n_frames + 1)) if at is None else [whole_number("at", number) for number in at]
    if not told or not all(1 <= number <= n_frames for number in told) or sorted({*told}) != told:
        raise InputError(f"at = {show(told)}: must be numbers of frames, 1 to {n_frames}, ascending")
    return told


def accuracy_of_reference(
    rollout: Rollout,
    images: ImageSet,
    n_frames: int = 1,
    *,
    summed: bool = False,
    seed: int = 0,
    ticks_per_step: int = 1,
) -> tuple[float, ...]:
    """Return the accuracy of the reference, without a chip, for the frames of :func:`accuracy_on_chip`.

    Parameters
    ----------
    rollout, images, n_frames, summed, seed
        As for :func:`accuracy_on_chip`.
    ticks_per_step : int
        For streams, which run in ticks: ticks per unit of the schedule, as in the program.

    Returns
    -------
    tuple of float
        Accuracy by frame from the first response on; equal to that on every chip.
    """
    shown = ImageFrames.of(rollout, images, n_frames, seed, ticks_per_step)
    images = shown.images
    at_once = max(1, _VALUES // sum(node.size for node in rollout.network.nodes.values()))
    found = [
        reference_batch(rollout, portion, [shown.output])[shown.output][:, shown.first :]
        for portion in shown.portions(min(at_once, _AT_ONCE))
    ]
    return tuple(correct / len(images.images) for correct in _correct(np.concatenate(found), images, summed=summed))


def _correct(spikes: NDArray[Any], images: ImageSet, *, summed: bool) -> list[int]:
    """Count the images classified correctly by each frame; spikes have the shape (images, frames, size)."""
    right = decide(spikes, len(images.classes), summed=summed) == images.labels[:, np.newaxis]
    counts: list[int] = np.count_nonzero(right, axis=0).tolist()
    return counts


def _times(rollout: Rollout, program: ChipProgram, shown: ImageFrames) -> list[tuple[int | None, int]]:
    """Return update steps and ticks since onset by which output frames are known, wherever in the period onset is."""
    start, period, ticks = rollout.first_response(shown.output), rollout.frame_period, program.ticks_per_step
    if rollout.is_tick_level:
        return [(None, start + largest_gap(k * period)) for k in range(shown.n_frames)]
    return [
        (start + largest_gap(k * period), start * ticks + largest_gap(k * period * ticks))
        for k in range(shown.n_frames)
    ]


# Frames of labelled images for a network: its input and output, and the frames to decide on.


# Most neurons times images for which the reference is computed at once: more would not fit the caches.
_VALUES = 2**21
# Number of images whose frames are in memory at a time; as many as the fast engine runs in parallel.
_AT_ONCE = 512
# Most frames to decide on, as in training.
MOST_FRAMES = 1_000


@dataclass(frozen=True)
class ImageFrames:
    """Images shown to a rollout, each for as long as a number of output frames needs."""

    images: ImageSet  # the images
    encoding: InputEncoding  # encoding of the only input node, suitable for a chip
    output: str  # the only output node
    first: int  # its first frame that depends on the stimulus
    n_frames: int  # number of frames to decide on, from there on
    seed: int  # seed of the encoding's random numbers
    ticks: tuple[int, ...]  # ticks since onset at which input frames are sampled

    @classmethod
    def of(cls, rollout: Rollout, images: ImageSet, n_frames: int, seed: int, ticks_per_step: int = 1) -> ImageFrames:
        """Check network and images, and find input, output and first frame."""
        needs("accuracy: rollout", rollout, Rollout)
        needs("accuracy: images", images, ImageSet)
        network = rollout.network
        images = with_known_classes(network, images, "the accuracy")
        encoding = _only_encoding(network)
        if not 1 <= whole_number("n_frames", n_frames) <= MOST_FRAMES:
            raise InputError(f"n_frames = {n_frames}: must be 1 to {MOST_FRAMES} frames to decide on")
        if whole_number("seed", seed) < 0:
            raise InputError(f"seed = {seed}: must be 0 or more")
        if not len(images.images):
            raise InputError(f"{images.name}: part {images.part} has no images; there is nothing to measure")
        encoding.check_images(images.shape)
        encoding.check_units(images)
        output = network.outputs[0]
        first = first_frame(rollout.pattern, output)
        ticks = rollout.sample_ticks(output, first + n_frames, ticks_per_step)
        return cls(images, encoding, output, first, n_frames, seed, ticks)

    @property
    def n_shown(self) -> int:
        """Number of input frames per image, including frame 0."""
        return self.first + self.n_frames

    def stimuli(self, which: NDArray[np.integer] | slice) -> dict[str, NDArray[Any]]:
        """Return the frames of some images, shape (images, frames, size), by input node."""
        frames = encode_set(self.encoding, self.images, self.n_shown, self.seed, which, self.ticks)
        return {self.encoding.node: frames.reshape(*frames.shape[:2], -1)}

    def portions(self, at_once: int = _AT_ONCE) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the frames of all images in order, a portion at a time."""
        for start in range(0, len(self.images.images), at_once):
            yield self.stimuli(slice(start, start + at_once))


def _only_encoding(network: Network) -> InputEncoding:
    encoding = input_encodings(network)[network.inputs[0]]
    if not encoding.is_for_chip:
        takes = (
            ("values", '"value"') if network.is_graded else ("spikes", '"threshold", "bernoulli", "layer" or "rate"')
        )
        raise NetworkError(
            f'inputs.{encoding.node}: code = "{encoding.code}" gives intensities, a chip takes {takes[0]}; give code = '
            f"{takes[1]}"
        )
    return encoding
