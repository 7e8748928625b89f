"""Random networks in frame code as ONNX models and as PyTorch modules, from one description, for tests of imports."""

import numpy as np
from hypothesis import strategies as st

SIDE = 6


@st.composite
def descriptions(draw):
    """Layers of a network: each reads earlier ones (0 is the input) and computes spikes of some features."""
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    features = draw(st.sampled_from([1, 2]))
    layers, shapes = [], [(features, SIDE, SIDE)]
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(shapes) - 1))
        kind = draw(st.sampled_from(["conv", "conv", "pool", "concat", "skip"]))
        if kind == "pool" and (first == 0 or min(shapes[first][1:]) < 2):
            kind = "conv"
        layer = {"kind": kind, "reads": [first]}
        c, h, w = shapes[first]
        if kind == "pool":
            shape = (c, h // 2, w // 2)
        else:
            alike = [k for k, other in enumerate(shapes) if other[1:] == (h, w)]
            if kind == "concat":
                layer["reads"].append(draw(st.sampled_from(alike)))
                c += shapes[layer["reads"][1]][0]
            groups = 2 if kind == "conv" and c % 2 == 0 and draw(st.booleans()) else 1
            kernel = draw(st.sampled_from([1, 2, 3]))
            stride = 1 if kind == "skip" else draw(st.sampled_from([1, 2]))
            pad = kernel // 2 if kind == "skip" else draw(st.integers(0, kernel - 1))
            if kind == "skip" and kernel == 2:
                kernel, pad = 3, 1
            made = [(n + 2 * pad - kernel) // stride + 1 for n in (h, w)]
            if min(made) < 1:
                kernel, stride, pad, made = 1, 1, 0, [h, w]
            out = c if kind == "skip" else 2 * draw(st.integers(1, 2))
            layer |= {"groups": groups, "stride": stride, "pad": pad}
            scale = draw(st.sampled_from([1.0, 0.37]))
            layer["weights"] = (rng.integers(-1, 2, (out, c // groups, kernel, kernel)) * scale).astype(np.float32)
            shape = (out, *made)
        layer["signed"] = draw(st.booleans())
        layer["strict"] = draw(st.booleans())
        layer["norm"] = draw(st.booleans())
        n = shape[0]
        layer["numbers"] = [
            part.astype(np.float32)
            for part in (rng.normal(0, 1, n), rng.uniform(0.5, 2, n), rng.normal(0, 1, n), rng.normal(0, 1, n))
        ]
        layers.append(layer)
        shapes.append(shape)
    return {"layers": layers, "shapes": shapes, "last": len(shapes) - 1, "seed": seed}


def images(description, n=12):
    """Input images of 0 and 1, shape (n, features, rows, columns)."""
    rng = np.random.default_rng(description["seed"] + 1)
    return (rng.random((n, *description["shapes"][0])) < 0.5).astype(np.float32)


def onnx_model(description, frames=1):
    """The network as an ONNX model, for a batch of so many frames."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, stored, names = [], [], ["x"]

    def keep(name, array):
        stored.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(op, reads, gives, **attributes):
        nodes.append(helper.make_node(op, reads, [gives], name=gives, **attributes))
        return gives

    for k, layer in enumerate(description["layers"], start=1):
        reads = [names[r] for r in layer["reads"]]
        if layer["kind"] == "pool":
            names.append(add("MaxPool", reads, f"h{k}", kernel_shape=[2, 2], strides=[2, 2]))
            continue
        source = add("Concat", reads, f"cat{k}", axis=1) if layer["kind"] == "concat" else reads[0]
        found = add(
            "Conv", [source, keep(f"layer{k}.weight", layer["weights"])], f"c{k}", group=layer["groups"],
            strides=[layer["stride"]] * 2, pads=[layer["pad"]] * 4,
        )  # fmt: skip
        mean, variance, gain, shift = layer["numbers"]
        if layer["kind"] == "skip":
            found = add("Add", [found, source], f"sum{k}")
        if layer["norm"]:
            parts = [keep(f"{n}{k}", a) for n, a in (("g", gain), ("b", shift), ("m", mean), ("v", variance))]
            found = add("BatchNormalization", [found, *parts], f"n{k}")
        else:
            found = add("Add", [found, keep(f"t{k}", shift.reshape(1, -1, 1, 1))], f"n{k}")
        zero = keep(f"z{k}", np.float32(0))
        spikes = add("Greater" if layer["strict"] else "GreaterOrEqual", [found, zero], f"s{k}")
        if layer["signed"]:
            ends = [keep(f"one{k}", np.float32(1)), keep(f"minus{k}", np.float32(-1))]
            names.append(add("Where", [spikes, *ends], f"h{k}"))
        else:
            names.append(add("Cast", [spikes], f"h{k}", to=TensorProto.FLOAT))
    shape = [frames, *description["shapes"][0]]
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None)],
        stored,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=onnx.IR_VERSION)


def torch_module(description):
    """The network as a PyTorch module."""
    import torch
    from torch.nn import functional

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.ParameterList(
                torch.nn.Parameter(torch.from_numpy(layer.get("weights", np.zeros(1, np.float32))))
                for layer in description["layers"]
            )
            self.numbers = [[torch.from_numpy(part) for part in layer["numbers"]] for layer in description["layers"]]

        def forward(self, x):
            values = [x]
            for k, layer in enumerate(description["layers"]):
                read = [values[r] for r in layer["reads"]]
                if layer["kind"] == "pool":
                    values.append(functional.max_pool2d(read[0], 2))
                    continue
                source = torch.cat(read, 1)
                found = functional.conv2d(
                    source, self.weights[k], None, layer["stride"], layer["pad"], 1, layer["groups"]
                )
                if layer["kind"] == "skip":
                    found = found + source
                mean, variance, gain, shift = self.numbers[k]
                if layer["norm"]:
                    found = functional.batch_norm(found, mean, variance, gain, shift)
                else:
                    found = found + shift.reshape(1, -1, 1, 1)
                spikes = (found > 0 if layer["strict"] else found >= 0).to(x.dtype)
                values.append(2 * spikes - 1 if layer["signed"] else spikes)
            return values[-1]

    return Network()


def spikes_of(network, frames):
    """Frames of the output node that the network's definition gives, images in their order."""
    import neuromap as nm

    (name,) = network.inputs
    (output,) = network.outputs
    rows = frames.transpose(0, 2, 3, 1).reshape(len(frames), -1)
    shown = np.concatenate([np.zeros_like(rows[:1]), rows]).astype(bool)  # frame 0 is none that is computed
    found = nm.reference(nm.Rollout(network, "sequential"), {name: shown})
    return found[output][1:].reshape(len(frames), *network.nodes[output].shape).transpose(0, 3, 1, 2)
