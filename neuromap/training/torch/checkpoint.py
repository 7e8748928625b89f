"""Checkpoints: all that a training run needs to go on, in one safetensors file that is written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from neuromap.errors import InputError, TrainingError
from neuromap.files.regular_file import read_bytes
from neuromap.files.sealed import Seal, metadata_of, seal_of, sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.training.options.training_options import TrainingOptions
from neuromap.training.torch.rollout_model import RolloutModel

__all__ = ["Progress", "load_checkpoint", "save_checkpoint"]

_KIND = "training checkpoint"
_FORMAT = "neuromap training checkpoint 1"
_MOST_BYTES = 2**34


@dataclass
class Progress:
    """How far a run is."""

    epoch: int = 0  # epochs that are done
    # one for every epoch: ``epoch`` (from 1), ``loss``, ``seconds``, ``accuracy`` (by frame, of validation images)
    history: list[dict[str, Any]] = field(default_factory=list)


def save_checkpoint(
    path: Path,
    model: RolloutModel,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
    options: TrainingOptions,
    task: Mapping[str, Any],
) -> None:
    """Write a checkpoint."""
    tensors = {f"weights/{name}": _array(value) for name, value in model.tensors()}
    for name, value in _optimiser_tensors(model, optimiser):
        tensors[f"optimiser/{name}"] = _array(value)
    if wrong := _not_finite(tensors):
        raise TrainingError(
            f"epoch {progress.epoch}: {wrong} holds NaN or infinity; take a lower learning rate (checkpoint {path} is "
            "left as it was)"
        )
    about = {"options": asdict(options), "task": dict(task), "epoch": progress.epoch, "history": progress.history}
    write_whole(path, sealed_bytes(_KIND, tensors, {"format": _FORMAT, "about": json.dumps(about)}))


def load_checkpoint(
    path: Path,
    model: RolloutModel,
    optimiser: torch.optim.Optimizer,
    options: TrainingOptions,
    task: Mapping[str, Any],
) -> Progress:
    """Take up a run where its checkpoint left it."""
    about, tensors = _read(path)
    epoch, history = int(about["epoch"]), list(about["history"])
    differs = options.differences(about["options"])
    differs += [f"{k} {about['task'].get(k)!r} (now {v!r})" for k, v in task.items() if about["task"].get(k) != v]
    if differs:
        raise InputError(
            f"checkpoint {path}: is of another run: {'; '.join(differs)}; name another file or folder, or remove it"
        )
    if epoch > options.epochs:
        raise InputError(
            f"checkpoint {path}: holds {epoch} epochs, {options.epochs} are asked for; ask for {epoch} or more, name "
            "another file or folder, or remove it"
        )
    if not _fits(model, tensors):
        raise InputError(f"checkpoint {path}: holds other tensors than the network takes; remove it")
    if wrong := _not_finite(tensors):
        raise InputError(
            f"checkpoint {path}: {wrong} holds NaN or infinity, no run can go on from it; remove it, and start anew "
            "with a lower learning rate"
        )
    with torch.no_grad():
        for name, parameter in model.tensors():
            parameter.copy_(torch.from_numpy(tensors[f"weights/{name}"]))
    _restore(model, optimiser, tensors)
    return Progress(epoch, history)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    data = read_bytes(path, "checkpoint", _MOST_BYTES, InputError)
    try:
        tensors = load_tensors(data)
        metadata = metadata_of(data)
        about = json.loads(metadata["about"])
        if metadata["format"] != _FORMAT or not _is_whole(about):
            raise ValueError
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise InputError(f"checkpoint {path}: is no checkpoint of a training run; name another file") from None
    seal = seal_of(data, metadata)
    if seal is Seal.DAMAGED:
        raise InputError(
            f"checkpoint {path}: is damaged, it does not fit its digest; take a copy, or remove it and start anew"
        )
    if seal is Seal.ABSENT:
        raise InputError(
            f"checkpoint {path}: has no digest, an older version of neuromap has written it; remove it and start anew"
        )
    return about, tensors


def _not_finite(tensors: Mapping[str, NDArray[Any]]) -> str | None:
    """Name the first tensor that holds anything but finite numbers."""
    return next((name for name, values in tensors.items() if not np.isfinite(values).all()), None)


def _is_whole(about: dict[str, Any]) -> bool:
    """Say whether the text of a checkpoint has all that is read of it, each of its type."""
    kinds = {"options": dict, "task": dict, "epoch": int, "history": list}
    history = about["history"]
    return (
        all(isinstance(about[key], kind) for key, kind in kinds.items())
        and len(history) == about["epoch"]
        and all(_is_entry(entry, number) for number, entry in enumerate(history, start=1))
    )


def _is_entry(entry: dict[str, Any], epoch: int) -> bool:
    figures = (entry["loss"], entry["seconds"], *entry.get("accuracy", ()))
    return entry["epoch"] == epoch and all(isinstance(figure, int | float) for figure in figures)


def _fits(model: RolloutModel, tensors: Mapping[str, NDArray[Any]]) -> bool:
    """Say whether weights have the model's shapes, and states of the optimiser these or that of one number."""
    shapes = {name: tuple(parameter.shape) for name, parameter in model.tensors()}
    weights = {
        key.removeprefix("weights/"): value.shape for key, value in tensors.items() if key.startswith("weights/")
    }
    slots = [(key.split("/")[1:-1], value.shape) for key, value in tensors.items() if key.startswith("optimiser/")]
    return weights == shapes and all(shape in ((1,), shapes.get("/".join(name))) for name, shape in slots)


def _optimiser_tensors(model: RolloutModel, optimiser: torch.optim.Optimizer) -> list[tuple[str, torch.Tensor]]:
    return [
        (f"{name}/{slot}", value)
        for name, parameter in model.tensors()
        for slot, value in sorted(optimiser.state.get(parameter, {}).items())
    ]


def _restore(model: RolloutModel, optimiser: torch.optim.Optimizer, tensors: Mapping[str, NDArray[Any]]) -> None:
    for name, parameter in model.tensors():
        start = f"optimiser/{name}/"
        slots = {
            key[len(start) :]: torch.from_numpy(value.copy()) for key, value in tensors.items() if key.startswith(start)
        }
        if slots:
            optimiser.state[parameter] = {k: v if k == "step" else v.to(parameter.device) for k, v in slots.items()}


def _array(value: torch.Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(value.detach().cpu().numpy(), dtype=np.float32)
