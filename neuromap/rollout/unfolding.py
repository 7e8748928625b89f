"""Unfolding: copies of a network that take frames in turn, to trade cores for sampling frequency.

Copy j of J takes frames j, j + J, j + 2 J and so on. An edge with R streaming frames leads from the copy that has the
frame R earlier, and streams if that frame belongs to an earlier turn. So the copies are one network under one pattern
whose frames are turns of J frames; its frame period may be as low as ceil(J rho) update steps, with rho the maximum
cycle ratio (K. Parhi, D. Messerschmitt, IEEE Transactions on Computers 40, 1991). Proofs:
``docs/theorems/unfolding.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.argument_checks import needs, whole_number
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern

MOST_COPIES = 1024
"""Greatest number of copies: a board holds no more of the smallest network."""


@dataclass(frozen=True, eq=False)
class Unfolded(Card):
    """Copies of a network that take its frames in turn.

    Attributes
    ----------
    network : Network
        The copies as one network: node v of copy j is ``v.j``, j from 1; its named patterns are those of the original.
    pattern : RolloutPattern
        Pattern under which the copies compute what the original computes under its own.
    copies : int
        J, the number of frames per turn.
    original : Network
        The network that was copied.
    """

    network: Network
    pattern: RolloutPattern
    copies: int
    original: Network

    def _facts(self) -> dict[str, object]:
        return {"network": self.network.name, "copies": self.copies, "nodes": len(self.network.nodes)}

    def turns(self, frames: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.generic]]:
        """Deal the original's input frames out to the copies.

        Parameters
        ----------
        frames : mapping of str to array_like, shape (n_frames, ...)
            Row 0 is frame 0; the rest is padded with silent frames to whole turns.

        Returns
        -------
        dict of str to ndarray, shape (n_turns, ...)
            Row 0 is the turn before the first, in which the last copy has frame 0.
        """
        found: dict[str, NDArray[np.generic]] = {}
        for name, given in frames.items():
            rows = np.asarray(given)
            n_turns = -(-(len(rows) - 1) // self.copies)
            whole = np.zeros(((n_turns + 1) * self.copies, *rows.shape[1:]), rows.dtype)
            whole[self.copies - 1 : self.copies - 1 + len(rows)] = rows
            found |= {_copy(name, j): whole[j :: self.copies] for j in range(self.copies)}
        return found

    def frames(self, turns: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.generic]]:
        """Put the frames of the copies back in sequence, from frame 0 on.

        Parameters
        ----------
        turns : mapping of str to array_like, shape (n_turns, ...)
            Frames of all copies of some nodes, as ``neuromap.reference`` and traces give them.

        Returns
        -------
        dict of str to ndarray, shape ((n_turns - 1) copies + 1, ...)
            By node of the original.
        """
        found: dict[str, NDArray[np.generic]] = {}
        for name in self.original.nodes:
            if _copy(name, 0) in turns:
                rows = np.stack([np.asarray(turns[_copy(name, j)]) for j in range(self.copies)], axis=1)
                found[name] = rows.reshape(-1, *rows.shape[2:])[self.copies - 1 :]
        return found


def unfold(network: Network, pattern: RolloutPattern | str, copies: int) -> Unfolded:
    """Copy a network so that several frames are processed side by side.

    Parameters
    ----------
    network : Network
        Its weights are shared by all copies.
    pattern : RolloutPattern or str
        A valid pattern of it.
    copies : int
        J, 1 to 1024.

    Returns
    -------
    Unfolded

    Raises
    ------
    NotSupportedError
        If the network is spiking: its neurons keep state, so they cannot take turns.
    PatternError
        If the pattern is invalid.
    InputError
        If the number of copies is out of range.

    Examples
    --------
    >>> from neuromap import Rollout
    >>> net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "C"), ("C", "A")])
    >>> slow = RolloutPattern(net, (0, 1, 1, 0))
    >>> two = unfold(net, slow, 2)
    >>> Rollout(net, slow, "pipelined").frame_period, Rollout(two.network, two.pattern, "pipelined").frame_period
    (2, 3)
    """
    needs("unfold", network, Network)
    if network.is_spiking:
        raise NotSupportedError(
            f"unfold: network {network.name} is spiking, its neurons remember from tick to tick and cannot take turns; "
            "unfold a network of frame or graded nodes"
        )
    if not 1 <= whole_number("unfold: copies", copies) <= MOST_COPIES:
        raise InputError(f"unfold: copies = {copies}: must be 1 to {MOST_COPIES}")
    if isinstance(pattern, str):
        pattern = RolloutPattern.named(network, pattern)
    pattern.require_valid()
    nodes = {
        _copy(name, j): replace(node, name=_copy(name, j))
        for j in range(copies)
        for name, node in network.nodes.items()
    }
    edges, values = {}, []
    for j in range(copies):
        for (u, v), edge in network.edges.items():
            turn, source = divmod(j - pattern[u, v], copies)  # turn and copy of the frame R frames earlier
            key = _copy(u, source), _copy(v, j)
            edges[key] = replace(edge, source=key[0], target=key[1])
            values.append(-turn)
    outputs = [_copy(name, j) for j in range(copies) for name in network.outputs]
    inputs = network.tables.get("inputs", {})
    tables = (
        {"inputs": {_copy(name, j): dict(inputs[name]) for j in range(copies) for name in inputs}} if inputs else {}
    )
    unfolded = Network(f"{network.name} x{copies}", nodes, edges, tuple(outputs), tables=tables)
    return Unfolded(unfolded, RolloutPattern(unfolded, tuple(values), pattern.name), copies, network)


def _copy(name: str, copy: int) -> str:
    return f"{name}.{copy + 1}"
