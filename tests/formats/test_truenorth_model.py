"""Model files of TrueNorth: made here in the form of the two public ones, they run as their cores say."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, NeuromapError, NotSupportedError
from neuromap.formats.truenorth import read_model, runs
from neuromap.simulation.run.simulate import run_events

KIND = {
    "class": "NeuronGeneral", "sigma0": 1, "sigma1": -1, "sigma2": 1, "sigma3": 1, "s0": 1, "s1": 1, "s2": 0, "s3": 0,
    "b0": False, "b1": False, "b2": False, "b3": False, "sigma_lambda": -1, "lambda": 0, "c_lambda": False,
    "epsilon": True, "alpha": 1, "beta": 0, "TM": 0, "gamma": 1, "kappa": False, "sigma_VR": 1, "VR": 0, "V": 0,
}  # fmt: skip


def identity():
    """Rows of a crossbar that passes line k to neuron k: the first neuron is the highest bit."""
    bits = np.packbits(np.eye(256, dtype=np.uint8), axis=1)
    return [{"type": "S0", "synapses": row.tobytes().hex(" ").upper()} for row in bits]


def core(number, dest_core, **changes):
    neurons = {"dendrites": ["0:255"], "types": ["1x256"], "destCores": [dest_core], "destAxons": ["0:255"]}
    return {
        "id": number,
        "timeScaleExponent": 0,
        "neurons": neurons | {"destDelays": ["1x256"]} | changes,
        "crossbar": {"name": "coreProt0000001"},
    }


def text(cores, kinds=None, rows=None, **model):
    about = {"neuronclass": "NeuronGeneral", "crossbarclass": "CrossbarBinary", "crossbarSize": 256} | model
    types = [{"name": "coreProt0000001", "crossbar": {"rows": identity() if rows is None else rows}}]
    kinds = [{"name": "N00000001", **KIND}] if kinds is None else kinds
    parts = [("model", about), ("crossbarTypes", types), ("neuronTypes", kinds), *(("core", value) for value in cores)]
    body = ',\n/* Parameters " of */\n'.join(f'"{key}": {json.dumps(value)}' for key, value in parts)
    return "{\n/* General */\n" + body + "}\n"


@pytest.fixture
def model(tmp_path):
    def model(*arguments, **options):
        (tmp_path / "model.json").write_text(text(*arguments, **options))
        return read_model(tmp_path / "model.json")

    return model


def test_lines_pass_through_two_cores_and_leave_at_a_port(model):
    """Core 7 passes 256 lines to core 70 in reverse order, which sends them to the port -32."""
    program = model([core(7, "70x256", destAxons=["255:-1:0"], destDelays=["3x256"]), core(70, "-32x256")])
    assert program.coordinates.tolist() == [[7, 0], [6, 1]]
    assert [(port.name, port.kind) for port in program.nodes] == [("port -32", "output")]
    lines = np.array([0, 3, 255])
    tick, where, neuron = run_events(program, [2, 2, 4], [0, 0, 0], lines, 10, engine="numpy")
    seen = list(zip(tick.tolist(), where.tolist(), neuron.tolist(), strict=True))
    assert seen == [(2, 0, 0), (2, 0, 3), (4, 0, 255), (5, 1, 252), (5, 1, 255), (7, 1, 0)]


def test_types_dendrites_and_rows_are_those_of_the_file(model):
    """Neuron k reads column 255 - k; type 26 is N0000001A; S1 takes 1 off; a type that is not there never spikes."""
    two = [{"name": "N0000001A", **KIND, "alpha": 2, "VR": 3, "sigma_VR": -1, "gamma": 0, "kappa": True, "beta": 9}]
    rows = identity()
    rows[5]["type"] = "S1"
    types = ["26x250", 0, "26x5"]
    program = model([core(0, "-1x256", dendrites=["255:-1:0"], types=types)], kinds=two, rows=rows)
    assert program.neurons.threshold[0, :3].tolist() == [2, 2, 2]
    assert program.neurons.reset[0, 0] == -7
    assert (program.neurons.negative_threshold[0, 0], program.neurons.saturate_negative[0, 0]) == (9, True)
    assert not program.neurons.weights[0, 250].any()
    assert (program.axon_types[0] == 1).nonzero()[0].tolist() == [5]
    bits = np.unpackbits(program.crossbar[0], axis=1, bitorder="little")
    assert np.array_equal(bits, np.eye(256, dtype=np.uint8)[:, ::-1])
    assert (program.target_core == -1).all()
    assert not program.nodes


def test_stochastic_modes_are_kept(model):
    kinds = [{"name": "N00000001", **KIND, "TM": 4, "c_lambda": True, "b2": True}]
    neurons = model([core(0, "-1x256")], kinds=kinds).neurons
    assert neurons.noise_bits[0, 0] == 4
    assert neurons.stochastic_leak.all()
    assert neurons.stochastic_weight[0, 0].tolist() == [False, False, True, False]


@given(st.lists(st.integers(-99, 99), min_size=1, max_size=40))
@settings(deadline=None, max_examples=100)
def test_runs_are_written_out(numbers):
    """However numbers are joined into runs, they are the same numbers."""
    words = []
    for number in numbers:
        words += [f"{number}x1", f"{number}:{number}", f"{number}:7:{number}", number, f"{number}:-1:{number - 2}"]
    expected = [value for n in numbers for value in (n, n, n, n, n, n - 1, n - 2)]
    assert runs(words, "here", len(expected), -200, 200) == expected


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"types": ["1x255"]}, "types: found 255; needs 256 numbers"),
        ({"types": ["1x999999999"]}, "types: found more; needs 256 numbers"),
        ({"types": ["0:999999999"]}, "types: found more"),
        ({"types": ["0:0:255"]}, "needs a step other than 0"),
        ({"types": ["1y256"]}, "types: found '1y256'; needs an integer"),
        ({"types": [1.5]}, "types: found 1.5"),
        ({"types": 3}, "types: found 3; needs an array"),
        ({"destAxons": ["1:256"]}, "destAxons: found 256; needs an integer 0 to 255"),
        ({"destCores": ["5000x256"]}, "destCores: found 5000; needs an integer"),
        ({"destCores": ["0x256"], "destDelays": ["16x256"]}, "rule delay-range"),
        ({"dendrites": ["-1:254"]}, "dendrites: found -1"),
    ],
)
def test_what_is_no_core_gets_one_line(changes, words, model):
    with pytest.raises(InputError) as caught:
        model([core(0, "-32x256", **changes)])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cores": []}, "core: found 0"),
        ({"cores": [core(1, "-1x256"), core(1, "-1x256")]}, "core: found 2 of 1 ids"),
        ({"cores": [core(9999, "-1x256")]}, "id: found 9999"),
        ({"rows": identity()[:9]}, "needs 256 rows"),
        ({"rows": [{"type": "S4", "synapses": ""}] * 256}, "need types S0 to S3"),
        ({"rows": [{"type": "S0", "synapses": "0G"}] * 256}, "hexadecimal"),
        ({"rows": [{"type": "S0", "synapses": "00"}] * 256}, "found 8 bits of synapses"),
        ({"kinds": [{"name": "N00000001"}]}, "needs an object with sigma0"),
        ({"kinds": [{"name": "N00000001", **KIND, "sigma2": 2}, ]}, "sigma2: found 2"),
        ({"kinds": [{"name": "N00000001", **KIND, "alpha": 2**18}]}, "alpha: found 262144"),
        ({"kinds": [{"name": "N00000001", **KIND, "TM": 9}]}, "rule noise-bits"),
        ({"crossbarSize": 128}, "crossbarSize: found 128; only 256 is read"),
        ({"neuronclass": "NeuronX"}, "neuronclass: found 'NeuronX'"),
        ({"cores": [core(0, "-1x256") | {"timeScaleExponent": 1}]}, "timeScaleExponent: found 1"),
        ({"cores": [core(0, "-1x256") | {"crossbar": {"name": "no"}}]}, "crossbar 'no' is not a crossbar type"),
    ],
)  # fmt: skip
def test_what_is_no_model_gets_one_line(given, words, model):
    with pytest.raises(NeuromapError) as caught:
        model(**{"cores": [core(0, "-1x256")], **given})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damaged",
    [
        "", "{", "[]", "3", "NaN", '{"model": NaN}', "/*" * 50_000, '"' + '\\"' * 50_000, "[" * 50_000,
        '{"model": {"a": 1, "a": 2}}', '{"core": ' * 3_000, "\ufeff{}", '{"a": ' + "9" * 5_000 + "}",
    ],
)  # fmt: skip
def test_what_is_no_text_of_a_model_gets_one_line(damaged, tmp_path):
    (tmp_path / "model.json").write_text(damaged)
    with pytest.raises(InputError) as caught:
        read_model(tmp_path / "model.json")
    assert str(caught.value).startswith(str(tmp_path / "model.json"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("depth", [100, 480, 900, 20_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_what_nests_is_refused_in_one_line_however_deep(opening, closing, depth, tmp_path):
    (tmp_path / "model.json").write_text(f'{{"model": {opening * depth}1{closing * depth}}}')
    with pytest.raises(InputError) as caught:
        read_model(tmp_path / "model.json")
    assert str(caught.value).startswith(str(tmp_path / "model.json"))


def test_truncated_files_get_one_line_and_other_chips_are_refused(tmp_path):
    whole = text([core(0, "-32x256")])
    said = []
    for k in range(50):
        (tmp_path / "model.json").write_text(whole[: k * len(whole) // 50])
        with pytest.raises(InputError) as caught:
            read_model(tmp_path / "model.json")
        said.append(str(caught.value))
    assert all(line and "\n" not in line for line in said)
    (tmp_path / "model.json").write_text(whole)
    with pytest.raises(NotSupportedError, match="give truenorth"):
        read_model(tmp_path / "model.json", chip="loihi1")
