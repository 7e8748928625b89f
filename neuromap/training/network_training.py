"""``train_network``: a network, a pattern and labelled images become trained weights and their accuracy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.datasets.image_set import ImageSet
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.encoding.input_tables import input_encodings
from neuromap.encoding.labelled_nodes import require_labelled_nodes
from neuromap.errors import InputError, NetworkError
from neuromap.files.given import needs
from neuromap.network.complete import require_frames
from neuromap.network.network import Network
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.asked.node_settings import node_settings
from neuromap.training.asked.time_axes import frame_times
from neuromap.training.asked.torch_extra import memory_told, require_device, require_torch
from neuromap.training.asked.training_options import TrainingOptions
from neuromap.training.training_result import EpochFigures, TrainingResult

if TYPE_CHECKING:
    from neuromap.training.loop.checkpoint import Progress

__all__ = ["check_images", "encoding_given", "history_of", "network_digest", "require_parts", "train_network"]

_MEASURED_SEED = 2**31
"""Added to the seed of the noise on images that are measured: none that training uses."""

_PARTS = ("kind", "kernel", "stride", "padding", "groups")
"""Of a transform, all but the weights."""


def _silent(*_: object) -> None:
    """Show nothing."""


def train_network(
    rollout: Rollout,
    images: Mapping[str, ImageSet],
    options: TrainingOptions | None = None,
    checkpoint: str | Path | None = None,
    progress: Callable[..., None] = _silent,
) -> TrainingResult:
    """Train a network under a rollout pattern.

    The same images are shown in all frames, each with noise of its own where the network's file asks for it; where it
    asks for tracks, frames are consecutive pictures of one track, and each run of them counts as an image. The accuracy
    that is given at the end is that of the test images, if they are among those given, else of the validation images.

    Parameters
    ----------
    rollout : Rollout
        Network and pattern; the execution does not matter, times are those of windowed execution.
    images : mapping of str to ImageSet
        ``"train"``, and ``"validation"`` or ``"test"`` or both.
    options : TrainingOptions, optional
        By default those of the paper for MNIST.
    checkpoint : str or Path, optional
        A file that is written after every epoch. If it is there, the run goes on from it and ends with the weights
        that it would have had without the interruption.
    progress : callable
        ``progress(text, epochs done, epochs)``.

    Returns
    -------
    TrainingResult

    Raises
    ------
    NotSupportedError
        If PyTorch is not installed or does not find the device, or the network has edges that are not trained.
    InputError
        If images, network and checkpoint do not fit each other.
    NetworkError
        If the network's inputs and outputs are not for labelled images, or its input is to give spikes.
    TrainingError
        If the loss is no number any more, or the memory does not suffice.
    """
    needs("train_network: rollout", rollout, Rollout)
    require_frames(rollout.network, "train", "networks of frame nodes are trained")
    require_torch("training")
    options = TrainingOptions() if options is None else options
    require_device(options)
    check_images(rollout.network, images)
    from neuromap.rollout.patterns.first_frame import first_frame
    from neuromap.training.loop.measure_frames import correct_by_frame, sole_output
    from neuromap.training.loop.track_batches import batches_of
    from neuromap.training.loop.train import Run, train
    from neuromap.training.model.rollout_model import RolloutModel

    network, pattern = rollout.network, rollout.pattern
    shown = images["train"]
    held = images.get("validation")
    shown_as = partial(batches_of, encoding=_encoding(network), rollout=rollout, length=options.frames)
    run = Run(
        pattern=pattern,
        batches=shown_as(shown, size=options.batch, seed=options.seed, flip=options.flip),
        validation=None if held is None else shown_as(held, size=256, seed=options.seed),
        classes=len(shown.classes),
        task=task_of(rollout, shown),
    )
    part = "test" if "test" in images else "validation"
    measured = shown_as(images[part], size=256, seed=_MEASURED_SEED + options.seed)
    with memory_told(options):
        model = RolloutModel(network, options.seed)
        done = train(model, run, options, None if checkpoint is None else Path(checkpoint), progress)
        accuracy = correct_by_frame(model, pattern, measured, options.frames, len(shown.classes))
    output = sole_output(model)
    return TrainingResult(
        network=network.name,
        pattern=pattern.name or "".join(map(str, pattern.values)),
        data=shown.name,
        output=output,
        options=options,
        parameters=sum(parameter.numel() for _, parameter in model.tensors()),
        history=history_of(done),
        times=frame_times(Rollout(network, pattern), output, first_frame(pattern, output), options.frames),
        part=part,
        n_images=measured.n_shown,
        accuracy=tuple(round(float(a), 6) for a in accuracy),
    )


def task_of(rollout: Rollout, shown: ImageSet) -> dict[str, Any]:
    """Name what is trained on what, as a checkpoint keeps it.

    Parameters
    ----------
    rollout : Rollout
        Network and pattern.
    shown : ImageSet
        The training images.
    """
    return {
        "network": network_digest(rollout.network),
        "pattern": "".join(map(str, rollout.pattern.values)),
        "data": shown.name,
        "images": len(shown.images),
        "noise": _encoding(rollout.network).noise,
        **encoding_given(rollout.network),
    }


def encoding_given(network: Network) -> dict[str, Any]:
    """Name what the file of a network asks of the host beside noise and code, for checkpoints; empty for nothing."""
    coded = _encoding(network)
    shown = {"frames": coded.frames} if coded.frames != "still" else {}
    return {**({"mean": list(coded.mean)} if coded.mean else {}), **shown}


def check_images(network: Network, images: Mapping[str, ImageSet]) -> None:
    """Refuse images that a network cannot be trained on.

    Raises
    ------
    InputError
        If a part is missing or the images have another shape than the input node.
    NetworkError
        If the network has several inputs or outputs, an output that classes cannot share equally, or an input whose
        code gives spikes.
    """
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
        if found.shape != network.nodes[name].shape:
            raise InputError(
                f"node {name}: has shape {_shown(network.nodes[name].shape)}, {found.name} images ({part}) have "
                f"{_shown(found.shape)}; give the node the shape of the images"
            )


def require_parts(images: Mapping[str, ImageSet]) -> None:
    """Refuse images without a part to train on, or without one to measure on.

    Raises
    ------
    InputError
        Naming what is there.
    """
    if "train" not in images or not {"validation", "test"} & images.keys():
        raise InputError(
            f"training: images given are {', '.join(images) or 'none'}; needed are train, and validation or test"
        )


def _shown(shape: tuple[int, int, int] | None) -> str:
    return "none" if shape is None else "[" + ", ".join(map(str, shape)) + "]"


def _encoding(network: Network) -> InputEncoding:
    return input_encodings(network)[network.inputs[0]]


def history_of(done: Progress) -> tuple[EpochFigures, ...]:
    """Give the figures of all epochs of a run."""
    return tuple(
        EpochFigures(int(e["epoch"]), float(e["loss"]), float(e["seconds"]), tuple(e.get("accuracy", ())))
        for e in done.history
    )


def network_digest(network: Network) -> str:
    """Give a digest of what a network is before it is trained: nodes, edges, settings, in 16 hexadecimal digits."""
    nodes = [(name, node.shape) for name, node in network.nodes.items()]
    edges = [(key, [getattr(edge.transform, part, None) for part in _PARTS]) for key, edge in network.edges.items()]
    settings = [(name, s.activation, s.dropout) for name, s in node_settings(network).items()]
    return sha256(repr((nodes, edges, settings, network.outputs)).encode()).hexdigest()[:16]
