"""Models compute where their parameters are: a tensor made elsewhere would stop PyTorch on a GPU."""

import numpy as np
import pytest

import neuromap as nm
from neuromap.network.transforms import Conv, Dense, Pool
from neuromap.training.options.node_settings import WEIGHT_KINDS


def network():
    shapes = {"I": (4, 4, 1), "A": (2, 2, 4), "P": (1, 1, 4), "O": (2, 1, 4)}
    edges = {
        ("I", "A"): Conv(shapes["I"], shapes["A"], kernel=(3, 3), stride=(2, 2)),
        ("A", "A"): Conv(shapes["A"], shapes["A"], kernel=(2, 1), groups=2),
        ("A", "P"): Pool(shapes["A"], shapes["P"], kernel=(2, 2)),
        ("P", "O"): Dense(shapes["P"], shapes["O"], groups=2),
        ("A", "O"): Dense(shapes["A"], shapes["O"]),
    }
    return nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges)


@pytest.mark.parametrize("kind", ["real", *WEIGHT_KINDS])
def test_all_is_computed_on_the_device_of_the_parameters(one_thread, kind):
    """PyTorch's device ``meta`` has shapes and no values, and refuses tensors of the processor as a GPU does."""
    torch = one_thread
    from neuromap.training.torch.frame_model import FrameModel
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import output_scores

    net = network()
    model = RolloutModel(net) if kind == "real" else FrameModel(net, dict.fromkeys(net.edges, kind))
    model.to("meta").train()
    frames = torch.from_numpy(np.ones((4, 3, 4, 4, 1), np.float32))
    for pattern in ("streaming", "sequential"):
        scores = output_scores(model, nm.Rollout(net, pattern).pattern, frames, 2)
        scores.sum().backward()
        assert scores.device.type == "meta"
    model.eval()
    assert output_scores(model, nm.RolloutPattern.streaming(net), frames, 2).device.type == "meta"


def test_a_layer_of_the_host_is_learned_where_its_parameters_are(one_thread):
    torch = one_thread
    from neuromap.encoding import InputEncoding
    from neuromap.training.torch.frame_model import HostLayer

    encoding = InputEncoding("I", (2, 2, 3), code="layer", kernel=(3, 3), stride=(2, 2))
    layer = HostLayer(encoding, (4, 4, 1), torch.Generator()).to("meta").train()
    spikes = layer(torch.ones((4, 3, 4, 4, 1), device="meta"))
    spikes.sum().backward()
    assert (spikes.device.type, spikes.shape) == ("meta", (4, 3, 2, 2, 3))


def test_a_network_from_a_file_follows_its_device(one_thread):
    from neuromap.training.torch.frame_model import FrameModel, to_network
    from neuromap.training.torch.rollout_model import NetworkModel

    model = NetworkModel(to_network(FrameModel(network()).eval())).to("meta")
    window = model.window(nm.RolloutPattern.streaming(model.network), {"I": one_thread.ones(3, 2, 4, 4, 1).to("meta")})
    assert window["O"].device.type == "meta"
