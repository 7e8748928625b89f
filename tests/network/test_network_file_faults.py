"""Network files with one fault: one precise line each."""

import re

import pytest

from neuromap.errors import NetworkError
from neuromap.network import load_network


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1\n", "", "format: missing; allowed is 1"),
        ("format = 1\n", "format = 2\n", "format: found 2; allowed is 1"),
        ("format = 1\n", "format = true\n", "format: found True; allowed is 1"),
        ("format = 1\n", 'format = "1"\n', "format: found '1'; allowed is 1"),
        (
            'name = "all',
            'nmae = "all',
            "nodes, edges, weights, rollouts, inputs, training, work, made_for; did you mean 'name'?",
        ),
        ('name = "all transforms"', "name = 3", "name: found 3; allowed is a text"),
        ('name = "all transforms"', 'name = ""', "name: found ''; allowed is a text"),
        ('name = "all transforms"', 'name = "a\\nb"', "name: found 'a\\nb'; allowed is a text"),
        ('outputs = ["O", "A.b-c_1"]', "outputs = []", "outputs: found []; allowed is a list of one node or more"),
        ('outputs = ["O", "A.b-c_1"]', 'outputs = "O"', "outputs: found 'O'; allowed is a list of texts"),
        ('outputs = ["O", "A.b-c_1"]', 'outputs = ["O", 1]', "outputs: found ['O', 1]; allowed is a list of texts"),
        (
            'outputs = ["O", "A.b-c_1"]',
            'outputs = ["h1"]',
            "outputs: found ['h1']; allowed are names of nodes; did you mean 'H1'?",
        ),
        ('outputs = ["O", "A.b-c_1"]', 'outputs = ["O", "O"]', "outputs: node O is named twice"),
        ('outputs = ["O", "A.b-c_1"]', 'outputs = ["I"]', "outputs: node I is an input node"),
        (
            "[nodes.H1]\nshape = [2, 2, 4]",
            "[nodes.H1]\nshap = [2, 2, 4]",
            "nodes.H1.shap: unknown key; allowed are shape, threshold, neuron; did you mean 'shape'?",
        ),
        ("shape = [2, 2, 4]", "shape = [2, 2]", "nodes.H1.shape: found [2, 2]; allowed are three positive integers"),
        ("shape = [2, 2, 4]", "shape = [2, 2, 0]", "nodes.H1.shape: found [2, 2, 0]; allowed are three"),
        ("shape = [2, 2, 4]", "shape = [2, 2, 4.0]", "nodes.H1.shape: found [2, 2, 4.0]; allowed are three"),
        ("shape = [2, 2, 4]", "shape = [2, 2, true]", "nodes.H1.shape: found [2, 2, True]; allowed are three"),
        ("shape = [2, 2, 4]", "shape = 16", "nodes.H1.shape: found 16; allowed are three"),
        (
            "shape = [2, 2, 4]",
            "shape = [1000000000, 1, 1]",
            "nodes.H1.shape: [1000000000, 1, 1] is 1000000000 neurons; at most 2**24",
        ),
        ("shape = [2, 2, 4]\n", "", "nodes.H1.threshold: found -3; allowed is none without a shape"),
        ("shape = [2, 2, 4]\nthreshold = -3\n", "", "nodes.H1.shape: missing, while 3 of 4 nodes have a shape"),
        ("threshold = -3", "threshold = -3.0", "nodes.H1.threshold: found -3.0; allowed are integers from -2147483648"),
        ("threshold = -3", "threshold = nan", "nodes.H1.threshold: found nan; allowed are integers"),
        ("threshold = -3", "threshold = false", "nodes.H1.threshold: found False; allowed are integers"),
        ("threshold = -3", "threshold = 2147483648", "nodes.H1.threshold: found 2147483648; allowed are integers"),
        ("threshold = -3", "threshold = [1, 2]", "nodes.H1.threshold: found [1, 2]; allowed are integers"),
        (
            "shape = [4, 4, 2]",
            "shape = [4, 4, 2]\nthreshold = 1",
            "nodes.I.threshold: found 1; allowed is none: an input",
        ),
        (
            '[nodes."A.b-c_1"]',
            "[nodes.A.b]",
            "nodes.A.b: found a table; allowed are shape, threshold, neuron; "
            'quote a node name that holds a dot: [nodes."A.b"]',
        ),
        ('[nodes."A.b-c_1"]', '[nodes."A b"]', "nodes.\"A b\": found the name 'A b'; allowed are names of"),
        ('[nodes."A.b-c_1"]', '[nodes."é"]', "nodes.\"é\": found the name 'é'; allowed are names of"),
        ('[nodes."A.b-c_1"]', f'[nodes."{"x" * 101}"]', "allowed are names of 1 to 100 letters"),
        ('[nodes."A.b-c_1"]', "[nodes.A]", 'edges."I -> A.b-c_1": node A.b-c_1 does not exist; add [nodes."A.b-c_1"]'),
        (
            "[nodes.I]\nshape = [4, 4, 2]",
            "[nodes.I]\nshape = [4, 4, 2]\n[nodes.Z]\nshape = [1, 1, 1]",
            "node Z: has no edges",
        ),
        ('[edges."H1->O"]', '[edges."H1 => O"]', 'edges."H1 => O": found \'H1 => O\'; allowed is "A -> B"'),
        ('[edges."H1->O"]', '[edges."H1 -> O -> O"]', "edges.\"H1 -> O -> O\": found 'H1 -> O -> O'; allowed is"),
        ('[edges."H1->O"]', '[edges."H1 -> "]', "edges.\"H1 -> \": found 'H1 -> '; allowed is"),
        (
            '[edges."H1->O"]',
            '[edges."H2 -> O"]',
            "edges.\"H2 -> O\": node H2 does not exist; add [nodes.H2]; did you mean 'H1'?",
        ),
        (
            '[edges."H1 -> H1"]',
            '[edges."H1 -> O"]',
            'edges."H1 -> O": is edge H1 -> O a second time, after edges."H1->O"; no parallel edges',
        ),
        ('[edges."H1 -> H1"]', '[edges."H1->O"]', "is not TOML: Cannot declare"),
        (
            '[edges."H1->O"]',
            '[edges."A.b-c_1 -> O"]\n[edges."H1->O"]',
            'edges."A.b-c_1 -> O".transform: missing; allowed are "conv", "dense", "identity", "pool"',
        ),
        (
            'transform = "identity"',
            'transform = "identiti"',
            '.transform: found \'identiti\'; allowed are "conv", "dense", "identity", "pool"; did you mean \'identity',
        ),
        ('transform = "identity"', "transform = 3", 'edges."H1 -> H1".transform: found 3; allowed are'),
        (
            'transform = "identity"',
            'transform = "identity"\nkernal = [1, 1]',
            "allowed are transform, delay, current, also, kernel, stride, padding, groups, weights; "
            "did you mean 'kernel'?",
        ),
        (
            'transform = "identity"',
            'transform = "identity"\nkernel = [1, 1]',
            'edges."H1 -> H1".kernel: unknown key with transform = "identity"; allowed are transform',
        ),
        (
            'transform = "identity"',
            'transform = "identity"\nweights = { seed = 1, values = [1] }',
            "edges.\"H1 -> H1\".weights: found {'seed': 1, 'values': [1]}; allowed are none",
        ),
        (
            'transform = "dense"',
            'transform = "dense"\nstride = [1, 1]',
            'edges."H1->O".stride: unknown key with transform = "dense"; '
            "allowed are transform, delay, current, also, groups, weights",
        ),
        (
            "kernel = [3, 3]\n",
            "",
            'edges."I -> H1".kernel: missing; allowed are two integers [rows, columns]; a conv needs them',
        ),
        ("kernel = [3, 3]", "kernel = 3", 'edges."I -> H1".kernel: found 3; allowed are two integers [rows, columns]'),
        ("kernel = [3, 3]", "kernel = [3, 0]", 'edges."I -> H1".kernel: found [3, 0]; allowed are two'),
        ("kernel = [3, 3]", "kernel = [3, 3, 3]", 'edges."I -> H1".kernel: found [3, 3, 3]; allowed are two'),
        ("stride = [2, 2]", "stride = [2, 2.0]", 'edges."I -> H1".stride: found [2, 2.0]; allowed are two'),
        (
            "stride = [2, 2]",
            "stride = [1, 1]",
            'edges."I -> H1": conv: target shape [2, 2, 4] does not fit; kernel [3, 3]',
        ),
        (
            'padding = "same"',
            'padding = "full"',
            'edges."I -> H1".padding: found \'full\'; allowed are "same", "valid"',
        ),
        (
            'padding = "same"',
            "padding = [1, -1, 1]",
            'edges."I -> H1": padding: found [1, -1, 1]; allowed are "same", "valid" and four integers',
        ),
        ("groups = 2", "groups = 0", 'edges."I -> H1".groups: found 0; allowed are integers from 1'),
        ("groups = 2", "groups = 4", 'edges."I -> H1": groups: 4 does not divide the 2 features of the source'),
        (
            "weights = { seed = 7, values = [-1, 0, 1] }",
            "weights = 3",
            'edges."I -> H1".weights: found 3; allowed is a table',
        ),
        (
            "seed = 7",
            "sed = 7",
            "edges.\"I -> H1\".weights.sed: unknown key; allowed are seed, values; did you mean 'seed'?",
        ),
        ("seed = 7, ", "", 'edges."I -> H1".weights.seed: missing; allowed are integers from 0 to 9223372036854775807'),
        ("seed = 7", "seed = -7", 'edges."I -> H1".weights.seed: found -7; allowed are'),
        (
            "values = [-1, 0, 1]",
            "values = []",
            'edges."I -> H1".weights.values: found []; allowed is a list of 1 to 65536 integers',
        ),
        ("values = [-1, 0, 1]", "values = [0.5]", 'edges."I -> H1".weights.values: found [0.5]; allowed is'),
        (
            "values = [-1, 0, 1]",
            "values = [2147483648]",
            'edges."I -> H1".weights.values: found [2147483648]; allowed is',
        ),
        ("values = [-1, 0, 1]", f"values = [{'1' * 5000}]", "holds a number of too many digits"),
        (
            "[rollouts.hybrid]",
            "[rollouts.streaming]",
            "rollouts.streaming: every network has the pattern streaming of its own",
        ),
        ("[rollouts.hybrid]", "[made_for]\nchip = 3\n[rollouts.hybrid]", "made_for.'chip': found 3; allowed is chip"),
        (
            "[rollouts.hybrid]",
            "[made_for]\ncore = 'x'\n[rollouts.hybrid]",
            "made_for.'core': found 'x'; allowed is chip",
        ),
        ("[rollouts.hybrid]", "[rollouts.sequential]", "rollouts.sequential: every network has the pattern sequential"),
        (
            "[rollouts.hybrid]",
            '[rollouts."my pattern"]',
            "rollouts.\"my pattern\": found the name 'my pattern'; allowed are names",
        ),
        (
            "[rollouts.none]\nstreaming = []",
            "[rollouts.none]",
            "rollouts.none.streaming: missing; allowed is a list of texts",
        ),
        ("[rollouts.none]\nstreaming = []", "[rollouts]\nnone = []", "rollouts.none: found []; allowed is a table"),
        (
            "streaming = []",
            "stream = []",
            "rollouts.none.stream: unknown key; allowed are streaming, bridging; did you mean 'streaming'?",
        ),
        (
            "streaming = []",
            'streaming = ["H1 -> 0"]',
            "rollouts.none.streaming: edge H1 -> 0 does not exist; did you mean 'H1 -> O'?",
        ),
        ("streaming = []", 'streaming = ["H1 -> O", "H1->O"]', "rollouts.none.streaming: edge H1 -> O is named twice"),
        (
            "streaming = []",
            'streaming = ["H1 -> O"]\nbridging = { "H1 -> O" = 2 }',
            "rollouts.none.bridging: edge H1 -> O is named twice",
        ),
        (
            "streaming = []",
            'streaming = []\nbridging = { "H1 -> O" = 1 }',
            'rollouts.none.bridging."H1 -> O": found 1; allowed are integers from 2 to 10000',
        ),
        ("streaming = []", "streaming = []\nbridging = 2", "rollouts.none.bridging: found 2; allowed is a table"),
        ("streaming = []", 'streaming = ["H1"]', "rollouts.none.streaming: found 'H1'; allowed is \"A -> B\""),
        ("[rollouts.none]", "[weights]\n[rollouts.none]", "weights.file: missing; allowed is a text"),
        ("[rollouts.none]", '[weights]\npath = "x"\n[rollouts.none]', "weights.path: unknown key; allowed are file"),
        ("[rollouts.none]", '[weights]\nfile = ""\n[rollouts.none]', "weights.file: found ''; allowed is a text"),
        (
            '[nodes."A.b-c_1"]\nshape = [2, 2, 2]\nthreshold = 1',
            '[nodes."A.b-c_1"]\nshape = [2, 2, 2]\nthreshold = 2',
            "node A.b-c_1: threshold 2 after edge I -> A.b-c_1, a pool and its only edge; OR-pooling needs threshold 1",
        ),
        ("format = 1\n", "format = 1\nname = \n", "line 3, column 8: is not TOML: Invalid value"),
        ("[rollouts.none]", "[rollouts.none", "is not TOML: "),
    ],
)
def test_every_fault_is_one_line_with_its_key(refusal, full_file, old, new, message):
    assert full_file.count(old) >= 1
    text = full_file.replace(old, new, 1)
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "format: missing; allowed is 1"),
        ("format = 1\n", "network net: has no edges"),
        ("format = 1\nedges = 3\n", "edges: found 3; allowed is a table"),
        ('format = 1\nedges = ["I -> O"]\n', "edges: found ['I -> O']; allowed is a table"),
        ('format = 1\nedges."I -> O" = 3\n', 'edges."I -> O": found 3; allowed is a table'),
        ("format = 1\nnodes = []\n", "nodes: found []; allowed is a table"),
        ("format = 1\nnodes.I = 3\n", "nodes.I: found 3; allowed is a table"),
        ('format = 1\nedges."A -> B" = {}\nedges."B -> A" = {}\n', "network net: has no input node"),
        ('format = 1\nedges."I -> O" = {}\nedges."B -> B" = {}\n', "node B: no input node (I) reaches it"),
        ('format = 1\nedges."I -> O".kernel = [1, 1]\n', 'edges."I -> O".kernel: found [1, 1]; allowed is nothing'),
        ('format = 1\nedges."I -> O" = {}\nweights.file = "w"\n', "weights.file: found 'w'; allowed is none"),
        (b"format = 1\n# \xff\n", "line 2: byte 0xff is not UTF-8; expected a TOML file"),
        (b"\x89PNG\r\n\x1a\n", "is a PNG picture; expected a network file (TOML)"),
        (b"\x00", "line 1, column 1: is not TOML"),
    ],
)
def test_files_that_are_no_networks(refusal, text, message):
    assert message in refusal(text)


def test_paths_that_are_no_files(tmp_path):
    for path, message in [
        (tmp_path / "absent.toml", "does not exist"),
        (tmp_path, "is a folder; expected a network file (TOML)"),
        (tmp_path / ("x" * 300), "cannot be read"),
        ("a\x00b", "is not a path"),
    ]:
        with pytest.raises(NetworkError, match=re.escape(message)):
            load_network(path)


def test_files_too_large_or_too_deep(refusal):
    assert "is larger than 16 MiB" in refusal(b"#" * (2**24 + 1))
    assert "nested too deep" in refusal("format = 1\nx = " + "[" * 100_000)


def test_an_endless_file_is_refused():
    with pytest.raises(NetworkError, match="is not a regular file"):
        load_network("/dev/zero")


def test_a_matrix_too_large_is_refused_when_the_file_is_read(refusal):
    text = "format = 1\nnodes.I.shape = [1, 1, 16777216]\nnodes.O.shape = [1, 1, 17]\n"
    message = refusal(text + 'edges."I -> O".transform = "dense"\n')
    assert message.startswith(
        'edges."I -> O": dense: from [1, 1, 16777216] to [1, 1, 17] takes up to 285212672 weights'
    )
