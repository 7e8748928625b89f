"""Published schemas: sound, each with a name, an identity and a number of its own, all on one page."""

import re
from pathlib import Path

import jsonschema
import pytest

import neuromap as nm
from neuromap.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", nm.list_schemas())
def test_a_schema_is_sound_and_its_identity_has_its_name_and_number(name):
    schema = nm.load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"].startswith("neuromap ")
    assert schema["description"].endswith(".")
    found = re.fullmatch(r"urn:neuromap:([a-z0-9-]+):(\d+)", schema["$id"])
    assert found is not None
    assert found[1] == name  # so that no two have the same
    formats = [format_of(one) for one in [schema, *schema.get("anyOf", ())]]
    for numbers in filter(None, formats):
        assert max(numbers) == int(found[2])
    schema["title"] = "mine"
    assert nm.load_schema(name)["title"] != "mine"


def format_of(schema):
    """Numbers of the formats that a schema allows."""
    given = schema.get("properties", {}).get("format", {})
    texts = [given["const"]] if "const" in given else given.get("enum", [])
    return [int(re.search(r"(\d+)$", text)[1]) for text in texts]


def test_the_page_lists_every_schema_with_its_identity_and_file():
    if not (ROOT / "docs" / "schemas.md").exists():
        pytest.skip("docs/ is not here: it is no part of the wheel")
    page = (ROOT / "docs" / "schemas.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(([^)]+)\) \| `([\w:-]+)` \| .+ \|$", page, re.MULTILINE)
    assert {name: identity for name, _, identity in rows} == {
        name: nm.load_schema(name)["$id"] for name in nm.list_schemas()
    }
    for name, link, _ in rows:
        file = (ROOT / "docs" / link).resolve()
        assert file.name == f"{name}.schema.json"
        assert file.is_relative_to(ROOT / "neuromap")
        assert file.exists()


def test_an_unknown_schema_is_refused():
    for name in ("repot", 3, None):
        with pytest.raises(InputError, match="is not known; known are accuracy, bench"):
            nm.load_schema(name)
