"""Frames of labelled images for a network: which input, which output, which part of the run is decided on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.datasets.image_set import ImageSet
from neuromap.encoding.frames import encode_set
from neuromap.encoding.input_encoding import InputEncoding
from neuromap.encoding.input_tables import input_encodings
from neuromap.encoding.labelled_nodes import require_labelled_nodes
from neuromap.errors import InputError, NetworkError
from neuromap.files.given import needs, whole_number
from neuromap.network.network import Network
from neuromap.rollout.first_frame import first_frame
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["MOST_FRAMES", "ImageFrames"]

_AT_ONCE = 512
"""Images whose frames are in memory at a time; as many as the fast engine takes side by side."""
MOST_FRAMES = 1_000
"""Frames that are decided on, at most; as in training."""


@dataclass(frozen=True)
class ImageFrames:
    """Images shown to a rollout, each as long as it takes to decide on a number of output frames."""

    images: ImageSet  # the images
    encoding: InputEncoding  # of the only input node; binary
    output: str  # the only output node
    first: int  # its first frame that depends on the stimulus
    n_frames: int  # frames that are decided on, from there on
    seed: int  # of what the encoding draws

    @classmethod
    def of(cls, rollout: Rollout, images: ImageSet, n_frames: int, seed: int) -> ImageFrames:
        """Find input, output and first frame."""
        needs("accuracy: rollout", rollout, Rollout)
        needs("accuracy: images", images, ImageSet)
        network = rollout.network
        require_labelled_nodes(network, len(images.classes), "the accuracy")
        encoding = _only_encoding(network)
        if not 1 <= whole_number("n_frames", n_frames) <= MOST_FRAMES:
            raise InputError(f"n_frames = {n_frames}: must be 1 to {MOST_FRAMES} frames to decide on")
        if whole_number("seed", seed) < 0:
            raise InputError(f"seed = {seed}: must be 0 or more")
        if not len(images.images):
            raise InputError(f"{images.name}: part {images.part} has no images; there is nothing to measure")
        encoding.check_images(images.shape)
        output = network.outputs[0]
        return cls(images, encoding, output, first_frame(rollout.pattern, output), n_frames, seed)

    @property
    def n_shown(self) -> int:
        """Input frames of every image, frame 0 included."""
        return self.first + self.n_frames

    def stimuli(self, which: NDArray[np.integer] | slice) -> dict[str, NDArray[np.bool_]]:
        """Give the frames of some images, shape (images, frames, size), by input node."""
        frames = encode_set(self.encoding, self.images, self.n_shown, self.seed, which)
        return {self.encoding.node: frames.reshape(*frames.shape[:2], -1).astype(np.bool_, copy=False)}

    def portions(self) -> Iterator[dict[str, NDArray[np.bool_]]]:
        """Give the frames of all images in their order, a portion at a time."""
        for start in range(0, len(self.images.images), _AT_ONCE):
            yield self.stimuli(slice(start, start + _AT_ONCE))


def _only_encoding(network: Network) -> InputEncoding:
    encoding = input_encodings(network)[network.inputs[0]]
    if not encoding.is_binary:
        raise NetworkError(
            f'inputs.{encoding.node}: code = "{encoding.code}" gives intensities, a chip takes spikes; give code = '
            '"threshold", "bernoulli" or "layer"'
        )
    return encoding
