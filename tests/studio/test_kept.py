"""Sessions on disk: the studio writes over, and removes, what it made itself and nothing else."""

import json
import os
import shutil

import pytest

from neuromap.errors import InputError
from neuromap.studio.scene.scene_file import scene_bytes
from neuromap.studio.sessions import MOST_SESSIONS, KeptSessions


def names(word, n):
    return [f"{word}-number-{k:08}" for k in range(n)]


def contents(folder):
    """Every entry of a folder: where a link leads, what a file holds and when it was written."""
    return {
        path.name: path.readlink() if path.is_symlink() else (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if not path.is_dir()
    }


@pytest.fixture
def foreign(tmp_path, scene):
    """A folder with sixty files that the studio did not keep there, older than anything that it keeps; and itself."""
    folder = tmp_path / "mine"
    elsewhere = KeptSessions(tmp_path / "elsewhere")
    elsewhere.save("session-kept-elsewhere", scene_bytes(scene))
    (kept,) = (tmp_path / "elsewhere").iterdir()
    folder.mkdir()
    for k, name in enumerate(names("looks-like-a-session", 30)):
        head = kept.read_bytes()[:60]
        other = [b"{}", b"", b"[1, 2", head, b"\xff\xfe", b" " + kept.read_bytes()][k % 6]
        (folder / f"{name}.json").write_bytes(other)
    for k, name in enumerate(names("scene-that-i-saved", 8)):  # our format, a name that a session could have
        (folder / f"{name}.json").write_bytes(scene_bytes(scene) if k % 2 else kept.read_bytes())
    for k in range(12):  # our format, names that no session can have
        shutil.copy(
            kept, folder / ["short{}.json", "with a space, and long {}.json", "package-{}.lock.json"][k % 3].format(k)
        )
    for k in range(8):
        (folder / f"link-to-a-session-{k}.json").symlink_to(kept if k % 2 else tmp_path / "nowhere")
    (folder / "tsconfig.json").write_text("{}")
    (folder / "a-folder-of-somebody.json").mkdir()
    for path in folder.iterdir():
        os.utime(path, (1, 1), follow_symlinks=False)
    assert len(list(folder.iterdir())) == 60
    return folder


def test_files_of_others_are_never_removed_or_changed(foreign, tmp_path):
    before, elsewhere = contents(foreign), contents(tmp_path / "elsewhere")
    kept = KeptSessions(foreign)
    for k, name in enumerate(names("session", MOST_SESSIONS + 5)):
        kept.save(name, json.dumps({"k": k}).encode())
        os.utime(foreign / f"{name}.json", (k + 2, k + 2))
    after = contents(foreign)
    assert {name: after.get(name) for name in before} == before
    assert contents(tmp_path / "elsewhere") == elsewhere
    assert (foreign / "a-folder-of-somebody.json").is_dir()
    own = sorted(set(after) - set(before))
    assert own == [f"{name}.json" for name in names("session", MOST_SESSIONS + 5)[5:]]  # the oldest went
    assert kept.load(own[0].removesuffix(".json")) == b'{"k": 5}'


def test_a_session_is_not_saved_over_the_file_of_somebody_else(foreign):
    """Nor is such a file read as a session."""
    before, kept = contents(foreign), KeptSessions(foreign)
    taken = {path.stem for path in foreign.glob("*.json") if KeptSessions.is_name(path.stem)}
    plain = set(names("scene-that-i-saved", 8)[1::2])  # whoever opens a session of that name goes on with it
    assert plain < taken
    for name in sorted(taken - plain):
        for act in (lambda name=name: kept.save(name, b"{}"), lambda name=name: kept.load(name)):
            with pytest.raises(InputError, match="none that the studio kept; move it away") as caught:
                act()
            assert "\n" not in str(caught.value)
    assert contents(foreign) == before


def test_what_is_kept_is_what_was_saved_and_a_session_of_before_goes_on(tmp_path, scene):
    """Versions before kept a plain scene; it is opened, and from then on it is a session."""
    kept, data = KeptSessions(tmp_path), scene_bytes(scene)
    (tmp_path / "session-of-long-ago.json").write_bytes(data)
    assert kept.load("session-of-long-ago") == data
    kept.save("session-of-long-ago", data.replace(b"small", b"other"))
    assert kept.load("session-of-long-ago") == data.replace(b"small", b"other")
    assert json.loads((tmp_path / "session-of-long-ago.json").read_bytes())["name"] == "session-of-long-ago"
    assert kept.load("session-of-nobody") is None
