"""Tables that a network file carries for others come back as they went, and change nothing that is computed."""

import datetime
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NetworkError
from neuromap.jobs.results_file import Fingerprint
from neuromap.network.network import plain_table

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PLAIN = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False))
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
TABLES = st.dictionaries(TEXTS, VALUES, max_size=3)
ENCODER = {"code": "layer", "kernel": [3, 3], "encoder": np.ones((3, 3, 1, 2), np.float32),
           "encoder.threshold": np.array([0.5, -1], np.float32)}  # fmt: skip


def network(**tables):
    nodes = {"I.1": ((2, 2, 2), None), "J": (2, None), "O": (2, 1)}
    made = nm.build_network(nodes, {("I.1", "O"): np.ones((2, 8), int), ("J", "O"): np.eye(2, dtype=int)})
    return replace(made, tables=tables)


def digest(network):
    fingerprint = Fingerprint("")
    fingerprint.add_network(network)
    return fingerprint.text()


@settings(deadline=None, max_examples=60)
@given(inputs=TABLES, training=TABLES, node=TABLES)
def test_any_plain_table_comes_back_read_only(tmp_path_factory, inputs, training, node):
    given = {"inputs": {"I.1": {**inputs, "code": "any"}, "J": {}}, "training": {**training, "nodes": {"O": node}}}
    path = tmp_path_factory.mktemp("tables") / "net.toml"
    replace(network(**given), name="renamed").save(path)
    again = nm.load_network(path)
    assert plain_table(again.tables) == given
    with pytest.raises(TypeError):
        again.tables["inputs"]["J"]["noise"] = 1.0
    assert digest(network(**given)) == digest(network())


def test_weights_of_an_encoding_layer_lie_in_the_weights_file(tmp_path):
    path = tmp_path / "net.toml"
    network(inputs={"I.1": ENCODER}).save(path)
    table = nm.load_network(path).tables["inputs"]["I.1"]
    for key in ("encoder", "encoder.threshold"):
        assert key not in path.read_text()
        assert table[key].dtype == np.float32
        assert not table[key].flags.writeable
        np.testing.assert_array_equal(table[key], ENCODER[key])
    path.write_text(path.read_text().replace('code = "layer"\n', ""))
    with pytest.raises(NetworkError, match=r"tensor 'I.1.encoder': the network does not use it"):
        nm.load_network(path)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"input": {}}, "table 'input': is unknown; allowed are inputs, training"),
        ({"inputs": 3}, "inputs: found 3; allowed is a table"),
        ({"inputs": {"O": {}}}, "inputs.O: input node 'O' does not exist; allowed are I.1, J"),
        ({"inputs": {"j": {}}}, "inputs.j: input node 'j' does not exist; allowed are I.1, J; did you mean 'J'?"),
        ({"inputs": {"J": 1}}, "inputs.J: found 1; allowed is a table"),
        ({"training": {"nodes": {"P": {}}}}, "training.nodes.P: node 'P' does not exist; allowed are I.1, J, O"),
        ({"training": {"day": datetime.date(2018, 6, 13)}}, "training.day: found datetime.date(2018, 6, 13); allowed"),
        ({"training": {"seed": 2**63}}, "training.seed: found 9223372036854775808; allowed are integers of 64 bits"),
        ({"training": {"name": "\ud800"}}, "training.name: found '\\ud800'; allowed is text that UTF-8 can write"),
        ({"training": {"x": np.ones(2)}}, "training.x: found an array; allowed are texts"),
        ({"inputs": {"J": {"encoder": np.ones((1, 1, 1, 1))}}}, "inputs.J: holds weights of an encoder; allowed with"),
    ],
)
def test_wrong_tables_are_refused_in_one_line(tables, message):
    with pytest.raises(NetworkError, match=re.escape(message)) as caught:
        network(**tables)
    assert "\n" not in str(caught.value)
