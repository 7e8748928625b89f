"""Signs of sources whose axons have one type each."""

from __future__ import annotations

import torch
from torch import Tensor

from neuromap.network.transforms.kinds import Conv, Dense

__all__ = ["source_signs"]


def source_signs(transform: Conv | Dense) -> Tensor:
    """Give 1 for even and -1 for odd features of the source, in a shape that multiplies the weights of an edge."""
    features, groups = transform.source_shape[2], transform.groups
    signs = 1.0 - 2.0 * (torch.arange(features) % 2)
    if isinstance(transform, Conv):
        of_group = signs.reshape(groups, -1).T  # (source features of a group, groups)
        return of_group.repeat_interleave(transform.target_shape[2] // groups, dim=1)
    cells = transform.source_shape[0] * transform.source_shape[1]
    if groups == 1:
        return signs.repeat(cells)
    return signs.reshape(groups, 1, -1).repeat(1, 1, cells)
