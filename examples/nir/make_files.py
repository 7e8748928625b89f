"""Small spiking networks written as NIR by the exporters of other tools, with the spikes of their own runs.

Run once in an environment of each tool (PyTorch 2.13.0, nir 1.0.8), which neuromap needs none of::

    python examples/nir/make_files.py snntorch

writes ``snntorch.nir``, and ``snntorch.npz`` with the spikes that went in (steps, size) and those that every layer of
neurons gave (steps, size), under the names of the file's nodes. ``docs/nir.md`` has the versions. The other way around,

    python examples/nir/make_files.py written

lets SpikingJelly run ``written.nir``, which neuromap wrote (``tests/exchange/nir/test_tools.py`` has the network).
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import nir
import numpy as np
import torch

STEPS = 100
HERE = Path(__file__).parent


def spikes(*shape: int, rate: float = 0.3) -> torch.Tensor:
    """Draw frames of spikes, shape (steps, 1, ...)."""
    return (torch.rand(STEPS, 1, *shape) < rate).float()


def weights(module: torch.nn.Module, scale: float, mean: float = 0.4) -> torch.nn.Module:
    """Give a layer weights that make neurons behind it fire."""
    for parameter in module.parameters():
        parameter.data = scale * (torch.randn(parameter.shape) + mean) if parameter.dim() > 1 else 0 * parameter.data
    return module


def snntorch() -> tuple:
    """Make a layer of LIF, one of LIF with recurrent synapses, one with currents."""
    import snntorch as snn
    from snntorch.export_nir import export_to_nir

    how = {"init_hidden": True, "reset_mechanism": "zero", "reset_delay": False}
    recurrent = snn.RLeaky(0.85, linear_features=10, **how)
    weights(recurrent.recurrent, 0.15, -0.2)
    last = snn.Synaptic(torch.full((5,), 0.7), torch.full((5,), 0.9), threshold=torch.full((5,), 2.0), **how)
    first = snn.Leaky(torch.linspace(0.8, 0.95, 12), threshold=torch.ones(12), **how)
    net = torch.nn.Sequential(
        weights(torch.nn.Linear(8, 12), 0.3),
        first,
        weights(torch.nn.Linear(12, 10), 0.3),
        recurrent,
        weights(torch.nn.Linear(10, 5), 0.2),
        last,
    )
    frames = spikes(8)
    graph = export_to_nir(net, frames[0], ignore_dims=[0])
    for layer in (first, recurrent, last):
        layer.reset_mem()
    return graph, frames, run(net, frames, {"1": first, "3.lif": recurrent, "5": last})


def norse() -> tuple:
    """Make three layers of LIF without currents."""
    import norse.torch as norse
    from norse.torch.functional.lif_box import LIFBoxParameters
    from norse.torch.utils.export_nir import to_nir

    def cell(n: int) -> torch.nn.Module:
        parts = {"tau_mem_inv": torch.linspace(60, 120, n), "v_th": torch.full((n,), 0.2), "v_leak": torch.zeros(n)}
        return norse.LIFBoxCell(LIFBoxParameters(**parts), dt=1e-3)

    layers = [
        weights(torch.nn.Linear(8, 12), 0.5), cell(12), weights(torch.nn.Linear(12, 9), 0.5), cell(9),
        weights(torch.nn.Linear(9, 4), 0.5), cell(4),
    ]  # fmt: skip
    net = norse.SequentialState(*layers)
    frames = spikes(8)
    graph = to_nir(net, frames[0])
    found: dict[str, list] = {"1": [], "3": [], "5": []}
    states: dict[str, object] = {}
    for frame in frames:
        value = frame
        for k, layer in enumerate(layers):
            if str(k) in found:
                value, states[str(k)] = layer(value, states.get(str(k)))
                found[str(k)].append(value.detach())
            else:
                value = layer(value)
    return graph, frames, {name: torch.stack(values) for name, values in found.items()}


def sinabs() -> tuple:
    """Make a convolution onto IF, a pool, a linear map onto LIF."""
    import sinabs.layers as sl
    from sinabs.activation import MembraneReset, SingleSpike
    from sinabs.nir import to_nir

    how = {"spike_fn": SingleSpike, "reset_fn": MembraneReset(), "min_v_mem": None}
    first = sl.IAFSqueeze(1, spike_threshold=torch.tensor(1.0), **how)
    last = sl.LIFSqueeze(1, tau_mem=torch.linspace(5.0, 20.0, 6), spike_threshold=torch.full((6,), 0.15), **how)
    net = torch.nn.Sequential(
        weights(torch.nn.Conv2d(1, 3, 3, padding=1, bias=False), 0.3, 0.2),
        first,
        sl.SumPool2d(2),
        torch.nn.Flatten(),
        weights(torch.nn.Linear(48, 6), 0.1, 0.3),
        last,
    )
    frames = spikes(1, 8, 8, rate=0.2)
    graph = to_nir(net, frames[0])
    graph.infer_types()  # the shapes of convolutions, without which nir 1.0.8 cannot write them
    for layer in (first, last):
        layer.reset_states()
    return graph, frames, run(net, frames, {"1": first, "5": last})


def spikingjelly() -> tuple:
    """Make a convolution onto LIF, a mean pool, a linear map onto IF, and one onto LIF with currents."""
    from spikingjelly.activation_based import functional, layer, neuron
    from spikingjelly.activation_based.nir_exchange import export_to_nir

    first, middle = neuron.LIFNode(tau=4.0, v_threshold=0.3), neuron.IFNode(v_threshold=1.0)
    last = neuron.CUBALIFNode(c_decay=0.6, v_decay=0.9, v_threshold=2.0)
    net = torch.nn.Sequential(
        weights(layer.Conv2d(2, 3, 3, stride=2, padding=1, bias=False), 0.4, 0.3),
        first,
        layer.AvgPool2d(2, 2),
        layer.Flatten(),
        weights(layer.Linear(12, 8, bias=False), 0.3, 0.4),
        middle,
        weights(layer.Linear(8, 4, bias=False), 0.2, 0.4),
        last,
    )
    frames = spikes(2, 8, 8, rate=0.2)
    graph = export_to_nir(net, frames[0])
    functional.reset_net(net)
    names = [name for name, node in graph.nodes.items() if type(node).__name__ in ("LIF", "IF", "CubaLIF")]
    return graph, frames, run(net, frames, dict(zip(names, (first, middle, last), strict=True)))


def rockpool() -> tuple:
    """Make two layers of LIF, which take the threshold off where NIR says that they are set to 0."""
    from rockpool.nn.combinators import Sequential
    from rockpool.nn.modules import LIFNeuronTorch, LinearTorch
    from rockpool.nn.modules.torch.nir import to_nir

    def linear(source: int, target: int) -> torch.nn.Module:
        weight = 0.3 * (torch.randn(source, target) + 0.2)
        return LinearTorch((source, target), weight=weight, has_bias=False)

    cells = [LIFNeuronTorch((n,), tau_mem=0.02, threshold=1.0, dt=1e-3, max_spikes_per_dt=1) for n in (12, 5)]
    net = Sequential(linear(8, 12), cells[0], linear(12, 5), cells[1])
    frames = spikes(8, rate=0.15)
    graph = to_nir(net, frames[:1])  # its time dimension, 1, goes into the shape of the input
    found, value = {}, frames.permute(1, 0, 2)
    for name, layer in net.named_children():
        value = layer(value)[0]
        if isinstance(layer, LIFNeuronTorch):
            found[name] = value.detach().permute(1, 0, 2)
    return graph, frames, found


def run(net: torch.nn.Module, frames: torch.Tensor, layers: dict[str, torch.nn.Module]) -> dict[str, torch.Tensor]:
    """Run a network step by step, and keep what layers give."""
    found: dict[str, list] = {name: [] for name in layers}

    def keep(name: str):
        return lambda module, given, value: found[name].append(value[0] if isinstance(value, tuple) else value)

    handles = [layer.register_forward_hook(keep(name)) for name, layer in layers.items()]
    with torch.no_grad():
        for frame in frames:
            net(frame)
    for handle in handles:
        handle.remove()
    return {name: torch.stack(values) for name, values in found.items()}


def run_written() -> None:
    """Run a file of neuromap in SpikingJelly, and keep the spikes of its last layer."""
    from spikingjelly.activation_based.nir_exchange import import_from_nir

    net, frames, state, found = import_from_nir(nir.read(HERE / "written.nir"), dt=1e-4), spikes(6, rate=0.4), (), []
    for frame in frames:
        value, *state = net(frame, *state)
        found.append(value.detach())
    arrays = {"input": frames.numpy().reshape(STEPS, -1) > 0, "B": torch.stack(found).numpy().reshape(STEPS, -1) > 0}
    np.savez_compressed(HERE / "written.npz", **arrays)
    print(f"spikingjelly {version('spikingjelly')}: {int(arrays['B'].sum())} spikes")


def main(tool: str) -> None:
    """Write the file of a tool and the spikes of its run."""
    torch.manual_seed(1)
    if tool == "written":
        run_written()
        return
    graph, frames, found = {f.__name__: f for f in (snntorch, norse, sinabs, spikingjelly, rockpool)}[tool]()
    nir.write(HERE / f"{tool}.nir", graph, compression=None)  # small arrays, packed, take more room
    arrays = {name: (values.detach().numpy() > 0).reshape(STEPS, -1) for name, values in found.items()}
    np.savez_compressed(HERE / f"{tool}.npz", input=frames.numpy().reshape(STEPS, -1) > 0, **arrays)
    rates = {name: f"{array.mean():.2f}" for name, array in arrays.items()}
    kinds = {name: type(node).__name__ for name, node in graph.nodes.items()}
    most = {name: float(values.max()) for name, values in found.items()}
    print(f"{tool} {version(tool)}: {kinds}; spikes per neuron and step {rates}; most in one {most}")


if __name__ == "__main__":
    main(sys.argv[1])
