"""Published schemas: sound, each with a name, an identity and a number of its own, all on one page."""

import json
import re
import tomllib
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


def published(name):
    file = ROOT / "docs" / "schemas" / f"{name}.schema.json"
    if not file.exists():
        pytest.skip("docs/ is not here: it is not part of the wheel")
    return json.loads(file.read_text(encoding="utf-8"))


def in_any_order(part):
    """A schema in which the order of required names does not matter."""
    if isinstance(part, dict):
        return {key: sorted(value) if key == "required" else in_any_order(value) for key, value in part.items()}
    return [in_any_order(value) for value in part] if isinstance(part, list) else part


@pytest.mark.parametrize("name", nm.list_schemas())
def test_a_schema_is_the_published_one(name):
    assert in_any_order(nm.load_schema(name)) == in_any_order(published(name))


def test_everything_that_is_told_of_members_stands_in_a_schema():
    told = tomllib.loads((Path(nm.__file__).parent / "render" / "meanings.toml").read_text(encoding="utf-8"))
    assert told.keys() == set(nm.list_schemas())
    for name, texts in told.items():
        schema = json.dumps(nm.load_schema(name), ensure_ascii=False)
        for text in texts.values():
            assert json.dumps(text, ensure_ascii=False) in schema, (name, text)


def test_the_page_lists_every_schema_with_its_identity_and_file():
    if not (ROOT / "docs" / "schemas.md").exists():
        pytest.skip("docs/ is not here: it is not part of the wheel")
    page = (ROOT / "docs" / "schemas.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(([^)]+)\) \| `([\w:-]+)` \| .+ \|$", page, re.MULTILINE)
    assert {name: identity for name, _, identity in rows} == {
        name: nm.load_schema(name)["$id"] for name in nm.list_schemas()
    }
    for name, link, _ in rows:
        assert link == f"schemas/{name}.schema.json"
        assert (ROOT / "docs" / link).exists()


def test_an_unknown_schema_is_refused():
    for name in ("repot", 3, None):
        with pytest.raises(InputError, match="is not known; known are accuracy, bench"):
            nm.load_schema(name)
