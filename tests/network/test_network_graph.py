"""The graph of a network: inputs, outputs and names on large graphs."""

import time

from neuromap.network.network import RESERVED_PATTERNS, Network


def test_many_inputs_and_outputs_take_linear_time():
    n = 20_000
    begin = time.process_time()
    net = Network.from_edges([(f"i{k}", f"o{k}") for k in range(n)])
    assert (len(net.inputs), net.outputs) == (n, tuple(f"o{k}" for k in range(n)))
    # About a third of a second; by pairs of inputs and outputs it took fifteen.
    assert time.process_time() - begin < 4


def test_every_network_has_streaming_and_sequential():
    assert RESERVED_PATTERNS == ("streaming", "sequential")
