"""Activation and dropout of every node, from the optional table ``[training.nodes.NAME]`` of a network file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.files.toml_table import TomlTable
from neuromap.forms.card import Card
from neuromap.network.network import Network

__all__ = ["ACTIVATIONS", "NodeSettings", "node_settings"]

ACTIVATIONS = ("relu", "linear", "tanh", "sigmoid")
"""What a real-valued node may apply to the sum of its edges and its bias."""


@dataclass(frozen=True)
class NodeSettings(Card):
    """How a node is trained.

    Attributes
    ----------
    activation : str
        One of :data:`ACTIVATIONS`.
    dropout : float
        Probability with which a value of the node is 0 while training, 0 or more and below 1; drawn anew in every
        frame. The others are divided by one minus it.
    """

    activation: str = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise NetworkError(f"activation: found {self.activation!r}; allowed are {', '.join(ACTIVATIONS)}")
        if not 0 <= self.dropout < 1:
            raise NetworkError(f"dropout: found {self.dropout!r}; allowed are numbers from 0 to below 1")


def node_settings(network: Network) -> Mapping[str, NodeSettings]:
    """Read the settings of all nodes that are not inputs.

    Parameters
    ----------
    network : Network
        Its table ``training`` is read; without one, outputs are linear (the loss takes the logarithm of their softmax)
        and all other nodes are rectified, without dropout.

    Returns
    -------
    mapping of str to NodeSettings
        In the order of nodes.

    Raises
    ------
    NetworkError
        If the table has a key or a value that is not allowed.
    """
    top = TomlTable(network.tables.get("training", {}), "training", NetworkError, ("nodes", "edges"))
    given = top.table("nodes")
    found = {}
    for name in network.nodes:
        if name in network.inputs:
            if name in given:
                raise given.wrong(name, "is none of an input node: activation and dropout are of computed nodes")
            continue
        default = NodeSettings("linear" if name in network.outputs else "relu")
        found[name] = _read(given.table(name), default) if name in given else default
    return ReadOnlyMapping(found)


def _read(table: TomlTable, default: NodeSettings) -> NodeSettings:
    table.allow(("activation", "dropout"))
    activation = table.text("activation", ACTIVATIONS) if "activation" in table else default.activation
    dropout = table.values.get("dropout", default.dropout)
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise table.wrong("dropout", "is a number from 0 to below 1")
    return NodeSettings(activation, float(dropout))
