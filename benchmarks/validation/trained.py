"""Spikes of two trained networks, in their order: what the rates of ``published.toml`` leave out.

Rate-coded networks fire in step: pixels of one brightness all fire in the same step, and bursts run from layer to
layer, so that in every step another layer's cores are the slowest. The weights are Intel's, in a clone of
github.com/intel-nrc-ecosystem/models; nothing of it is kept here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.validation.published import Spikes
from neuromap.datasets.cifar10 import load_cifar10
from neuromap.datasets.mnist import load_mnist
from neuromap.network.transforms import Conv, Dense

FOLDER = Path("nxsdk_modules_ncl", "dnn", "tutorials", "models")
STEPS, IMAGES = 512, 8  # of an image, as measured there
EPSILON = 1e-3  # of batch normalisation


@dataclass(frozen=True)
class Layer:
    """What a step adds to the potentials of a layer, and when they spike."""

    name: str
    matrix: csr_array | None  # of the layer before
    bias: np.ndarray
    threshold: float
    soft: bool  # a spike takes the threshold off


def trained_spikes(workload: dict[str, Any], models: Path, mnist: Path, cifar10: Path) -> Iterator[Spikes] | None:
    """Give the spikes of a workload's trained network over some test images; None where there is none."""
    if workload["name"].startswith("MNIST"):
        images = load_mnist(mnist, "test", IMAGES).images
        return (step for image in images for step in _run(_mnist(workload, models, image.ravel())))
    if workload["name"].startswith("CIFAR"):
        return _cifar(workload, models, cifar10)
    return None


def _run(layers: list[Layer]) -> Iterator[Spikes]:
    """Compute one image: spikes reach the next layer a step later."""
    potentials = [np.zeros(len(layer.bias)) for layer in layers]
    before = [np.zeros(len(layer.bias), bool) for layer in layers]
    for _ in range(STEPS):
        now = []
        for k, layer in enumerate(layers):
            v = potentials[k]
            v += layer.bias
            if layer.matrix is not None:
                v += layer.matrix @ before[k - 1]
            fired = v > layer.threshold if not layer.soft else v >= layer.threshold
            v[fired] = v[fired] - layer.threshold if layer.soft else 0.0
            now.append(fired)
        before = now
        step = {layer.name: fired for layer, fired in zip(layers, now, strict=True)}
        yield step | {f"{layer.name}_reset": np.zeros(len(layer.bias), bool) for layer in layers if layer.soft}


def _weights(path: Path) -> dict[tuple[str, str], np.ndarray]:
    """Read every tensor of a Keras file, by layer and name."""
    import h5py

    found: dict[tuple[str, str], np.ndarray] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            found[name.split("/")[0], name.split("/")[-1].split(":")[0]] = np.array(item)

    with h5py.File(path) as file:
        file["model_weights"].visititems(visit)
    return found


def _matrix(layer: dict[str, Any], source: dict[str, Any], weights: np.ndarray) -> csr_array:
    shapes = tuple(source["shape"]), tuple(layer["shape"])
    if "kernel" not in layer:
        return Dense(*shapes, weights=weights.T).matrix()
    groups, k = shapes[0][2] if layer.get("depthwise") else 1, layer["kernel"]
    return Conv(*shapes, (k, k), (layer.get("stride", 1),) * 2, layer.get("padding", "valid"), groups, weights).matrix()


def _mnist(workload: dict[str, Any], models: Path, pixels: np.ndarray) -> list[Layer]:
    """Quantise as the notebook does: 8 bits and a sign by the greatest weight or bias; threshold 512, hard reset."""
    tensors = _weights(models / FOLDER / "a_minist_model_99pct.h5")
    layers = workload["layers"]
    found = [Layer("in", None, pixels.astype(float), 512.0, False)]
    for k, layer in enumerate(layers[1:], 1):
        kernel, bias = (tensors[f"conv2d_{k}", name] for name in ("kernel", "bias"))
        greatest = max(abs(kernel).max(), abs(bias).max())
        kernel, bias = (np.clip(each / greatest * 255, -256, 255).astype(int) for each in (kernel, bias))
        size = layer["shape"][0] * layer["shape"][1]
        found.append(Layer(layer["name"], _matrix(layer, layers[k - 1], kernel), np.tile(bias, size), 512.0, False))
    return found


def _cifar(workload: dict[str, Any], models: Path, folder: Path) -> Iterator[Spikes]:
    """Take the greatest activation of a layer as its threshold, as SNN-Toolbox does; soft reset, weights of 8 bits."""
    every = load_cifar10(folder, "test").images
    images = every[:: len(every) // 100].reshape(-1, 32 * 32 * 3) / 255
    tensors = _weights(models / FOLDER / "b_cifar_pseudo_mobile_net_0.87.h5")
    layers, greatest, values = workload["layers"], 1.0, images.T
    made: list[Layer] = []
    for k, layer in enumerate(layers[1:], 1):
        name = {"c": f"conv_pw_{k // 2}", "d": f"conv_dw_{k // 2}"}.get(layer["name"][0], "")
        name = "conv1" if k == 1 else name
        size, bias = layer["shape"][0] * layer["shape"][1], np.zeros(layer["shape"][2])
        if layer["name"] == "out":
            weights = tensors["dense_1", "kernel"]
        elif not name:
            weights = np.full((2, 2, 1, layer["shape"][2]), 0.25)
        else:
            gamma, beta, mean, variance = (
                tensors[f"{name}_bn", key] for key in ("gamma", "beta", "moving_mean", "moving_variance")
            )
            scale = gamma / np.sqrt(variance + EPSILON)
            weights, bias = tensors.get((name, "kernel")), beta - mean * scale
            if weights is None:
                weights = tensors[name, "depthwise_kernel"].transpose(0, 1, 3, 2)
            weights = weights * scale
        unit = 255 / abs(weights * greatest).max()
        whole = np.rint(weights * greatest * unit).astype(np.int64)
        matrix = _matrix(layer, layers[k - 1], whole)
        values = np.maximum(matrix @ (values / greatest) / unit + np.tile(bias, size)[:, None], 0)
        greatest = float(values.max())
        made.append(Layer(layer["name"], matrix, np.tile(bias, size) * unit, greatest * unit, True))
    for image in images[:: max(1, len(images) // IMAGES)][:IMAGES]:
        yield from _run([Layer("in", None, image * 255, 255.0, True), *made])
