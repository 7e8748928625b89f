"""Random quantised ONNX graphs: every operator that becomes graded nodes, with all that it can be told."""

import numpy as np

FAMILIES = ("powers", "scales", "integers")
"""QDQ graphs whose scales are powers of two, QDQ graphs of any scales, and graphs of QLinear operators."""


class Graph:
    """An ONNX graph while it grows; every method gives the name of a tensor of integers."""

    def __init__(self, family, seed, shape=None):
        self.rng, self.family = np.random.default_rng(seed), family
        self.nodes, self.stored, self.known = [], [], {}
        self.shape = shape or (1, int(self.rng.integers(1, 5)), *self.rng.integers(4, 9, 2).tolist())
        self.kind = np.uint8 if self.rng.random() < 0.5 else np.int8
        self.tensors = []
        self.q = family == "integers"

    def name(self, word):
        return f"{word}{len(self.nodes)}"

    def constant(self, value, word="c"):
        from onnx import numpy_helper

        name = f"{word}_{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, reads, shape=None, **attributes):
        from onnx import helper

        name = self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, reads, [name], name=name, **attributes))
        return name

    def scale(self, low=0.002, high=0.2):
        if self.family == "powers":
            return np.float32(2.0 ** self.rng.integers(-6, -1))
        return np.float32(np.exp(self.rng.uniform(np.log(low), np.log(high))))

    def zero(self, kind=None):
        info = np.iinfo(kind or self.kind)
        return np.asarray(
            self.rng.choice([info.min, 0 if info.min else 128, self.rng.integers(info.min, info.max + 1)]),
            kind or self.kind,
        )

    # tensors of integers

    def hold(self, tensor, shape, scale, zero):
        self.known[tensor] = (tuple(int(n) for n in shape), scale, zero)
        self.tensors.append(tensor)
        return tensor

    def input(self):
        scale, zero = self.scale(0.01), self.zero()
        if self.q:
            return self.hold("x", self.shape, scale, zero)
        return self.hold(
            self.op("QuantizeLinear", ["x", self.constant(scale), self.constant(zero)]), self.shape, scale, zero
        )

    def real(self, tensor):
        _, scale, zero = self.known[tensor]
        return self.op("DequantizeLinear", [tensor, self.constant(scale), self.constant(zero)])

    def integers(self, real, shape, scale=None, zero=None):
        scale, zero = self.scale() if scale is None else scale, self.zero() if zero is None else zero
        return self.hold(
            self.op("QuantizeLinear", [real, self.constant(scale), self.constant(zero)]), shape, scale, zero
        )

    def weights(self, shape, features_axis=0):
        """Integers, scales and zero points, per feature mostly."""
        integers = self.rng.integers(-127, 128, shape).astype(np.int8)
        integers[self.rng.random(shape) < 0.2] = 0
        if self.rng.random() < 0.3:
            scale, zero = self.scale(0.001, 0.02), np.zeros((), np.int8)
        else:
            n = shape[features_axis]
            scale = np.array([self.scale(0.001, 0.02) for _ in range(n)], np.float32)
            zero = np.zeros(n, np.int8)
        return integers, scale, zero

    def fitting(self, x_scale, w_scale, fan_in):
        """A scale of the output that uses much of its range."""
        typical = 70 * 50 * np.sqrt(fan_in) * float(x_scale) * float(np.mean(w_scale)) / self.rng.uniform(40, 80)
        return np.float32(2.0 ** np.round(np.log2(typical))) if self.family == "powers" else np.float32(typical)

    def bias(self, n, x_scale, w_scale):
        """int32 in units of the sum, with its scale."""
        scale = (
            np.broadcast_to((x_scale * w_scale).astype(np.float32), (n,)) if np.size(w_scale) > 1 else x_scale * w_scale
        )
        return self.rng.integers(-2000, 2000, n).astype(np.int32), np.asarray(scale, np.float32)

    def activation(self, real):
        choice = self.rng.integers(4)
        if choice == 0:
            return self.op("Relu", [real])
        if choice == 1:
            return self.op("Clip", [real, self.constant(np.float32(0)), self.constant(np.float32(6))])
        return real

    def dequantised(self, integers, scale, zero, axis):
        return self.op(
            "DequantizeLinear", [self.constant(integers, "w"), self.constant(scale), self.constant(zero)], axis=axis
        )

    def conv(self, tensor, **fixed):
        shape, x_scale, _ = self.known[tensor]
        rng, c = self.rng, shape[1]
        groups = int(rng.choice([1, 1, c])) if "groups" not in fixed else fixed["groups"]
        features = groups * int(rng.integers(1, 4)) if "features" not in fixed else fixed["features"]
        kernel = (
            [int(rng.integers(1, min(4, n) + 1)) for n in shape[2:]] if "kernel" not in fixed else [fixed["kernel"]] * 2
        )
        dilation = [
            int(rng.integers(1, 3)) if k > 1 and (k - 1) * 2 < n else 1 for k, n in zip(kernel, shape[2:], strict=True)
        ]
        if "kernel" in fixed:
            dilation = [1, 1]
        stride = [int(n) for n in rng.integers(1, 4, 2)] if "stride" not in fixed else [fixed["stride"]] * 2
        pads = [int(n) for n in rng.integers(0, 3, 4)] if "pad" not in fixed else [fixed["pad"]] * 4
        out = [
            (n + pads[k] + pads[k + 2] - (kernel[k] - 1) * dilation[k] - 1) // stride[k] + 1
            for k, n in enumerate(shape[2:])
        ]
        w, ws, wz = self.weights((features, c // groups, *kernel))
        said = {"strides": stride, "pads": pads, "dilations": dilation, "group": groups, "kernel_shape": kernel}
        y_scale = self.fitting(x_scale, ws, c // groups * kernel[0] * kernel[1])
        b, bs = self.bias(features, x_scale, ws)
        return self._weighted("Conv", tensor, w, ws, wz, b, bs, y_scale, (1, features, *out), said, fixed)

    def _weighted(self, kind, tensor, w, ws, wz, b, bs, y_scale, shape, said, fixed=None):
        _, x_scale, x_zero = self.known[tensor]
        biased = self.rng.random() < 0.7
        if self.q and kind != "Gemm":
            y_zero = self.zero()
            q = [
                tensor,
                *(self.constant(v) for v in (x_scale, x_zero)),
                self.constant(w, "w"),
                *(self.constant(v) for v in (ws, wz, y_scale, y_zero)),
            ]
            if kind == "Conv":
                made = self.op("QLinearConv", [*q, *([self.constant(b, "b")] if biased else [])], **said)
            else:
                made = self.op("QLinearMatMul", q)
            return self.hold(made, shape, y_scale, y_zero)
        axis = 1 if kind == "MatMul" or (kind == "Gemm" and not said.get("transB")) else 0
        reads = [self.real(tensor), self.dequantised(w, ws, wz, axis)]
        if biased and kind != "MatMul":
            reads.append(self.dequantised(b, bs, np.zeros(bs.shape, np.int32), 0))
        real = self.op(kind, reads, **said)
        if (fixed or {}).get("open"):
            return real, shape
        real = self.activation(real) if fixed is None or "plain" not in fixed else real
        return self.integers(real, shape, y_scale)

    def dense(self, tensor, n=None):
        shape, x_scale, _ = self.known[tensor]
        n = n or int(self.rng.integers(1, 6))
        if self.q or len(shape) != 2 or self.rng.random() < 0.5:
            w, ws, wz = self.weights((shape[-1], n), 1)
            y_scale = self.fitting(x_scale, ws, shape[-1])
            return self._weighted("MatMul", tensor, w, ws, wz, None, None, y_scale, (*shape[:-1], n), {})
        turned = int(self.rng.integers(2))
        w, ws, wz = self.weights((n, shape[1]) if turned else (shape[1], n), 1 - turned)
        y_scale = self.fitting(x_scale, ws, shape[1])
        b, bs = self.bias(n, x_scale, ws)
        return self._weighted("Gemm", tensor, w, ws, wz, b, bs, y_scale, (1, n), {"transB": turned})

    def flatten(self, tensor):
        shape, scale, zero = self.known[tensor]
        made = self.op("Flatten", [tensor])
        return self.hold(made, (1, int(np.prod(shape))), scale, zero)

    def transpose(self, tensor):
        shape, scale, zero = self.known[tensor]
        order = [0, *(self.rng.permutation(len(shape) - 1) + 1).tolist()]
        made = self.op("Transpose", [tensor], perm=order)
        return self.hold(made, [shape[k] for k in order], scale, zero)

    def window(self, shape):
        most = 2 if self.family == "powers" else 3
        kernel = [int(self.rng.integers(1, min(most, n) + 1)) for n in shape[2:]]
        stride = [int(n) for n in self.rng.integers(1, 3, 2)]
        pads = [int(self.rng.integers(0, k)) for k in kernel] * 2
        out = [(n + pads[k] + pads[k + 2] - kernel[k]) // stride[k] + 1 for k, n in enumerate(shape[2:])]
        return {"kernel_shape": kernel, "strides": stride, "pads": pads}, (*shape[:2], *out)

    def max_pool(self, tensor):
        shape, scale, zero = self.known[tensor]
        said, out = self.window(shape)
        if said["strides"] == [1, 1]:  # there the reference (onnx 1.23) misplaces padding, and has NaN in integers
            said = {"kernel_shape": said["kernel_shape"], "strides": [2, 2]}
            out = (*shape[:2], *((n - k) // 2 + 1 for n, k in zip(shape[2:], said["kernel_shape"], strict=True)))
        if self.q or self.rng.random() < 0.3:
            return self.hold(self.op("MaxPool", [tensor], **said), out, scale, zero)
        real = self.op("MaxPool", [self.activation(self.real(tensor))], **said)
        if self.rng.random() < 0.5:
            return self.integers(real, out, scale, zero)
        return self.integers(real, out)

    def average_pool(self, tensor):
        if self.q:
            return tensor
        shape, scale, _ = self.known[tensor]
        if self.rng.random() < 0.3 and self.family == "scales":
            real = self.op("GlobalAveragePool", [self.real(tensor)])
            return self.integers(real, (*shape[:2], 1, 1), scale if self.family == "scales" else None)
        said, out = self.window(shape)
        real = self.op("AveragePool", [self.real(tensor)], count_include_pad=int(self.rng.integers(2)), **said)
        return self.integers(real, out)

    def add(self, one, other, relu=None):
        shape, scale, _ = self.known[one]
        real = self.op("Add", [self.real(one), self.real(other)])
        real = self.activation(real) if relu is None else self.op("Relu", [real]) if relu else real
        return self.integers(
            real, shape, None if self.family == "powers" else np.float32(scale * self.rng.uniform(0.7, 2))
        )

    def concat(self, one, other, axis=1):
        shape = self.known[one][0]
        more = self.known[other][0]
        out = tuple(n + more[k] if k == axis else n for k, n in enumerate(shape))
        real = self.op("Concat", [self.real(one), self.real(other)], axis=axis)
        return self.integers(real, out)

    def norm(self, tensor):
        """A convolution with batch normalisation after it."""
        real, shape = self.conv(tensor, open=True)
        n = shape[1]
        parts = [
            self.rng.uniform(0.5, 2, n) * self.rng.choice([-1, 1], n),
            self.rng.normal(size=n),
            self.rng.normal(size=n),
            self.rng.uniform(0.5, 2, n),
        ]
        real = self.op("BatchNormalization", [real, *(self.constant(p.astype(np.float32)) for p in parts)])
        return self.integers(self.activation(real), shape)

    def transposed(self, tensor, k=None, stride=None):
        shape = self.known[tensor][0]
        features, k, stride = (
            int(self.rng.integers(1, 4)),
            k or int(self.rng.integers(1, 4)),
            stride or int(self.rng.integers(1, 3)),
        )
        w, ws, wz = self.weights((shape[1], features, k, k), 1)
        reads = [self.real(tensor), self.dequantised(w, ws, wz, 1)]
        real = self.op("ConvTranspose", reads, strides=[stride, stride])
        return self.integers(real, (1, features, *((n - 1) * stride + k for n in shape[2:])))

    def model(self, output):
        from onnx import TensorProto, helper

        kind = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}[self.kind]
        inputs = [helper.make_tensor_value_info("x", kind if self.q else TensorProto.FLOAT, self.shape)]
        outputs = [helper.make_tensor_value_info(output, kind, self.known[output][0])]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)

    def shown(self, n=3):
        """Inputs: integers, or reals of which some lie beyond the range."""
        if self.q:
            info = np.iinfo(self.kind)
            return [self.rng.integers(info.min, info.max + 1, self.shape).astype(self.kind) for _ in range(n)]
        _, scale, _ = self.known[self.tensors[0]]
        return [(self.rng.normal(size=self.shape) * float(scale) * 100).astype(np.float32) for _ in range(n)]


def random_graph(family, seed):
    """Make a graph of a few random operators, and the name of its output."""
    graph = Graph(family, seed)
    rng, tensor = graph.rng, graph.input()
    if graph.q:
        tensor = graph.conv(tensor)
    for _ in range(int(rng.integers(1, 5))):
        shape = graph.known[tensor][0]
        if len(shape) != 4 or min(shape[2:]) < 2:
            break
        choices = ["conv", "conv", "max_pool", "average_pool"]
        choices += [] if graph.q else ["residual", "concat", "norm", "transposed"]
        if family == "powers":
            choices.remove("norm")
        choice = str(rng.choice(choices))
        if choice == "residual":
            other = graph.conv(tensor, features=shape[1], groups=1, kernel=3, stride=1, pad=1)
            tensor = graph.add(tensor, other)
        elif choice == "concat":
            other = graph.conv(tensor, groups=1, features=2, kernel=3, stride=1, pad=1)
            tensor = graph.concat(tensor, other)
        else:
            tensor = getattr(graph, choice)(tensor)
    if rng.random() < 0.2:
        tensor = graph.transpose(tensor)
    if rng.random() < 0.6:
        tensor = graph.dense(graph.flatten(tensor))
    elif rng.random() < 0.2 and not graph.q:
        tensor = graph.dense(tensor)
    return graph, tensor


def resnet(family, seed, bottleneck=False):
    """A small member of the residual networks, of basic blocks or of bottlenecks."""
    graph = Graph(family, seed, (1, 3, 16, 16))
    x = graph.conv(graph.input(), features=6, groups=1, kernel=3, stride=1, pad=1)
    x = graph.integers(graph.op("MaxPool", [graph.real(x)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
                       (1, 6, 8, 8), *graph.known[x][1:])  # fmt: skip
    for features, stride in ((6, 1), (8, 2), (10, 2)):
        for k in range(2):
            step = stride if k == 0 else 1
            y = x
            if bottleneck:
                y = graph.conv(y, features=4, groups=1, kernel=1, stride=1, pad=0)
                y = graph.conv(y, features=4, groups=1, kernel=3, stride=step, pad=1)
                y = graph.conv(y, features=features, groups=1, kernel=1, stride=1, pad=0, plain=True)
            else:
                y = graph.conv(y, features=features, groups=1, kernel=3, stride=step, pad=1)
                y = graph.conv(y, features=features, groups=1, kernel=3, stride=1, pad=1, plain=True)
            if step > 1 or graph.known[x][0][1] != features:
                x = graph.conv(x, features=features, groups=1, kernel=1, stride=step, pad=0, plain=True)
            x = graph.add(y, x, relu=True)
    shape, scale, zero = graph.known[x]
    x = graph.integers(graph.op("GlobalAveragePool", [graph.real(x)]), (*shape[:2], 1, 1), scale, zero)
    return graph, graph.dense(graph.flatten(x), 10)


def mobilenet(family, seed):
    """Inverted residuals: features made more, weighed one by one, made fewer again."""
    graph = Graph(family, seed, (1, 3, 12, 12))
    x = graph.conv(graph.input(), features=4, groups=1, kernel=3, stride=2, pad=1)
    for features, stride in ((4, 1), (6, 2), (6, 1)):
        y = graph.conv(x, features=12, groups=1, kernel=1, stride=1, pad=0)
        y = graph.conv(y, features=12, groups=12, kernel=3, stride=stride, pad=1)
        y = graph.conv(y, features=features, groups=1, kernel=1, stride=1, pad=0, plain=True)
        x = graph.add(x, y, relu=False) if stride == 1 and graph.known[x][0][1] == features else y
    return graph, graph.dense(graph.flatten(graph.conv(x, features=8, groups=1, kernel=1, stride=1, pad=0)), 10)


def unet(family, seed):
    """Two levels down and up, with skips that are concatenated."""
    graph = Graph(family, seed, (1, 2, 12, 12))
    x, skips = graph.input(), []
    for features in (4, 6):
        x = graph.conv(x, features=features, groups=1, kernel=3, stride=1, pad=1)
        skips.append(x)
        shape, scale, zero = graph.known[x]
        real = graph.op("MaxPool", [graph.real(x)], kernel_shape=[2, 2], strides=[2, 2])
        x = graph.integers(real, (*shape[:2], shape[2] // 2, shape[3] // 2), scale, zero)
    x = graph.conv(x, features=8, groups=1, kernel=3, stride=1, pad=1)
    for skip in reversed(skips):
        x = graph.transposed(x, 2, 2)
        x = graph.conv(graph.concat(x, skip), features=4, groups=1, kernel=3, stride=1, pad=1)
    return graph, graph.conv(x, features=3, groups=1, kernel=1, stride=1, pad=0, plain=True)


def token_mlp(family, seed):
    """The linear parts of a transformer's block: two matrices over every token, and a residual."""
    graph = Graph(family, seed, (1, 7, 8))
    x = graph.input()
    for _ in range(2):
        y = graph.dense(graph.dense(x, 16), 8)
        x = graph.add(x, y, relu=False)
    return graph, x
