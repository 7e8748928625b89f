"""``train_network``: train a network on labelled images under one or several patterns, and measure its accuracy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuromap.datasets.tracks import ImageSet
from neuromap.encoding.frames import InputEncoding
from neuromap.encoding.input_tables import input_encodings, require_labelled_nodes
from neuromap.errors import InputError, NetworkError
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.jobs.silent import silent
from neuromap.network.build import require_frames
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.network.weights import show_shape
from neuromap.render.value import Card
from neuromap.rollout.behaviour import count_behaviour_classes
from neuromap.rollout.class_numbers import class_numbers
from neuromap.rollout.pattern import RolloutPattern, first_frame
from neuromap.rollout.schedule.cheapest_phases import DelayCost
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.loss_over_time import LossOverTime
from neuromap.training.options.node_settings import node_settings
from neuromap.training.options.training_options import TrainingOptions, memory_told, require_device, require_torch
from neuromap.training.training_result import EpochFigures, LearnedGates, PatternAccuracy, TrainingResult, frame_times

if TYPE_CHECKING:
    from neuromap.training.torch.gates import Learning
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import Batches, Progress, Run

# Offset of the noise seed for measured images, so that it differs from all seeds of training.
_MEASURED_SEED = 2**31

# Requests a pattern learned with the weights; also its name in the resulting network.
LEARNED = "learned"

# Attributes of a transform, except its weights.
_PARTS = ("kind", "kernel", "stride", "padding", "groups")


def train_network(
    rollout: Rollout | Sequence[Rollout] | LearnedPattern,
    images: Mapping[str, ImageSet],
    options: TrainingOptions | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[..., None] = silent,
) -> TrainingResult:
    """Train a network under a rollout pattern, or one set of weights under several.

    All frames show the same image, each with its own noise if the network file specifies noise. If it specifies tracks,
    frames are consecutive pictures of one track, and each run of them counts as an image. The final accuracy is
    measured on the test images, if given, otherwise on the validation images.

    Parameters
    ----------
    rollout : Rollout, sequence of Rollout or LearnedPattern
        Network and pattern; the execution affects a loss over time, the sampling of streams and the times of the
        result. With several rollouts of one network, optimiser steps cycle through the patterns.
    images : mapping of str to ImageSet
        ``"train"``, and ``"validation"`` or ``"test"`` or both.
    options : TrainingOptions, optional
        By default, the paper's options for MNIST.
    checkpoint : str or Path, optional
        File written after every epoch. If it exists, training resumes from it and ends with the same weights as an
        uninterrupted run.
    progress : callable
        ``progress(text, epochs done, epochs)``.

    Returns
    -------
    TrainingResult

    Raises
    ------
    NotSupportedError
        If PyTorch is not installed or does not find the device, or the network has edges that cannot be trained.
    InputError
        If images, network, patterns and checkpoint do not match.
    NetworkError
        If the network's inputs and outputs do not suit labelled images, or its input has a code that gives spikes.
    TrainingError
        If the loss is not finite, or memory does not suffice.
    """
    rollouts = rollouts_of("train_network", rollout)
    patterns = tuple(one.pattern for one in rollouts)
    network = patterns[0].network
    require_frames(network, "train", "networks of frame nodes are trained")
    if network.is_graded:
        raise InputError(
            f"train: network {network.name} is graded; it is trained with the integers of a chip, give --for loihi2 "
            "(in Python train_for_chip)"
        )
    require_torch("training")
    options = TrainingOptions() if options is None else options
    require_device(options)
    check_images(network, images)
    over_time, learning = objective_of(rollout, rollouts, options, None)
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import Batches, Run, onset

    encoding = _encoding(network)
    encoding = replace(encoding, seen=encoding.range_for(images["train"], images["train"].seen))
    for each in images.values():
        encoding.check_units(each)
    asked = f'inputs.{encoding.node}.frames: "{encoding.frames}"'
    if encoding.frames != "still" and options.preceding:
        raise InputError(f"{asked}: tracks follow each other without preceding frames; drop preceding")
    if encoding.frames != "still" and len({*map(onset, patterns)}) > 1:
        raise InputError(
            f"{asked}: tracks begin in frame 0 where an edge of {encoding.node} streams, else in frame 1; train "
            "patterns that agree in this, or each on its own"
        )
    require_onset(images, options)
    longest = frames_to_measure(over_time, rollouts, options)
    if learning is not None:
        longest = max(longest, over_time.most_frames(network, options.frames))
    shown = images["train"]
    held = images.get("validation")
    shown_as = partial(Batches, encoding=encoding, run=0 if encoding.frames == "still" else longest)
    run = Run(
        rollouts=rollouts,
        over_time=over_time,
        learning=learning,
        batches=shown_as(shown, size=options.batch, seed=options.seed, flip=options.flip),
        validation=None if held is None else shown_as(held, size=256, seed=options.seed),
        classes=len(shown.classes),
        task=task_of(patterns, images, learning, executions_that_count(rollouts, shown, over_time)),
    )
    with memory_told(options):
        model = RolloutModel(network, options.seed)
        measure = partial(shown_as, size=256, seed=_MEASURED_SEED + options.seed)
        return trained_result(model, run, options, options, rollouts, images, measure, checkpoint, progress)[0]


def trained_result(
    model: RolloutModel,
    run: Run,
    options: TrainingOptions,
    asked: TrainingOptions,
    rollouts: Sequence[Rollout],
    images: Mapping[str, ImageSet],
    measure: Callable[[ImageSet], Batches],
    checkpoint: str | Path | None,
    progress: Callable[..., None],
) -> tuple[TrainingResult, Progress]:
    """Train a model and measure its accuracy on the batches that ``measure`` makes; return the result and the run."""
    # asked, rollouts: as given; if all frames are equal, ``options`` and the run have a single one
    from neuromap.training.torch.train import correct_by_frame, train

    done = train(model, run, options, None if checkpoint is None else Path(checkpoint), progress)
    patterns = called_patterns(done.patterns, [one.pattern for one in run.rollouts])
    trained = [
        Rollout(pattern.network, pattern, one.execution) for pattern, one in zip(patterns, rollouts, strict=False)
    ]
    frames = frames_to_measure(run.over_time, trained, options)
    part = "test" if "test" in images else "validation"
    measured = measure(images[part])
    model.eval()
    found = [correct_by_frame(model, one, measured, frames, run.classes) for one in trained]
    if asked is not options:
        found = [np.resize(found[0], asked.frames)] * len(rollouts)
    shown = rollouts if run.learning is None else trained
    first, *others = map(accuracy_under, shown, found)
    return TrainingResult(
        network=rollouts[0].network.name,
        pattern=first.pattern,
        data=images["train"].name,
        output=rollouts[0].network.outputs[0],
        options=asked,
        parameters=model.count_trained(),
        history=history_of(done),
        times=first.times,
        part=part,
        n_images=measured.n_shown,
        accuracy=first.accuracy,
        others=tuple(others),
        classes=run.classes,
        at_bounds=model.share_at_bounds(),
        learned=None if run.learning is None else learned_gates(patterns[0], done),
        execution=rollouts[0].execution,
    ), done


def accuracy_under(rollout: Rollout, found: Iterable[float]) -> PatternAccuracy:
    """Combine measured accuracies by frame with the times at which the frames are known."""
    accuracy = tuple(round(float(a), 6) for a in found)
    output = rollout.network.outputs[0]
    times = frame_times(rollout, output, first_frame(rollout.pattern, output), len(accuracy))
    return PatternAccuracy(call_pattern(rollout.pattern), times, accuracy)


def executions_that_count(rollouts: Sequence[Rollout], shown: ImageSet, over_time: LossOverTime) -> tuple[str, ...]:
    """Return the executions if weights depend on them, through sampled streams or a timed loss; otherwise ``()``."""
    return tuple(one.execution for one in rollouts) if shown.is_stream or over_time.is_timed else ()


def task_of(
    patterns: Sequence[RolloutPattern],
    images: Mapping[str, ImageSet],
    learning: Learning | None = None,
    executions: Sequence[str] = (),
) -> dict[str, Any]:
    """Describe network, patterns and data for the checkpoint."""
    network, shown, held = patterns[0].network, images["train"], images.get("validation")
    return {
        **({} if learning is None else {"learned": learning.execution}),
        **({"execution": ", ".join(executions)} if executions else {}),
        "network": network_digest(network),
        "pattern": ", ".join("".join(map(str, pattern.values)) for pattern in patterns),
        "data": shown.name,
        "images": len(shown.images),
        "image_digest": shown.digest,
        "validation_digest": "" if held is None else held.digest,
        "noise": _encoding(network).noise,
        **encoding_given(network),
        **({"frame_ticks": shown.frame_ticks} if shown.is_stream else {}),
    }


def require_onset(images: Mapping[str, ImageSet], options: TrainingOptions) -> None:
    """Refuse preceding frames before streams: a stream's time begins at its onset."""
    streams = [found.name for found in images.values() if found.is_stream]
    if streams and options.preceding:
        raise InputError(
            f"training: preceding {options.preceding}: {streams[0]} are streams, which begin at their onset; drop "
            "preceding"
        )


def encoding_given(network: Network) -> dict[str, Any]:
    """Return what the network file sets for its input besides noise and code, for checkpoints; empty if nothing."""
    coded = _encoding(network)
    shown = {"frames": coded.frames} if coded.frames != "still" else {}
    seen = {"seen": list(coded.seen)} if coded.code == "real" and coded.seen else {}
    return {**({"mean": list(coded.mean)} if coded.mean else {}), **shown, **seen}


def check_images(network: Network, images: Mapping[str, ImageSet]) -> None:
    """Refuse images that a network cannot be trained on."""
    require_parts(images)
    require_labelled_nodes(network, len(images["train"].classes), "training")
    name = network.inputs[0]
    code = input_encodings(network)[name].code
    if code != "real":
        raise NetworkError(
            f'inputs.{name}.code: "{code}" gives spikes, while real values are trained; drop the code, or train for a '
            "chip (--for truenorth; in Python train_for_chip)"
        )
    for part, found in images.items():
        shape = network.nodes[name].shape
        if found.shape != shape:
            told = "none" if shape is None else show_shape(shape)
            raise InputError(
                f"node {name}: has shape {told}, {found.name} images ({part}) have {show_shape(found.shape)}; give the "
                "node the shape of the images"
            )


def require_parts(images: Mapping[str, ImageSet]) -> None:
    """Require images to train on, and images to measure accuracy on."""
    if "train" not in images or not {"validation", "test"} & images.keys():
        raise InputError(
            f"training: images given are {', '.join(images) or 'none'}; needed are train, and validation or test"
        )


def _encoding(network: Network) -> InputEncoding:
    return input_encodings(network)[network.inputs[0]]


def history_of(done: Progress) -> tuple[EpochFigures, ...]:
    """Return the figures of all epochs of a run."""
    return tuple(
        EpochFigures(
            int(e["epoch"]),
            float(e["loss"]),
            float(e["seconds"]),
            tuple(e.get("accuracy", ())),
            tuple(e.get("gates", ())),
        )
        for e in done.history
    )


def network_digest(network: Network) -> str:
    """Return a digest of an untrained network (nodes, edges, settings) in 16 hexadecimal digits."""
    nodes = [(name, node.shape) for name, node in network.nodes.items()]
    edges = [(key, [getattr(edge.transform, part, None) for part in _PARTS]) for key, edge in network.edges.items()]
    settings = [(name, s.activation, s.dropout) for name, s in node_settings(network).items()]
    return sha256(repr((nodes, edges, settings, network.outputs)).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class LearnedPattern(Card):
    """Takes the place of a rollout when the pattern is learned with the weights.

    Attributes
    ----------
    network : Network
        Network of frame nodes with at least two behaviour classes.
    execution : str
        Execution whose times a loss over time counts; ``"windowed"`` takes those of the pattern with the least frame
        period in its class.
    """

    network: Network
    execution: str = "windowed"

    def __post_init__(self) -> None:
        needs("LearnedPattern", self.network, Network)
        chosen_period(self.execution)


# Patterns under which one set of weights is trained: those of the given rollouts, in order.
def rollouts_of(called: str, given: Rollout | Sequence[Rollout] | LearnedPattern) -> tuple[Rollout, ...]:
    """Check rollouts and return them as a tuple; a pattern to be learned is represented by streaming."""
    if isinstance(given, LearnedPattern):
        if count_behaviour_classes(given.network) == 1:
            raise InputError(
                f"{called}: learned: network {given.network.name} has one behaviour class, in which all patterns "
                "compute the same; train any, and choose by times alone (neuromap explore)"
            )
        return (Rollout(given.network, "streaming", given.execution),)
    rollouts = [given] if isinstance(given, Rollout) or not isinstance(given, Sequence) else list(given)
    if not rollouts:
        raise InputError(f"{called}: no rollout is given; give one for every pattern that is to be trained")
    for rollout in rollouts:
        needs(f"{called}: rollout", rollout, Rollout)
        if rollout.network is not rollouts[0].network:
            raise InputError(
                f"{called}: rollouts are of several networks ({rollouts[0].network.name}, {rollout.network.name}); one "
                "set of weights is of one network, make all rollouts of it"
            )
    patterns = tuple(rollout.pattern for rollout in rollouts)
    for pattern in patterns:
        pattern.require_binary(called)
    for number, pattern in enumerate(patterns):
        for other in patterns[:number]:
            if pattern == other:
                one, two = call_pattern(other), call_pattern(pattern)
                told = f"pattern {one} is given twice" if one == two else f"patterns {one} and {two} are the same"
                raise InputError(f"{called}: {told}; each has its turn, give each once")
    return tuple(rollouts)


def objective_of(
    given: Rollout | Sequence[Rollout] | LearnedPattern,
    rollouts: Sequence[Rollout],
    options: TrainingOptions,
    chip: ChipSpec | None,
    weight_cores: float = 0.0,
) -> tuple[LossOverTime, Learning | None]:
    """Return the loss over time in update steps, and how the pattern is learned, if at all."""
    from neuromap.training.torch.gates import Learning

    over_time = LossOverTime.read(options.loss_over_time).on(chip)
    if not isinstance(given, LearnedPattern):
        for name, weight in (("weight_time", options.weight_time), ("weight_cores", weight_cores)):
            if weight:
                raise InputError(
                    f"training: {name} {weight:g}: is for patterns that are learned; give --pattern learned (in Python "
                    "LearnedPattern), or drop it"
                )
        over_time.require_in_time(rollouts)
        return over_time, None
    if options.preceding:
        raise InputError(
            "training: preceding: frames before an image begin where those of its pattern do, and every image draws "
            "its own; drop preceding, or train a pattern that was learned"
        )
    over_time.require_answer(given.network)
    return over_time, Learning(
        execution=given.execution,
        epochs=max(1, round(_WITH_GATES * options.epochs)),
        weight_time=options.weight_time,
        weight_cores=weight_cores,
        delays=() if chip is None else _delays(given.network, chip),
        core_neurons=1 if chip is None else chip.neurons,
    )


def _delays(network: Network, chip: ChipSpec) -> tuple[DelayCost, ...]:
    """Cost of delays before weights are known, assuming that every edge of a node reads all its neurons."""
    leaving: dict[str, list[EdgeKey]] = {}
    for u, v in network.edges:
        if u not in network.inputs:
            leaving.setdefault(u, []).append((u, v))
    one_target = chip.kind.structure.ONE_TARGET
    return tuple(
        DelayCost(tuple(keys), network.nodes[u].size, chip.delay[1], one_target, chip.delay[0])
        for u, keys in leaving.items()
    )


def frames_to_measure(over_time: LossOverTime, rollouts: Sequence[Rollout], options: TrainingOptions) -> int:
    """Count the frames to measure: at least the requested ones, and all that the loss counts."""
    return max(options.frames, *(len(over_time.shares(rollout, options.frames).shares) for rollout in rollouts))


def called_patterns(trained: Sequence[RolloutPattern], given: Sequence[RolloutPattern]) -> tuple[RolloutPattern, ...]:
    """Return the trained patterns; a learned one is named after its streaming edges unless the network names it."""
    return tuple(pattern if pattern in given else _named(pattern) for pattern in trained)


def _named(pattern: RolloutPattern) -> RolloutPattern:
    network = pattern.network
    for name in network.pattern_names:
        if RolloutPattern.named(network, name) == pattern:
            return RolloutPattern.named(network, name)
    return replace(pattern, name=", ".join(f"{u} -> {v}" for u, v in pattern.streaming_edges))


def learned_gates(pattern: RolloutPattern, done: Progress) -> LearnedGates:
    """Describe the learned pattern."""
    network = pattern.network
    (number,) = class_numbers(network, [pattern]).of_patterns([pattern])
    return LearnedGates(
        pattern=call_pattern(pattern),
        streaming=tuple(f"{u} -> {v}" for u, v in pattern.streaming_edges),
        behaviour_class=number,
        classes=count_behaviour_classes(network),
        gates=done.gates,
    )


# Fraction of the epochs in which a pattern is learned; in the others the pattern found is trained.
_WITH_GATES = 0.6


def call_pattern(pattern: RolloutPattern) -> str:
    """Return the name of a pattern, or its digits if it has none."""
    return pattern.name or pattern.digits
