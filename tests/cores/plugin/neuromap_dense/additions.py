"""A placer, two formats and a back end of this package."""

from itertools import pairwise

import numpy as np

import neuromap as nm
from neuromap.backends.scripts import ScriptFormat
from neuromap.exchange import Exported, Format, Imported


def last_first(graph, board, seed, deadline):
    """Fill the board from its last row back."""
    y, x = np.nonzero(board.usable)
    return np.stack([x, y], axis=1)[::-1][: graph.n_cores].astype(np.int64)


def read_chain(path, chip=None):
    """Read ``threshold threshold ...``: a chain of single neurons."""
    thresholds = list(map(int, path.read_text().split()))
    names = ["I", *(f"N{i}" for i in range(len(thresholds)))]
    nodes = {"I": (1, None), **{name: (1, t) for name, t in zip(names[1:], thresholds, strict=True)}}
    network = nm.build_network(nodes, {pair: [[1]] for pair in pairwise(names)}, name="chain")
    return Imported(network, "chain", path.name)


def write_sizes(path):
    """Write the sizes of a network's nodes."""
    network = nm.load_network(path)
    text = "".join(f"{name} {node.size}\n" for name, node in network.nodes.items())
    return Exported(network.name, "sizes", {"sizes.txt": text})


CHAIN = Format("Chains", (".chain",), "chains of neurons", "neuromap_dense.additions:read_chain")
SIZES = Format("Sizes", (".txt",), "sizes of nodes", "neuromap_dense.additions:write_sizes")
SCRIPTS = ScriptFormat("neuromap_dense.run_script", "no_such_simulator")
