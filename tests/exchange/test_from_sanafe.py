"""Networks of SANA-FE: what its soma computes, in doubles, is what comes in; other files are refused in one line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, NeuromapError, NotSupportedError
from neuromap.exchange.formats import import_file
from neuromap.mapping.options.options import Pins
from neuromap.simulation.reference_frames import reference
from neuromap.simulation.stimulus import random_frames

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")


def soma(groups, edges, steps):
    """SANA-FE's leaky_integrate_fire, in its order and its doubles (src/models.cpp); spikes by group and step."""
    state = {name: np.array(of["potential"], float) for name, of in groups.items()}
    rest = {name: np.zeros(len(v), int) for name, v in state.items()}
    fired = {name: np.zeros((steps + 1, len(v)), bool) for name, v in state.items()}
    for step in range(1, steps + 1):
        for name, of in groups.items():
            v = state[name] * (of["leak_decay"] if step > 1 else 1.0)
            v = np.trunc(v * 64.0) / 64.0
            heard = sum((w.T @ fired[u][step - 1] for u, t, w in edges if t == name), np.zeros(len(v)))
            free = rest[name] == 0
            v = np.where(free, v + of["bias"] + heard, v)
            fires = free & (v > of["threshold"])
            after = v - of["threshold"] if of["reset_mode"] == "soft" else of["reset"]
            v = np.where(fires, after, v)
            floor = of["reverse_threshold"] if of["reverse_reset_mode"] == "saturate" else -np.inf
            state[name] = np.where(free, np.maximum(v, floor), v)
            rest[name] = np.maximum(np.where(fires, of["refractory_delay"], rest[name]) - 1, 0)
            fired[name][step] = fires
    return fired


SHARED = ("leak_decay", "reset_mode", "reverse_reset_mode")


@st.composite
def files(draw):
    """A source, a convolution after it, a dense group and a sparse one, whole or in parts of 64."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    unit, leaks = draw(st.sampled_from([(1, [1.0]), (1, [1.0, 0.0]), (1 / 64, [4095 / 4096, 0.75, 1.0])]))
    sizes = {"in": 25, "conv": 18, "dense": 4, "sparse": 3}
    groups = {}
    for name, size in sizes.items():
        leak = float(rng.choice(leaks))
        groups[name] = {
            # the chip's thresholds are whole; a little more changes nothing where it is only compared
            "threshold": rng.integers(0, 90, size) * 1.0 if unit == 1 else rng.integers(0, 3, size) + 0.001,
            "bias": rng.integers(0, 60, size) * unit * (name == "in"),
            "potential": rng.integers(-50, 50, size) * unit * (leak == 1),
            "refractory_delay": rng.integers(0, 4, size),
            "leak_decay": leak,
            "reset": np.zeros(size),
            "reverse_threshold": np.full(size, -60.0),
            "reset_mode": "hard",
            "reverse_reset_mode": "none",
        }
        if draw(st.booleans()):
            mode = str(rng.choice(["hard", "soft"]))
            groups[name] |= {"reset_mode": mode, "reverse_reset_mode": "saturate", "refractory_delay": np.zeros(size)}
            groups[name] |= {"reset": rng.integers(-20, 1, size) * unit}
            if mode == "soft":
                groups[name]["threshold"] = rng.integers(0, 180, size) * max(unit, 1 / 32) / 2
    kernel = rng.integers(-60, 90, (3, 3, 1, 2))
    conv = np.zeros((25, 18))
    for c, y, x, ky, kx in np.ndindex(2, 3, 3, 3, 3):
        conv[(y + ky) * 5 + x + kx, c * 9 + y * 3 + x] = kernel[ky, kx, 0, c]
    dense, pairs = rng.integers(-40, 60, (18, 4)), rng.integers(0, [4, 3], (5, 2))
    weights, sparse = rng.integers(-40, 90, 5), np.zeros((4, 3))
    np.add.at(sparse, tuple(pairs.T), weights)
    edges = [("in", "conv", conv * unit), ("conv", "dense", dense * unit), ("dense", "sparse", sparse * unit)]
    said = []
    for name, of in groups.items():
        neurons = [
            {k: {key: float(of[key][k]) for key in of if key not in SHARED}} for k in range(len(of["threshold"]))
        ]
        said.append(
            {"name": name, "attributes": {"log_spikes": True} | {key: of[key] for key in SHARED}, "neurons": neurons}
        )
    hyper = [
        {"in -> conv": {
            "type": "conv2d", "input_width": 5, "input_height": 5, "input_channels": 1, "kernel_width": 3,
            "kernel_height": 3, "kernel_count": 2, "weight": (kernel * unit).ravel().tolist(),
        }},
        {"conv -> dense": [{"type": "dense"}, {"weight": (dense * unit).ravel().tolist()}]},
        {"dense -> sparse": {
            "type": "sparse", "source_target_pairs": pairs.tolist(), "weight": (weights * unit).tolist(),
        }},
    ]  # fmt: skip
    cores = [{name: {"core": f"{k}.{k}"}} for k, name in enumerate(groups)]
    return yaml.safe_dump({"network": {"name": "n", "groups": said, "edges": hyper}, "mappings": cores}), groups, edges


def taken(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("sanafe") / "net.yaml"
    path.write_text(text)
    return import_file(path)


@given(file=files())
@settings(deadline=None, max_examples=20)
def test_what_comes_in_fires_as_the_soma_does(file, tmp_path_factory):
    text, groups, edges = file
    found = taken(tmp_path_factory, text)
    rollout = nm.Rollout(found.network, "streaming")
    ours = reference(rollout, random_frames(found.network, 41))
    theirs = soma(groups, edges, 40)
    conv = np.arange(18).reshape(2, 3, 3).transpose(1, 2, 0).ravel()
    for name in groups:
        wanted = theirs[name][:, conv] if name == "conv" else theirs[name]
        assert np.array_equal(ours[name], wanted), name
    if any(of["reverse_reset_mode"] == "saturate" for of in groups.values()):
        return  # which the neurons of stock chips have not all
    program = nm.map_rollout(rollout, "loihi1", keep="all", pins=Pins(neurons=found.cores), placer="row-major")
    checked = nm.verify(rollout, program, n_frames=40, threads=1)
    assert checked.verified, checked.message
    # tile k is in column k // 4 and row k % 4 of tiles, core k of it in column k // 2 and row k % 2
    place = {name: k // 4 * 2 + k // 2 + 16 * (k % 4 * 2 + k % 2) for k, name in enumerate(groups)}
    assert {name: set(of.tolist()) for name, of in found.cores.items()} == {n: {c} for n, c in place.items()}


def test_sums_beyond_the_widths_of_the_chip_are_told(tmp_path_factory):
    """SANA-FE's voltages and currents have no width: it spikes where four weights of 60000 meet in a step."""
    for weight, is_told in ((60000, True), (30000, False)):
        text = (
            "network: {name: n, groups: [{name: s, attributes: {threshold: 5, bias: 1}, neurons: [0..3]}, "
            "{name: a, attributes: {threshold: 9}, neurons: [0]}], "
            f"edges: [{{s -> a: {{type: dense, weight: [{weight}, {weight}, {weight}, {weight}]}}}}]}}"
        )
        notes = {note.about: note.text for note in taken(tmp_path_factory, text).approximated}
        assert "voltages stop at +-131072" in notes["widths"]
        assert notes.get("a") == ("its weights may add up to 240000 in a step, which is beyond" if is_told else None)


GROUP = "{name: a, attributes: {threshold: 1, bias: 2}, neurons: [0..1]}"
EDGE = "a -> a: {type: dense, weight: [1, 2, 3, 4]}"


def written(group=GROUP, edge=EDGE, mapping=""):
    return f"network: {{name: n, groups: [{group}], edges: [{edge}]}}\nmappings: [{mapping}]\n"


def pairs_of(listed):
    return f"a -> a: {{type: sparse, source_target_pairs: {listed}, weight: [1]}}"


BAD = {
    "another file": (
        "# Read me\n\n[text](&a) of *things*",
        InputError,
        "has no key 'network', so it is not a network of",
    ),
    "no yaml": ("{", InputError, "is not YAML"),
    "a list": ("[1]", InputError, "file: found .*; needs a table"),
    "anchors": ("network: &x {a: *x}", InputError, "has YAML anchors or aliases"),
    "tags": ("network: !!python/object/apply:os.system [ls]", InputError, "network: found .*; needs a table"),
    "deep": ("network: " + "[" * 40 + "]" * 40, InputError, "nested more than 32 deep"),
    "no groups": ("network: {edges: []}", InputError, "network.groups: found .*; needs a list"),
    "reset": (
        written(GROUP.replace("bias: 2", "reset: 0.3")),
        NotSupportedError,
        "reset = 0.3 is not a multiple of 1/64",
    ),
    "threshold": (
        written(GROUP.replace("bias: 2", "reset_mode: soft").replace("threshold: 1", "threshold: 0.3")),
        NotSupportedError,
        "threshold = 0.3 is not a multiple of 1/64",
    ),
    "leak": (written(GROUP.replace("bias: 2", "leak_decay: 1.5")), NotSupportedError, "leak_decay = 1.5 .*; 0 to 1 is"),
    "mode": (written(GROUP.replace("bias: 2", "reset_mode: up")), NotSupportedError, "reset_mode up is not taken over"),
    "unknown": (written(GROUP.replace("bias", "wobble")), NotSupportedError, "attribute wobble"),
    "number": (written(GROUP.replace("2}", "two}")), InputError, "found 'two'; needs a number"),
    "weights": (written(edge=EDGE.replace(", 4", "")), InputError, "has 3 weights; needs 4"),
    "delay": (written(edge=EDGE.replace("{", "{delay: 2, ")), NotSupportedError, "has delays in dendrites"),
    "half": (written(edge="a.0 -> a: {weight: 1}"), InputError, "at one end only"),
    "group": (written(edge="a -> b: {type: dense, weight: [1]}"), InputError, "group 'b' does not exist"),
    "UTF-16": (written().encode("utf-16"), InputError, "is not text in UTF-8"),
    "alias after a colon": ('network: {"a":*x}', InputError, "has YAML anchors or aliases"),
    "alias after a line separator": ("network: [\u2028*x]", InputError, "has YAML anchors or aliases"),
    "same key": (written(GROUP.replace("bias", "threshold")), InputError, "'threshold' is given twice"),
    "same attribute": (
        written(GROUP.replace("{threshold: 1, bias: 2}", "[bias: 1, bias: 2]")),
        InputError,
        "'bias' is",
    ),
    "two weights": (written(edge=EDGE.replace("{", "{w: 1, ")), InputError, "'weight' is given twice"),
    "underscore": (written(GROUP.replace("2}", "1_0}")), InputError, "found '1_0'; needs a number"),
    "key of a group": (written(GROUP.replace("{name", "{size: 3, name")), NotSupportedError, "group a: key 'size'"),
    "key of the network": (written().replace("{name: n", "{seed: 1"), NotSupportedError, "network: key 'seed'"),
    "key of a mapping": (written(mapping="a: {core: 0.0, at: 1}"), NotSupportedError, "mappings a: key 'at'"),
    "neuron twice": (written(GROUP.replace("0..1", "0..1, 1..1")), InputError, "neurons: found 3, not numbered"),
    "half a neuron": (written(edge=pairs_of("[[0, 0.7]]")), InputError, "found '0.7'; needs a whole number"),
    "three ends": (written(edge=pairs_of("[[0, 0, 1], [1, 0, 0]]")), InputError, "needs a list of pairs"),
    "flat pairs": (written(edge=pairs_of("[0, 0]")), InputError, "needs a list of pairs"),
    "lists of weights": (
        written(edge="a -> a: {type: dense, weight: [[1], [2], [3], [4]]}"),
        InputError,
        "found lists in a list; needs a list of numbers",
    ),
    "same name": (written(f"{GROUP}, {GROUP}"), InputError, "two have the name 'a'"),
    "empty lines": ("\n" * 400_000, InputError, "has no key 'network'|file: found"),  # took time by their square
    "many keys": (
        f"network: {{{', '.join(f'a{k}: 1' for k in range(60_000))}, z: 1, z: 2}}",
        InputError,
        "'z' is given twice",
    ),
    "attributes": (
        written(f"{{name: a, attributes: {{{', '.join(f'a{k}: 1' for k in range(17))}}}, neurons: [0..4000000]}}"),
        InputError,
        "group a: with it neurons have more than 67108864 attributes",
    ),
    "cores again and again": (
        written("{name: a, neurons: [0..4000000]}", pairs_of("[[0, 1]]"), mapping=", ".join(["a: {core: 0.0}"] * 4)),
        InputError,
        "mappings a: neurons have cores again and again",
    ),
    "a matrix": (
        written("{name: a, neurons: [0..40000]}", pairs_of("[[0, 1]]")),
        NotSupportedError,
        "with it matrices have 1600080001 entries; at most 67108864",
    ),
    "map": (written(mapping="a.7: {core: 0.0}"), InputError, "needs neurons of 2, and core"),
}


@pytest.mark.parametrize("fault", BAD)
def test_other_files_are_refused_in_one_line(fault, tmp_path):
    text, error, message = BAD[fault]
    path = tmp_path / "bad.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error, match=message) as refused:
        import_file(path)
    assert "\n" not in str(refused.value)
    assert "bad.yaml" in str(refused.value)


@given(cut=st.integers(0, 900), put=st.binary(max_size=4), file=files())
@settings(deadline=None, max_examples=40)
def test_damaged_files_end_in_our_errors(cut, put, file, tmp_path_factory):
    data = file[0].encode()[:2000]
    path = tmp_path_factory.mktemp("damaged") / "net.yaml"
    path.write_bytes(data[:cut] + put + data[cut + len(put) :])
    try:
        import_file(path)
    except NeuromapError as error:
        assert "\n" not in str(error)  # noqa: PT017 # either is right
