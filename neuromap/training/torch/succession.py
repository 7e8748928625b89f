"""One image after another: what is shown before an image, so that a network learns to let go of what it saw last."""

from __future__ import annotations

import torch
from torch import Tensor

from neuromap.rollout.pattern import RolloutPattern

__all__ = ["after_another", "onset"]


def onset(pattern: RolloutPattern) -> int:
    """Give the frame from which on an image is shown: 0 if an edge of an input streams, else 1."""
    # Nothing depends on frame 0 of an input whose edges are sequential.
    edges = zip(pattern.network.edges, pattern.values, strict=True)
    return 0 if any(r for (source, _), r in edges if source in pattern.network.inputs) else 1


def after_another(frames: Tensor, n_before: int) -> Tensor:
    """Show another image first: that which comes before in the batch, before the first of them the last."""
    # shapes: frames (n_frames, batch, rows, columns, features)
    if not n_before:
        return frames
    return torch.cat([frames[:n_before].roll(1, dims=1), frames[n_before:]])
