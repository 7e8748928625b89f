"""Files are written whole or not at all, and nothing but a regular file is ever replaced."""

import os
import stat
import threading

import pytest

from neuromap.errors import InputError
from neuromap.files.whole_file import check_target, write_all, write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_new_files_and_replaced_ones(tmp_path):
    write_whole(tmp_path / "a", "é")
    assert (tmp_path / "a").read_bytes() == "é".encode()
    write_whole(str(tmp_path / "a"), b"\0")
    assert (tmp_path / "a").read_bytes() == b"\0"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_mode_of_the_mask(mask, tmp_path):
    before = os.umask(mask)
    try:
        write_whole(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_a_file_keeps_its_mode(mode, tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "real").write_text("old")
    (tmp_path / "link").symlink_to("inner/real")
    (tmp_path / "new").symlink_to("inner/fresh")
    write_all([(tmp_path / "link", "1"), (tmp_path / "new", "2")])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "inner" / "real").read_text() == "1"
    assert (tmp_path / "inner" / "fresh").read_text() == "2"


def test_other_hard_links_keep_the_old_content(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    write_whole(tmp_path / "a", "new")
    assert (tmp_path / "b").read_text() == "old"


def test_the_longest_name_that_the_file_system_takes(tmp_path):
    write_whole(tmp_path / ("x" * 255), "1")
    assert names(tmp_path) == ["x" * 255]
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / ("x" * 256), "1")


def test_what_cannot_be_a_file(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    for path, words in (
        (tmp_path / "loop", "cannot be written"),
        (tmp_path / "folder", "is a folder"),
        (f"{tmp_path}/new/", "is a folder"),
        ("", "is not a file"),
        (tmp_path / "a\0b", "is not a path"),
        (tmp_path / "nowhere" / "a", "does not exist"),
    ):
        for refuse in (check_target, lambda path: write_whole(path, "x")):
            with pytest.raises(InputError, match=words):
                refuse(path)
    assert names(tmp_path) == ["folder", "loop"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_not_replaced(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o400)
    with pytest.raises(InputError, match="read-only"):
        write_whole(tmp_path / "a", "new")


def test_a_device_is_written_into(tmp_path):
    before = os.stat("/dev/null")  # noqa: PTH116
    (tmp_path / "null").symlink_to("/dev/null")
    write_whole(tmp_path / "null", "x")
    assert os.path.samestat(before, (tmp_path / "null").stat())
    assert names(tmp_path) == ["null"]
    assert check_target("/dev/null") is None


def test_a_pipe_is_written_into(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_whole(path, "through")
    reader.join(timeout=10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_all_or_none(tmp_path):
    (tmp_path / "a").write_text("old")
    for second in (tmp_path / "nowhere" / "b", tmp_path / ("x" * 256)):
        with pytest.raises(InputError):
            write_all([(tmp_path / "a", "new"), (second, "new")])
    with pytest.raises(UnicodeEncodeError):  # after the first one is written beside its destination
        write_all([(tmp_path / "a", "new"), (tmp_path / "b", "\ud800")])
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]
