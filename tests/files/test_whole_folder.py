"""Several files of one folder appear together, or nothing changes."""

from pathlib import Path

import pytest

from neuromap.errors import InputError
from neuromap.files.whole_file import check_folder, write_folder


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_new_folder_holds_all_files_and_nothing_else(tmp_path):
    write_folder(tmp_path / "new", {"a": "1", "b": b"2"})
    assert content(tmp_path / "new") == {"a": "1", "b": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_other_files_of_a_folder_stay(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    write_folder(tmp_path / "link", {"a": "1", "b": "2"})
    assert content_of_files(tmp_path) == {"a": "1", "b": "2", "mine": "mine"}


def content_of_files(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("there", [True, False])
def test_one_file_that_cannot_be_written_leaves_all_as_it_was(there, tmp_path):
    folder = tmp_path / "folder"
    if there:
        folder.mkdir()
        (folder / "a").write_text("old")
    with pytest.raises(InputError):
        write_folder(folder, {"a": "1", "no" * 200: "2"})
    assert folder.exists() == there
    assert [path.name for path in tmp_path.iterdir()] == ["folder"] * there
    if there:
        assert content(folder) == {"a": "old"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("file", "is a file; several files are written"),
        ("no/folder", "does not exist; create it first"),
        ("loop/x", "loop"),
        ("\0", "null character"),
        ("", "is not a folder"),
    ],
)
def test_what_is_no_folder_is_refused_in_one_line(name, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    for refused in (lambda: check_folder(name), lambda: write_folder(name, {"a": ""})):
        with pytest.raises(InputError) as caught:
            refused()
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
    assert content_of_files(tmp_path) == {"file": "mine"}


@pytest.mark.parametrize("after", [0, 1, 2])
def test_an_interrupt_between_renames_leaves_new_files_only(after, tmp_path, monkeypatch):
    """Some old and some new ones would be of no run at all."""
    names = ("a", "b", "c")
    for name in names:
        (tmp_path / name).write_text("old")
    renamed, rename = [], Path.replace

    def interrupted(self, target):
        if len(renamed) == after:
            renamed.append(None)
            raise KeyboardInterrupt
        renamed.append(target)
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path, dict.fromkeys(names, "new"))
    assert content(tmp_path) == dict.fromkeys(names, "new")


def test_what_is_said_of_a_new_folder_names_it(tmp_path):
    with pytest.raises(InputError, match=r"/folder/nonono.*cannot be written") as caught:
        write_folder(tmp_path / "folder", {"no" * 200: ""})
    assert ".neuromap-" not in str(caught.value)
