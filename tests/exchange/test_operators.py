"""An operator of PyTorch or ONNX computes what these libraries compute, or is not read."""

import warnings

import numpy as np
import pytest

from neuromap.errors import NotSupportedError
from neuromap.exchange.layers.calibrate import _computed
from neuromap.formats.layers import simplified

RNG = np.random.default_rng(0)


def ours(graph, x):
    """What the graph gives for x; ``None`` where an operator was not read."""
    (name,) = graph.inputs
    try:
        found = [values for _, values in _computed(simplified(graph), {name: x}, set(graph.outputs))]
    except NotSupportedError:
        return None
    return np.asarray(found[0]) if found else None


def check(mine, theirs, *, must, exact=1e-5):
    assert mine is not None or not must
    if mine is not None:
        assert mine.size == theirs.size
        assert np.allclose(mine.ravel(), np.asarray(theirs, np.float64).ravel(), rtol=exact, atol=exact)


# PyTorch: shapes of the input, and functions of modules torch, torch.nn and torch.nn.functional and an input.

PICTURE, ROW, STACK = (1, 2, 5, 6), (1, 5), (1, 4, 6)
TORCH = {
    PICTURE: {
        "means": lambda t, n, f, x: f.avg_pool2d(x, 3, 2, 1),
        "means, whole windows": lambda t, n, f, x: f.avg_pool2d(x, 2, 2, 0, True),
        "means, whole padded windows": lambda t, n, f, x: f.avg_pool2d(x, 3, 2, 1, True),
        "means without padding": lambda t, n, f, x: f.avg_pool2d(x, 3, 2, 1, True, False),
        "maxima": lambda t, n, f, x: f.max_pool2d(x - 5, 3, 2, 1),
        "maxima, whole windows": lambda t, n, f, x: f.max_pool2d(x, 2, 2, 0, 1, True),
        "maxima apart": lambda t, n, f, x: f.max_pool2d(x, 2, 1, 0, 2),
        "means of parts": lambda t, n, f, x: f.adaptive_avg_pool2d(x, (5, 3)),
        "maxima of parts": lambda t, n, f, x: f.adaptive_max_pool2d(x, (1, 2)),
        "mean": lambda t, n, f, x: x.mean((1, -1)),
        "sum": lambda t, n, f, x: x.sum(3, keepdim=True),
        "maximum": lambda t, n, f, x: x.amax((2, 3)),
        "slice": lambda t, n, f, x: x[:, :, ::2, 1:-1],
        "select": lambda t, n, f, x: x.select(-1, -2),
        "transpose": lambda t, n, f, x: x.movedim(1, -1).mT,
        "pad": lambda t, n, f, x: f.pad(x, (1, 2, 0, 1)),
        "pad with a value": lambda t, n, f, x: f.pad(x, (1, 2, 0, 1), value=1.5),
        "pad with a value, by mode": lambda t, n, f, x: f.pad(x, (1, 0), "constant", -2.5),
        "convolution": lambda t, n, f, x: n.Conv2d(2, 4, (3, 2), (1, 2), (1, 0), groups=2, dilation=(2, 1))(x),
        "convolution of equal size": lambda t, n, f, x: n.Conv2d(2, 3, (2, 3), padding="same")(x),
        "transposed convolution": lambda t, n, f, x: n.ConvTranspose2d(2, 4, 3, 2, 1, 1, groups=2)(x),
        "batch normalisation": lambda t, n, f, x: f.batch_norm(x, t.tensor([1.0, 2]), t.tensor([3.0, 4]), eps=0.1),
        "unbind": lambda t, n, f, x: x.unbind(2)[1] - x.chunk(2, 3)[0].sum(3, keepdim=True).unbind(2)[0],
    },
    ROW: {
        "clamp": lambda t, n, f, x: x.clamp(0.1, 0.5),
        "clamp below": lambda t, n, f, x: x.clamp(min=0.2),
        "clamp above": lambda t, n, f, x: t.clamp_max(x, 0.3),
        "clamp, wrong way round": lambda t, n, f, x: x.clamp(0.5, 0.1),
        "hardtanh": lambda t, n, f, x: f.hardtanh(x, -0.2, 0.4),
        "reversed difference": lambda t, n, f, x: t.rsub(t.arange(5.0) - x, 2),
        "quotient": lambda t, n, f, x: x / t.arange(1.0, 6.0),
        "where": lambda t, n, f, x: t.where(x >= 0, t.arange(5.0), t.tensor(-1.0)),
        "heaviside": lambda t, n, f, x: t.heaviside(x - x[:, :1].sum() * 0, t.tensor(0.5)),
        "rounding": lambda t, n, f, x: ((3 * x).ceil() / 2).round(),
        "rounding down": lambda t, n, f, x: ((3 * x).trunc() / 2).floor().sign(),
        "truncation": lambda t, n, f, x: (3 * x).to(t.int32).float(),
        "truth as a byte": lambda t, n, f, x: (x > 0.1).to(t.int8).float(),
        "linear": lambda t, n, f, x: n.Linear(5, 3)(x),
        "sum and product": lambda t, n, f, x: t.addmm(t.arange(3.0), x, t.ones(5, 3)),
        "dropout": lambda t, n, f, x: f.alpha_dropout(f.dropout(x, 0.5, False), 0.5, False),
    },
    STACK: {
        "stack": lambda t, n, f, x: t.stack([x, 1 - x], -1).flatten(2),
        "concatenation": lambda t, n, f, x: t.cat([x, 2 * x], -2),
        "index": lambda t, n, f, x: x.index_select(2, t.tensor([3, 0, 0])),
        "views": lambda t, n, f, x: x.unflatten(1, (2, 2)).reshape(1, -1, 3).unsqueeze(2).squeeze(2),
        "narrow": lambda t, n, f, x: x.narrow(2, 1, 3),
        "convolution of rows": lambda t, n, f, x: n.Conv1d(4, 3, 3, padding=1)(x),
        "means of rows": lambda t, n, f, x: f.avg_pool1d(x, 3, 2, 1, True),
    },
}
TORCH_UNREAD = {
    PICTURE: {
        "another divisor": lambda t, n, f, x: f.avg_pool2d(x, 2, 2, 0, False, True, 7),
        "uneven parts": lambda t, n, f, x: f.adaptive_avg_pool2d(x, 3),
        "mirrored": lambda t, n, f, x: f.pad(x, (1, 1, 1, 1), "reflect"),
        "cropped": lambda t, n, f, x: f.pad(x, (-1, 1)),
        "twice the size": lambda t, n, f, x: f.interpolate(x, scale_factor=2),
        "normalised by itself": lambda t, n, f, x: f.instance_norm(x),
        "minimum": lambda t, n, f, x: x.amin(2),
        "norm": lambda t, n, f, x: x.norm(dim=2),
        "repeated": lambda t, n, f, x: x.repeat(1, 2, 1, 1),
        "turned": lambda t, n, f, x: x.flip(3),
        "shuffled": lambda t, n, f, x: f.pixel_unshuffle(x[..., :4, :], 2),
    },
    ROW: {
        "dropout in training": lambda t, n, f, x: f.dropout(x, 0.9, True),
        "rounding to digits": lambda t, n, f, x: t.round(x, decimals=1),
        "bytes that wrap around": lambda t, n, f, x: (300 * x).to(t.uint8).float(),
        "sum of integers": lambda t, n, f, x: (3 * x).sum(1, dtype=t.int32).float(),
        "factor of a sum": lambda t, n, f, x: t.add(x, t.arange(5.0), alpha=3),
        "factors of a product": lambda t, n, f, x: t.addmm(t.arange(3.0), x, t.ones(5, 3), beta=2, alpha=0.5),
        "quotient, rounded": lambda t, n, f, x: t.div(3 * x, 2, rounding_mode="floor"),
        "remainder": lambda t, n, f, x: t.remainder(3 * x, 2) + t.fmod(3 * x, 2),
        "either": lambda t, n, f, x: t.where(t.tensor([True, False, True, True, False]), x, t.zeros(5)),
        "masked": lambda t, n, f, x: x.masked_fill(x > 0, 0.3),
        "equal": lambda t, n, f, x: (x == x.round()).float() + x.bool().float(),
        "inverse": lambda t, n, f, x: 1 / (x + 5),
        "threshold": lambda t, n, f, x: f.threshold(x, 0.3, 0.7),
    },
}
CASES = [
    pytest.param(shape, forward, must, id=name)
    for table, must in ((TORCH, True), (TORCH_UNREAD, False))
    for shape, cases in table.items()
    for name, forward in cases.items()
]


@pytest.mark.parametrize(("shape", "forward", "must"), CASES)
def test_operators_of_pytorch_compute_what_it_computes(shape, forward, must):
    torch = pytest.importorskip("torch")
    from neuromap.formats.pytorch.module_graph import read_module

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            made = []

            class Kept:
                """``torch.nn`` whose layers are those of the first call."""

                def __getattr__(_, name):
                    def layer(*given, **named):
                        if not made:
                            self.layer = getattr(torch.nn, name)(*given, **named)
                            made.append(self.layer)
                        return made[0]

                    return layer

            self.layers = Kept()

        def forward(self, x):
            return forward(torch, self.layers, torch.nn.functional, x)

    torch.manual_seed(0)
    x, net = torch.randn(shape), Net().eval()
    with torch.no_grad():
        theirs = net(x).numpy()
    check(ours(read_module(net, x), x.numpy()), theirs, must=must)


# ONNX: operator, shape of the input, constants behind it, attributes. Against the reference that ONNX brings.


def _onnx(op, shape, *constants, opset=19, **attributes):
    return op, shape, constants, opset, attributes


def _a(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def _i(*values):
    return np.array(values, np.int64)


IMAGE = (1, 2, 6, 5)
REDUCED = ("ReduceMean", "ReduceSum", "ReduceMax")
SLIDING = {"kernel_shape": [3, 2], "strides": [2, 2]}
ONNX = {
    **{f"{op} {pad}": _onnx(op, IMAGE, auto_pad=pad, **SLIDING) for op in ("AveragePool", "MaxPool")
       for pad in ("NOTSET", "SAME_UPPER", "VALID")},
    "AveragePool SAME_LOWER": _onnx("AveragePool", IMAGE, auto_pad="SAME_LOWER", **SLIDING),  # as maxima, whose
    # reference pads at the other side than the standard and ONNX Runtime
    **{f"{op} {pad}": _onnx(op, IMAGE, _a(*weights), auto_pad=pad, **SLIDING) for pad in ("SAME_UPPER", "SAME_LOWER")
       for op, weights in {"Conv": (3, 2, 3, 2), "ConvTranspose": (2, 3, 3, 2)}.items()},
    **{f"means, padding {counts}, ceiling {ceil}, {pads}": _onnx(
        "AveragePool", IMAGE, kernel_shape=[2, 3], strides=[2, 2], pads=pads, count_include_pad=counts, ceil_mode=ceil)
       for counts in (0, 1) for ceil in (0, 1) for pads in ([0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0])},
    "means apart": _onnx("AveragePool", IMAGE, kernel_shape=[2, 2], dilations=[2, 1], count_include_pad=1, ceil_mode=1),
    "maxima apart": _onnx("MaxPool", IMAGE, kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 0, 0, 1], ceil_mode=1),
    "mean of all": _onnx("GlobalAveragePool", IMAGE), "maximum of all": _onnx("GlobalMaxPool", IMAGE),
    **{f"{op} along": _onnx(op, IMAGE, opset=11, axes=[2, -1], keepdims=0) for op in REDUCED},
    **{f"{op} along an input": _onnx(op, IMAGE, _i(2, -1), opset=18) for op in REDUCED},
    **{f"{op} along no axis": _onnx(op, IMAGE, _i(), opset=18, noop_with_empty_axes=noop)
       for op, noop in zip(REDUCED, (0, 1, 0), strict=True)},
    "pad": _onnx("Pad", IMAGE, _i(0, 0, 1, 2, 0, 0, 0, 1), np.float32(1.5)),
    "pad of old": _onnx("Pad", IMAGE, opset=2, pads=[0, 0, 1, 0, 0, 0, 1, 1], value=2.0),
    "bounds": _onnx("Clip", (1, 7), np.float32(-0.5), np.float32(0.5)),
    "bounds, wrong way round": _onnx("Clip", (1, 7), np.float32(0.5), np.float32(-0.5)),
    **{f"to type {to}": _onnx("Cast", (1, 7), to=to) for to in (1, 6, 7, 11)},
    **{f"{op} with {k}": _onnx(op, (1, 3, 4), k) for k in (_a(4), np.float32(0.3))
       for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")},
    "normalised": _onnx("BatchNormalization", IMAGE, _a(2), _a(2), _a(2), np.float32([0.5, 2]), opset=15, epsilon=0.01),
    "Gemm": _onnx("Gemm", (1, 4), _a(3, 4), _a(3), transB=1, alpha=0.5, beta=2.0),
    "Gemm, one bias": _onnx("Gemm", (1, 4), _a(4, 3), _a(1, 1), alpha=0.3),
    "MatMul": _onnx("MatMul", (1, 2, 4), _a(4, 3)),
    "grouped": _onnx("Conv", IMAGE, _a(4, 1, 3, 3), _a(4), group=2, pads=[1, 0, 0, 1], dilations=[1, 2]),
    "transposed": _onnx("ConvTranspose", IMAGE, _a(2, 3, 3, 3), _a(3), strides=[2, 2], pads=[1, 1, 0, 1],
                        output_padding=[1, 0]),
    "slice": _onnx("Slice", (1, 5, 6), _i(-3), _i(99), _i(2)),
    "slice backwards": _onnx("Slice", (1, 5, 6), _i(-1), _i(-6), _i(1), _i(-2)),
    "gather": _onnx("Gather", (1, 5, 6), _i(3, 0, -1), axis=1),
    "reshape": _onnx("Reshape", (1, 2, 6), _i(0, 3, -1)), "flatten": _onnx("Flatten", (1, 2, 3)),
    "dropout": _onnx("Dropout", (1, 5), np.float32(0.5), np.array(False)),
}  # fmt: skip
ONNX_UNREAD = {
    **{f"to type {to}": _onnx("Cast", (1, 7), to=to) for to in (2, 3, 5, 9)},
    **{f"pad, {mode}": _onnx("Pad", IMAGE, _i(0, 0, 1, 2, 0, 0, 0, 1), mode=mode) for mode in ("reflect", "edge")},
    "last window in the padding": _onnx(
        "AveragePool", IMAGE, kernel_shape=[2, 3], strides=[2, 2], pads=[0, 1, 1, 0], ceil_mode=1
    ),
    "pad some axes": _onnx("Pad", IMAGE, _i(1, 2), np.float32(0.5), _i(3)),
    "axis of columns": _onnx("Flatten", (1, 2, 3), axis=2),
    "dropout in training": _onnx("Dropout", (1, 5), np.float32(0.9), np.array(True)),
    "transposed input": _onnx("Gemm", (1, 4), _a(1, 3), transA=1),
    "remainder": _onnx("Mod", (1, 5), np.float32(0.3), fmod=1),
    "power": _onnx("Pow", (1, 5), np.float32(2)),
    "twice": _onnx("Resize", (1, 1, 3, 3), _i(), np.float32([1, 1, 2, 2]), mode="nearest"),
    "smallest": _onnx("ReduceMin", IMAGE, _i(2), opset=18),
}


@pytest.mark.parametrize(
    ("case", "must"), [pytest.param(case, must, id=name) for table, must in ((ONNX, True), (ONNX_UNREAD, False))
                       for name, case in table.items()]
)  # fmt: skip
def test_operators_of_onnx_compute_what_its_reference_computes(case, must, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    from neuromap.formats.onnx.file_graph import read_onnx

    op, shape, constants, opset, attributes = case
    kept = [numpy_helper.from_array(np.asarray(array), f"k{n}") for n, array in enumerate(constants)]
    names = [
        "x",
        *(
            one.name if array.size or op != "Resize" else ""
            for one, array in zip(kept, map(np.asarray, constants), strict=True)
        ),
    ]
    source = [helper.make_tensor_value_info("x", 1, shape)]

    def model(output):
        graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "g", source, [output], kept)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)

    x = RNG.normal(size=shape).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = np.asarray(ReferenceEvaluator(model(helper.make_empty_tensor_value_info("y"))).run(None, {"x": x})[0])
    kind = helper.np_dtype_to_tensor_dtype(theirs.dtype)
    onnx.save(model(helper.make_tensor_value_info("y", kind, theirs.shape)), tmp_path / "net.onnx")
    check(ours(read_onnx(tmp_path / "net.onnx"), x), theirs, must=must)


def test_rounding_to_short_floats_is_noted(tmp_path):
    onnx = pytest.importorskip("onnx")
    import neuromap as nm

    weights = onnx.numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    nodes = [
        onnx.helper.make_node("Cast", ["x"], ["h"], to=onnx.TensorProto.FLOAT16, name="short"),
        onnx.helper.make_node("Cast", ["h"], ["f"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("Gemm", ["f", "w"], ["y"], transB=1),
    ]
    ends = [[onnx.helper.make_tensor_value_info(name, 1, (1, n))] for name, n in (("x", 4), ("y", 3))]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", *ends, [weights])), tmp_path / "net.onnx")
    found = nm.from_onnx(tmp_path / "net.onnx")
    said = ("rounding", "to float16 in short is left out, so values may differ")
    assert said in [(one.about, one.text) for one in found.approximated]
    assert "rounding" not in [one.about for one in found.refused]
