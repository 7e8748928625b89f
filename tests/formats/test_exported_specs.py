"""Descriptions of PyTorch programs name nothing that PyTorch would import."""

import json

import pytest

from neuromap.errors import NotSupportedError
from neuromap.formats.pytorch.exported_file import _check_operators


def spec(kind, context):
    return {"type": kind, "context": context, "children_spec": []}


@pytest.mark.parametrize(
    "told",
    [
        json.dumps([1, spec("collections.defaultdict", "{}")], separators=(",", ":")),
        json.dumps([1, spec("own.Type", "null")]).replace('"type"', '"\\u0074ype"'),
        json.dumps([1, spec("builtins.dict", json.dumps([{"__enum__": True, "fqn": "this:s", "name": "x"}]))]),
    ],
)
def test_what_would_be_imported_is_refused(told):
    with pytest.raises(NotSupportedError, match="holds the type"):
        _check_operators({"signature": {"in_spec": told}})


def test_tuples_and_dictionaries_are_read():
    nested = spec("builtins.tuple", "null") | {"children_spec": [spec("builtins.dict", '["a", "b"]')]}
    _check_operators({"in_spec": json.dumps([1, nested]), "out_spec": None})
