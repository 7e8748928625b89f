"""TOML files: long lists in bulk read as any other, and what is too deep refused before it takes long."""

import re
import time
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.files.toml_table import MAX_KEY_PARTS, TomlTable, parse_toml, parse_with_empty_tables

LINES = (
    '"a -> b" = {}', '\t"b" = { }  # why', '"c"={}', '"c" = {}', "# edges", "", '"a".x = 1', '"d" = { x = 1 }',
    "e = {}", "'b' = {}", '"\\u0062" = {}', "[edges]", "[edges] # twice", '[edges."b"]', "[other]", "[[edges]]",
    "edges = {}", 'edges."b" = {}', "x = [", "]", "x = [ # [edges]", 's = """', '"""', "x = '''", "]'''", "{}",
    '"t\t" = {}', '"bell\x07" = {}', "# bell\x07",
)  # fmt: skip


def outcome(parse, text):
    """What comes of it, in order."""
    try:
        return repr(parse(text))
    except tomllib.TOMLDecodeError as error:
        return str(error)


@settings(max_examples=600)
@given(st.lists(st.sampled_from(LINES), max_size=5), st.lists(st.sampled_from(LINES), max_size=6), st.booleans())
def test_a_table_read_in_bulk_is_the_table(before, after, ends_with_a_line):
    text = "\n".join([*before, "[edges]", '"a" = {}', *after]) + "\n" * ends_with_a_line
    assert outcome(lambda t: parse_with_empty_tables(t, "edges"), text) == outcome(tomllib.loads, text)


def test_only_what_is_left_is_parsed_key_by_key():
    seen = []
    text = "a = 1\r\n[edges]\r\n" + "".join(f'"{i}" = {{}}\r\n' for i in range(1000)) + "[z]\r\n"
    found = parse_with_empty_tables(text.replace("\r\n", "\n"), "edges", lambda t: seen.append(t) or tomllib.loads(t))
    assert seen == ["a = 1\n[edges]\n[z]\n"]
    assert found == parse_toml(text.encode(), InputError, long_table="edges") == tomllib.loads(text)


@pytest.mark.parametrize(
    "deep",
    [
        ".".join("a" * 50_000) + " = 1",
        " . ".join(['"a"', "'b'", "c"] * 10_000) + " = 1",
        "[" + ".".join("a" * 50_000) + "]",
        "x = { " + ".".join("a" * 50_000) + " = 1 }",
        "x = [\n1,\n{ " + ".".join("a" * 50_000) + " = 1 }]",
        f'"{"." * 60}"' + ".a" * MAX_KEY_PARTS + " = 1",
    ],
    ids=["key", "texts", "header", "inline", "list", "one-too-many"],
)
def test_keys_of_too_many_parts_are_refused_at_once(deep):
    line = 3 + deep.count("\n", 0, deep.index("."))
    start = time.process_time()
    with pytest.raises(InputError, match=rf"^line {line}: has a key of more than {MAX_KEY_PARTS} parts"):
        parse_toml(f"format = 1\n# {'a.' * 99}\n{deep}\n".encode(), InputError)
    assert time.process_time() - start < 5  # parsing takes a minute and more


@pytest.mark.parametrize("value", ["[" * 50_000, "{a=" * 50_000, "9" * 50_000, "[[[[" + "-" * 50_000], ids=len)
def test_values_without_end_are_refused(value):
    with pytest.raises(InputError, match=re.escape("TOML")) as refused:
        parse_toml(f"format = 1\nx = {value}\n".encode(), InputError)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("value", [3, {}, "edges", [1], [{}, "x"], [[]]])
def test_a_list_of_tables_holds_nothing_else(value):
    assert [table.values for table in (TomlTable({"a": [{"b": 1}, {}]}, "", InputError).tables_in("a"))] == [
        {"b": 1},
        {},
    ]
    with pytest.raises(InputError, match=r"a list of tables, \[\[a\]\]"):
        TomlTable({"a": value}, "", InputError).tables_in("a")


def test_dots_that_are_no_keys_are_no_fault():
    dots = ".a" * 100
    deepest = "a" + ".a" * (MAX_KEY_PARTS - 1)
    text = f'x = "{dots}" # {dots}\ny = """\n{dots} \\" " \'\n"""\nz = [{"1.5, " * 100}]\n{deepest} = \'{dots}\''
    assert parse_toml(text.encode(), InputError) == tomllib.loads(text)
