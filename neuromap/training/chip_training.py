"""``train_for_chip``: train integer weights and thresholds that a chip takes unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

from neuromap.datasets.tracks import PIXELS, ImageSet
from neuromap.encoding.frames import InputEncoding
from neuromap.encoding.input_tables import input_encodings, require_labelled_nodes
from neuromap.errors import InputError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.jobs.results_file import fingerprint_of_chip
from neuromap.jobs.silent import silent
from neuromap.network.build import require_frames
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.network.weights import show_shape
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training import network_training
from neuromap.training.network_training import LEARNED, LearnedPattern, require_parts
from neuromap.training.options import training_options
from neuromap.training.options.loss_over_time import MEAN, LossOverTime
from neuromap.training.options.node_settings import ChipChoice, choose_for_chip, widths_of
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions
from neuromap.training.training_result import TrainingResult

if TYPE_CHECKING:
    from neuromap.training.torch.gates import Learning
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import Run


@dataclass(frozen=True, eq=False)
class ChipTraining(Card):
    """A network trained for a chip.

    Attributes
    ----------
    network : Network
        With integer weights and thresholds, ready to map and verify. ``Network.save`` writes it.
    lines : tuple of str
        Choices made for the chip, with reasons.
    result : TrainingResult
        Accuracy of the network. The chip has the same, except that a random encoding draws other frames for it.
    """

    network: Network
    lines: tuple[str, ...] = field(repr=False)
    result: TrainingResult


def train_for_chip(
    rollout: Rollout | Sequence[Rollout] | LearnedPattern,
    chip: ChipSpec,
    images: Mapping[str, ImageSet],
    options: TrainingOptions | Mapping[str, Any] | None = None,
    hardware: HardwareOptions | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[..., None] = silent,
    start: str | Path | None = None,
) -> ChipTraining:
    """Train a network in frame code with weights and groups that fit the cores of a chip.

    The trained model gives exactly the spikes of :func:`neuromap.reference` and of the chip. If all frames of a network
    are equal (no cycles, nothing random, paths of equal length), a single frame is trained. An input with code
    ``layer`` learns its weights and thresholds unless they are given.

    In a graded network, integer weights, biases, multipliers and shifts are trained through the quantiser of its nodes.
    Training starts from the network's integers if it has all weights, otherwise from random ones. The model's values
    are those of :func:`neuromap.reference`.

    Parameters
    ----------
    rollout : Rollout, sequence of Rollout or LearnedPattern
        Network and pattern; the execution decides how streams are sampled. Existing weights and thresholds are ignored,
        except those of a layer on the host and of graded nodes. With several rollouts of one network, optimiser steps
        cycle through the patterns. A learned pattern is stored in the resulting network under the name ``learned``.
    chip : ChipSpec
        Chip for which input codes, kinds of weights and groups are chosen.
    images : mapping of str to ImageSet
        ``"train"``, and ``"validation"`` or ``"test"`` or both; accuracy is of the test images, if given.
    options : TrainingOptions or mapping of str to Any, optional
        A mapping sets some of the options, those of HardwareOptions included; the others are chosen from images,
        network and pattern, as reported in ``lines``.
    hardware : HardwareOptions, optional
        Options specific to chips.
    checkpoint : str or Path, optional
        As for :func:`neuromap.training.train_network`.
    progress : callable
        ``progress(text, epochs done, epochs)``.
    start : str or Path, optional
        Checkpoint of this network, trained under any pattern and options, whose weights training starts from.

    Returns
    -------
    ChipTraining

    Raises
    ------
    NotSupportedError
        If PyTorch is not installed or does not find the device, the network has edges that cannot be trained, or no
        choice fits the chip.
    InputError
        If images, network, patterns and checkpoint do not match.
    TrainingError
        If the loss is not finite, or memory does not suffice.
    """
    rollouts = network_training.rollouts_of("train_for_chip", rollout)
    needs("train_for_chip: chip", chip, ChipSpec)
    require_frames(rollouts[0].network, "train", "networks of frame nodes are trained")
    training_options.require_torch("training")
    require_parts(images)
    task = _task(rollout, rollouts, chip, images, options, hardware)
    options, hardware = task.asked_for, task.hardware
    if options.precision != "float32" or options.graphs:
        asked = "graphs" if options.graphs else f"precision {options.precision}"
        raise InputError(
            f"training: {asked}: for a chip sums of integers are trained, exact in float32 only, and means that go on "
            f"from step to step; drop {'--graphs' if options.graphs else '--precision'}"
        )
    training_options.require_device(options)
    from neuromap.training.torch.train import FrameBatches, Run, take_weights

    def measured(found: ImageSet) -> FrameBatches:
        return FrameBatches(found, task.shown, replace(options, flip=False), HardwareOptions())

    run = Run(
        rollouts=task.trained,
        over_time=task.over_time,
        learning=task.learning,
        batches=FrameBatches(images["train"], task.shown, options, hardware),
        validation=measured(images["validation"]) if "validation" in images else None,
        classes=len(images["train"].classes),
        task=task.about,
    )
    with training_options.memory_told(options):
        model, to_network = _model(task, run, chip, images["train"].shape)
        if start is not None:
            run = replace(run, task={**run.task, "start": take_weights(Path(start), model)})
        result, done = network_training.trained_result(
            model, run, task.options, options, task.rollouts, images, measured, checkpoint, progress
        )
    made = to_network(model)
    if task.learning is not None:
        made = replace(made, patterns={**made.patterns, LEARNED: done.patterns[0].streaming_edges})
    # reports say by the frames why later ones are worse; other images are read in the units and classes of these
    told = {**made.tables.get("training", {}), "frames": task.options.frames, "classes": run.classes}
    tables, inputs = {**made.tables, "training": told}, made.tables.get("inputs", {})
    table, seen = inputs.get(task.shown.node, {}), task.shown.seen
    if seen not in (None, PIXELS) and "seen" not in table:  # the range of the images, unless they are pixels
        tables["inputs"] = {**inputs, task.shown.node: {**table, "seen": seen}}
    return ChipTraining(replace(made, tables=tables), task.lines, result)


def _model(
    task: _Task, run: Run, chip: ChipSpec, image_shape: tuple[int, int, int]
) -> tuple[RolloutModel, Callable[[Any], Network]]:
    """Return the model of a task and the function that converts it to a network."""
    network, options = task.choice.network, task.options
    if not network.is_graded:
        from neuromap.training.torch.frame_model import FrameModel, to_network

        return FrameModel(network, task.choice.kinds, options.seed, image_shape, task.thresholds), to_network
    from neuromap.training.torch.graded_model import GradedModel, to_graded_network
    from neuromap.training.torch.train import first_frames

    model = GradedModel(network, widths_of(chip), options.seed)
    model.look_at(task.trained[0].pattern, dict.fromkeys(network.inputs, first_frames(model, run, options)))
    return model, to_graded_network


@dataclass(frozen=True)
class _Task:
    """A training task: choices for the chip, encoding of images, patterns and options."""

    choice: ChipChoice
    shown: InputEncoding
    rollouts: tuple[Rollout, ...]
    trained: tuple[Rollout, ...]  # one, of one frame, if all frames are equal
    over_time: LossOverTime
    learning: Learning | None
    options: TrainingOptions
    asked_for: TrainingOptions  # as given; ``options`` has one frame if all frames are equal
    hardware: HardwareOptions
    thresholds: tuple[int, int] | None
    about: dict[str, Any]
    lines: tuple[str, ...]


def _task(
    given_rollout: Rollout | Sequence[Rollout] | LearnedPattern,
    rollouts: Sequence[Rollout],
    chip: ChipSpec,
    images: Mapping[str, ImageSet],
    options: TrainingOptions | Mapping[str, Any] | None,
    hardware: HardwareOptions | None,
) -> _Task:
    network = rollouts[0].network
    given = {} if options is None else options
    if isinstance(given, Mapping):
        named = {} if hardware is None else {f.name: getattr(hardware, f.name) for f in fields(hardware)}
        train, first = images["train"], HardwareOptions(**named | {k: given[k] for k in _OPENED & given.keys()})
        choice = choose_for_chip(network, chip, train, first)
        # for streams, the fewest that any pattern sees: after its end a stream is black
        frames = (min if train.is_stream else max)(_frames_to_train(one, train) for one in rollouts)
        size = len(train.images)
        options, hardware, chosen = training_options.chosen_options(
            named | dict(given), size, train.shape, frames, graded=choice.network.is_graded
        )
    else:
        choice, options, chosen = choose_for_chip(network, chip, None, hardware), given, ()
        hardware = HardwareOptions() if hardware is None else hardware
    network = choice.network
    encoding = checked_encoding(network, images)
    asked_for = options
    network_training.require_onset(images, options)
    over_time, learning = network_training.objective_of(given_rollout, rollouts, options, chip, hardware.weight_cores)
    asked = tuple(
        Rollout(network, RolloutPattern(network, one.pattern.values, one.pattern.name), one.execution)
        for one in rollouts
    )
    trained = asked
    lines = (*choice.lines, *chosen)
    if learning is not None:
        lines = (*lines, f"the pattern is learned in {counted(learning.epochs, 'epoch')}, then trained on")
        if LEARNED in network.patterns:
            lines = (*lines, f"pattern {LEARNED} of the network file is replaced")
    elif all(frames_are_alike(one.pattern) for one in asked) and encoding.is_constant and not images["train"].is_stream:
        trained, options, over_time = (Rollout(network, "sequential"),), replace(options, frames=1), MEAN
        lines = (*lines, "all output frames are equal from the first response on: one frame is trained")
    executions = network_training.executions_that_count(trained, images["train"], over_time)
    about = network_training.task_of([one.pattern for one in trained], images, learning, executions)
    about["chip"] = f"{chip.name} {fingerprint_of_chip(chip)[:16]}"
    about |= {"kinds": [choice.kinds.get(k, "") for k in network.edges], "shift": hardware.shift}
    about |= {"weight_cores": hardware.weight_cores} if hardware.weight_cores else {}
    about["code"] = code_told(encoding)
    if network.is_graded:
        if hardware.no_bias:
            raise InputError(
                "training: no_bias: keeps thresholds within the leak, of which graded nodes have none; drop it"
            )
        about["graded"] = _graded_told(network)
        start = "the integers of the network" if about["graded"][0] else "drawn weights"
        lines = (*lines, f"training starts from {start}")
    thresholds = (1, -chip.leak_range[0]) if hardware.no_bias else None
    if thresholds is not None:
        about["thresholds"] = list(thresholds)
        lines = (*lines, f"thresholds stay between {thresholds[0]} and {thresholds[1]}: no core needs axons for biases")
    shown = encoding
    if _is_learned(encoding):
        shown = InputEncoding(encoding.node, images["train"].shape, encoding.noise, seen=encoding.seen)
        about["layer"] = [list(part) for part in (encoding.kernel, encoding.stride, shown.shape)]
    return _Task(
        choice, shown, asked, trained, over_time, learning, options, asked_for, hardware, thresholds, about, lines
    )


def code_told(encoding: InputEncoding) -> list[Any]:
    """Describe the encoding, apart from images and noise, for the checkpoint."""
    given = [part.tobytes() for part in (encoding.weights, encoding.thresholds) if part is not None]
    digest = sha256(b"".join(given)).hexdigest()[:16] if given else ""
    valued = [list(encoding.mean), list(encoding.step)] if encoding.code == "value" else []
    ranged = [list(encoding.seen)] if encoding.seen not in (None, PIXELS) else []
    return [encoding.code, list(encoding.levels), digest, *valued, *ranged]


def _graded_told(network: Network) -> list[Any]:
    """Return whether a graded network has all weights, and a digest of its integers."""
    found, knows = sha256(), True
    for node in network.nodes.values():
        if node.graded is not None:
            found.update(repr(node.graded.stated).encode())
            for array in node.graded.arrays.values():
                found.update(array.tobytes())
    for edge in network.edges.values():
        if isinstance(transform := edge.transform, Conv | Dense):
            knows = knows and transform.weights is not None
            found.update(
                b"" if transform.weights is None else transform.weights.tensor(transform.weight_shape).tobytes()
            )
    return [knows, found.hexdigest()[:16]]


def checked_encoding(network: Network, images: Mapping[str, ImageSet]) -> InputEncoding:
    """Check images against network and encoding; return the encoding of the only input."""
    require_parts(images)
    require_labelled_nodes(network, len(images["train"].classes), "training")
    encoding = input_encodings(network)[network.inputs[0]]
    train = images["train"]
    encoding = replace(encoding, seen=encoding.range_for(train, train.seen))
    for part, found in images.items():
        encoding.check_images(found.shape)
        encoding.check_units(found)
        if _is_learned(encoding) and found.shape != images["train"].shape:
            raise InputError(
                f"input {encoding.node}: {part} images have the shape {show_shape(found.shape)}, those to train on "
                f"{show_shape(images['train'].shape)}; a layer is learned for images of one shape"
            )
    return encoding


def _is_learned(encoding: InputEncoding) -> bool:
    return encoding.code == "layer" and encoding.weights is None


# If all frames of a node are equal from its first response on, training one frame suffices.


def frames_are_alike(pattern: RolloutPattern) -> bool:
    """Return whether the network has no cycles and the stimulus reaches each node over all paths in the same frame."""
    heard = _heard(pattern)
    return heard is not None and all(len(frames) == 1 for frames in heard.values())


_OPENED = {"levels", "votes"}
_OF_CYCLES, _MOST_FRAMES = 4, 8


def _frames_to_train(rollout: Rollout, images: ImageSet) -> int:
    """Count the frames from the first to the full response; a fixed few for networks with cycles.

    For streams, count the frames whose inputs are sampled before the stream ends.
    """
    pattern = rollout.pattern
    if images.is_stream:
        end = images.n_stream_frames * images.frame_ticks
        on = [tick for tick in rollout.sample_ticks(pattern.network.outputs[0], _MOST_FRAMES + 1) if 0 <= tick < end]
        return min(_MOST_FRAMES, len(on))
    heard = _heard(pattern)
    if heard is None:
        return _OF_CYCLES
    of_output = heard[pattern.network.outputs[0]]
    return min(_MOST_FRAMES, 1 + max(of_output) - min(of_output))


def _heard(pattern: RolloutPattern) -> dict[str, set[int]] | None:
    """Return, per node, the frames in which paths deliver the stimulus; ``None`` if the network has cycles."""
    network = pattern.network
    if not nx.is_directed_acyclic_graph(network.graph):
        return None
    r_of: dict[EdgeKey, int] = dict(zip(network.edges, pattern.values, strict=True))
    heard: dict[str, set[int]] = {name: {0} for name in network.inputs}
    for name in nx.topological_sort(network.graph):
        into = [key for key in network.edges if key[1] == name]
        if into:
            # Inputs count from frame 1, whether their edges stream or not.
            heard[name] = {
                frame + (1 if key[0] in network.inputs else r_of[key]) for key in into for frame in heard[key[0]]
            }
    return heard
