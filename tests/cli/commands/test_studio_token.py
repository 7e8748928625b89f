"""``neuromap studio``: its token comes from a file or the environment, where others do not see it."""

import os

import pytest

TOKEN = "s3cret-s3cret-s3cret"
VARIABLE = "NEUROMAP_STUDIO_TOKEN"


@pytest.fixture(autouse=True)
def no_token(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_token_on_the_command_line_is_refused_with_the_two_other_ways(neuromap, monkeypatch):
    for words in (("--token", TOKEN), ("--token", ""), ("--host", "0.0.0.0", f"--token={TOKEN}")):
        done = neuromap("studio", *words)
        done.assert_refused(2, "--token:", "--token-file FILE", VARIABLE)
        assert TOKEN not in done.err
    monkeypatch.setenv(VARIABLE, TOKEN)
    neuromap("studio", "--token", TOKEN).assert_refused(2, "--token-file FILE")
    assert "--token TOKEN" not in neuromap("studio", "--help").out


def test_another_host_needs_a_token_and_says_how_to_give_it(neuromap):
    neuromap("studio", "--host", "0.0.0.0").assert_refused(2, "asks for a token", "--token-file FILE", VARIABLE)


def test_a_token_is_read_from_a_file_or_the_environment(neuromap, tmp_path, monkeypatch):
    """It is taken: what is refused is the next thing that is wrong."""
    file = tmp_path / "token"
    file.write_text(f"  {TOKEN}\n")
    patterns = ["--pattern", "streaming"] * 3
    where = ("studio", "--host", "0.0.0.0", *patterns, "--sessions", tmp_path / "kept")
    neuromap(*where, "--token-file", file).assert_refused(2, "is the third")
    monkeypatch.setenv(VARIABLE, "short")
    neuromap(*where, "--token-file", file).assert_refused(2, "is the third")  # the file is what was asked for
    neuromap(*where).assert_refused(2, "token: must be 16 to 200")
    monkeypatch.setenv(VARIABLE, TOKEN)
    neuromap(*where).assert_refused(2, "is the third")


def test_a_token_file_that_holds_none_is_one_line(neuromap, tmp_path):
    file = tmp_path / "token"
    os.mkfifo(tmp_path / "pipe")
    held = {
        b"": "is empty", b" \n": "is empty", b"short": "16 to 200", b"\xff" * 20: "16 to 200",
        f"{TOKEN}\n{TOKEN}\n".encode(): "16 to 200", b"a" * 2**21: "is larger than",
    }  # fmt: skip
    for content, words in held.items():
        file.write_bytes(content)
        neuromap("studio", "--token-file", file).assert_refused(2, words, "token")
    for name, words in {".": "is a folder", "none": "does not exist", "pipe": "is not a regular file"}.items():
        neuromap("studio", "--token-file", tmp_path / name).assert_refused(2, words, "--token-file")
