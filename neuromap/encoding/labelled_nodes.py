"""The input and the output between which a network names classes of labelled images."""

from __future__ import annotations

from neuromap.errors import NetworkError
from neuromap.network.network import Network


def require_labelled_nodes(network: Network, classes: int, what: str) -> None:
    """Refuse networks that do not name a class of an image."""
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        raise NetworkError(
            f"network {network.name}: has inputs {', '.join(network.inputs)} and outputs {', '.join(network.outputs)}; "
            f"{what} on labelled images needs one of each (outputs = [...] chooses)"
        )
    output = network.nodes[network.outputs[0]]
    if output.size % classes:
        raise NetworkError(
            f"node {output.name}: has {output.size} neurons, which {classes} classes cannot share equally; give it "
            f"{classes} or a multiple"
        )
