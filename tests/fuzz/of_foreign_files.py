"""Readers of networks and programs of other tools."""

import json

import numpy as np
from one_reader import EXAMPLES, frames, network, program, reader, small

import neuromap as nm

# --------------------------------------------------------------------------------------------------- foreign networks


def read_nir(path, _):
    from neuromap.exchange.nir import from_nir

    from_nir(path)


def make_nir(folder):
    from neuromap.exchange.nir import to_nir

    to_nir(nm.load_network(EXAMPLES / "spiking" / "leak.toml"), folder / "own.nir")
    return [
        (folder / "own.nir").read_bytes(),
        *((EXAMPLES / "nir" / f"{tool}.nir").read_bytes() for tool in ("norse", "rockpool", "snntorch", "written")),
    ]


reader("nir", "a.nir", make_nir, read_nir, needs=("h5py", "nir"), loads=("elephant.spike_train_dissimilarity",))


def make_onnx(_):
    from onnx import TensorProto, helper, numpy_helper

    def stored(name, array):
        return numpy_helper.from_array(np.asarray(array), name)

    def model(nodes, kept, shape):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", [x], [y], kept)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()

    node = helper.make_node
    convolved = model(
        [
            node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], name="conv"),
            node("BatchNormalization", ["a", "n", "n", "n", "n"], ["b"], epsilon=1e-5),
            node("Relu", ["b"], ["c"]),
            node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Flatten", ["d"], ["e"]),
            node("Gemm", ["e", "v"], ["y"], transB=1),
        ],
        [
            stored("w", np.ones((4, 2, 3, 3), np.float32)),
            stored("n", np.ones(4, np.float32)),
            stored("v", np.ones((3, 16), np.float32)),
        ],
        ("N", 2, 8, 8),
    )
    shaped = model(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"], axis=0),
            node("Concat", ["n", "minus"], ["t"], axis=0),
            node("Reshape", ["x", "t"], ["r"]),
            node("MatMul", ["r", "m"], ["p"]),
            node("Add", ["p", "bias"], ["q"]),
            node("Greater", ["q", "half"], ["g"]),
            node("Cast", ["g"], ["y"], to=1),
        ],
        [
            stored("zero", np.array([0])),
            stored("minus", np.array([-1])),
            stored("m", np.ones((12, 5), np.float32)),
            stored("bias", np.ones(5, np.float32)),
            stored("half", np.float32(0.5)),
        ],
        (1, 3, 4),
    )
    numbers = [
        stored("s", np.float32(0.25)),
        stored("z", np.uint8(128)),
        stored("w", np.arange(-18, 18, dtype=np.int8).reshape(2, 2, 3, 3)),
        stored("ws", np.array([0.5, 0.1], np.float32)),
        stored("wz", np.zeros(2, np.int8)),
        stored("b", np.array([40, -7], np.int32)),
    ]
    paired = model(
        [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["r"]),
            node("DequantizeLinear", ["w", "ws", "wz"], ["v"], axis=0),
            node("Conv", ["r", "v"], ["c"], pads=[1, 0, 1, 2], strides=[2, 1], name="conv"),
            node("Relu", ["c"], ["d"]),
            node("MaxPool", ["d"], ["e"], kernel_shape=[2, 2]),
            node("QuantizeLinear", ["e", "s", "z"], ["f"]),
            node("DequantizeLinear", ["f", "s", "z"], ["g"]),
            node("GlobalAveragePool", ["g"], ["h"]),
            node("Add", ["h", "h"], ["i"]),
            node("QuantizeLinear", ["i", "s", "z"], ["y"]),
        ],
        numbers,
        (1, 2, 6, 5),
    )
    fused = model(
        [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "s", "z", "b"], ["c"], pads=[1, 1, 1, 1], group=1),
            node("Flatten", ["c"], ["y"]),
        ],
        numbers,
        (1, 2, 4, 4),
    )
    return [convolved, shaped, paired, fused]


reader("onnx", "a.onnx", make_onnx, lambda path, _: nm.from_onnx(path), form="protobuf", needs=("onnx",))


def make_sanafe(_):
    """Once as JSON, which is YAML whose tree can be changed, and once in lines."""
    import yaml

    soma = {"leak_decay": 1.0, "reset_mode": "hard", "reverse_reset_mode": "none", "log_spikes": True}
    each = {"threshold": 3.0, "bias": 1.0, "reset": 0.0, "refractory_delay": 0}
    sizes = {"in": 9, "conv": 8, "out": 2}
    conv = {"type": "conv2d", "input_width": 3, "input_height": 3, "input_channels": 1, "kernel_count": 2}
    conv |= {"kernel_width": 2, "kernel_height": 2, "weight": [1.0, -2.0, 3.0, 4.0] * 2}
    dense = [{"type": "dense"}, {"weight": [1.0, 0.0] * 8}]
    sparse = {"type": "sparse", "source_target_pairs": [[0, 1], [1, 0]], "weight": [2.0, -1.0]}
    groups = [
        {"name": name, "attributes": soma, "neurons": [{f"0..{size - 2}": each}, {size - 1: {**each, "bias": 2.0}}]}
        for name, size in sizes.items()
    ]
    edges = [{"in -> conv": conv}, {"conv -> out": dense}, {"out -> out": sparse}]
    cores = [{name: {"core": f"{k}.{k}"}} for k, name in enumerate(sizes)]
    whole = {"network": {"name": "n", "groups": groups, "edges": edges}, "mappings": cores}
    text = json.dumps(whole)
    return [
        text.encode(),
        *(yaml.safe_dump(json.loads(text), default_flow_style=style).encode() for style in (False, None)),
    ]


def read_sanafe(path, _):
    from neuromap.exchange.from_sanafe import from_sanafe

    from_sanafe(path)


reader("sanafe", "a.yaml", make_sanafe, read_sanafe, needs=("yaml",))


# --------------------------------------------------------------------------------------------------- foreign programs


def ranc_kit(folder):
    """A program and its input for RANC's simulator and for its FPGA design."""
    from neuromap.exchange.to_ranc import export_ranc, export_ranc_vectors

    made = nm.map_rollout(nm.Rollout(network(), "streaming"), chip=small("ranc"))
    for found in (export_ranc(program(), frames=frames()), export_ranc_vectors(made, frames=frames())):
        for name, content in found.contents.items():
            (folder / name).write_text(content)


def of_kit(name):
    return lambda folder: [(folder / name).read_bytes()]


def read_ranc_json(path, _):
    from neuromap.formats.ranc import read_json

    read_json(path.with_name("config.json"), path.with_name("input.json"))


reader("ranc-config", "config.json", of_kit("config.json"), read_ranc_json, kit=ranc_kit)
reader("ranc-input", "input.json", of_kit("input.json"), read_ranc_json, kit=ranc_kit)


def read_vectors(path, _):
    from neuromap.formats.ranc import read_vectors

    read_vectors(path.parent, columns=2, output_bus=(1, 0))


for _file in (
    "csram_000.mem",
    "tc_000.mem",
    "tb_input.txt",
    "tb_num_inputs.txt",
    "tb_correct.txt",
    "tb_num_outputs.txt",
):
    reader(f"ranc-{_file.split('.')[0].replace('_', '-')}", _file, of_kit(_file), read_vectors, kit=ranc_kit)


def make_truenorth(_):
    kind = {
        "name": "N00000001",
        "class": "NeuronGeneral",
        "sigma0": 1,
        "sigma1": -1,
        "sigma2": 1,
        "sigma3": 1,
        "s0": 1,
        "s1": 1,
        "s2": 0,
        "s3": 0,
        "b0": False,
        "b1": False,
        "b2": False,
        "b3": False,
        "sigma_lambda": -1,
        "lambda": 0,
        "c_lambda": False,
        "epsilon": True,
        "alpha": 1,
        "beta": 0,
        "TM": 0,
        "gamma": 1,
        "kappa": False,
        "sigma_VR": 1,
        "VR": 0,
        "V": 0,
    }
    bits = np.packbits(np.eye(256, dtype=np.uint8), axis=1)
    rows = [{"type": f"S{k % 4}", "synapses": row.tobytes().hex(" ").upper()} for k, row in enumerate(bits)]
    neurons = {"dendrites": ["0:255"], "types": ["1x250", 0, "1x5"], "destAxons": ["255:-1:0"], "destDelays": ["1x256"]}
    cores = [
        {"id": k, "timeScaleExponent": 0, "neurons": {**neurons, "destCores": [to]}, "crossbar": {"name": "c1"}}
        for k, to in ((7, "70x256"), (70, "-32x256"))
    ]
    parts = [
        ("model", {"neuronclass": "NeuronGeneral", "crossbarclass": "CrossbarBinary", "crossbarSize": 256}),
        ("neuronTypes", [kind]),
        ("core", cores[0]),
        ("core", cores[1]),
        ("crossbarTypes", [{"name": "c1", "crossbar": {"rows": rows}}]),
    ]
    body = ",\n/* of it */\n".join(f'"{key}": {json.dumps(value)}' for key, value in parts)
    once = json.dumps(dict(parts))  # a tree that can be changed as one
    return [("{\n/* General */\n" + body + "}\n").encode(), once.encode()]


def read_truenorth(path, _):
    from neuromap.formats.truenorth import read_model

    read_model(path)


reader("truenorth", "model.json", make_truenorth, read_truenorth)
