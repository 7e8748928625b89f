"""What killed writers leave is removed by the next one, and nothing else is."""

import os
import signal
import subprocess
import sys
import time

import pytest

from neuromap.files.whole_file import _here, sweep, unfinished_name, write_all, write_folder, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is swept there")

WRITER = """
import os, signal, sys
from pathlib import Path
from neuromap.files import whole_file

def killed(paths):
    print(os.getpid(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

whole_file.keep_on_disk = killed  # after everything is written, before anything is renamed
folder = Path(sys.argv[1])
if sys.argv[2] == "folder":
    whole_file.write_folder(folder / "made", {"a": "new", "b": "new"})
whole_file.write_all([(folder / "a", "new"), (folder / "b", "new")])
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def left_by_a_killed_writer(folder, kind):
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(folder), kind], stdout=subprocess.PIPE, check=False, text=True
    )
    assert done.returncode == -signal.SIGKILL
    left = [name for name in names(folder) if name.startswith(".neuromap-")]
    assert all(f"-{done.stdout.strip()}-" in name for name in left)
    return left


@pytest.mark.parametrize(("kind", "n_left"), [("files", 2), ("folder", 1)])
@pytest.mark.parametrize(
    "write", [lambda f: write_whole(f / "c", "3"), lambda f: write_folder(f / "d", {"e": "4"})], ids=["file", "folder"]
)
def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path, kind, n_left, write):
    (tmp_path / "a").write_text("old")
    assert len(left_by_a_killed_writer(tmp_path, kind)) == n_left
    write(tmp_path)
    assert len(names(tmp_path)) == 2
    assert (tmp_path / "a").read_text() == "old"


def dead():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_files_of_others_and_of_living_processes_stay(tmp_path):
    machine, start = _here()
    end, gone = "0123456789abcdef", dead()
    kept = [
        unfinished_name(),  # of this process
        f".neuromap-{machine}-{start}-{os.getppid()}-{end}",
        f".neuromap-{'0' * 8}-{start}-{gone}-{end}",  # of another machine
        f".neuromap-{machine}-{'0' * 8}-{gone}-{end}",  # from before a restart, but new
        f".neuromap-{machine}-{start}-{gone}-{end}.toml",
        f".neuromap-{machine}-{start}-{gone}-{end[1:]}",
        f".neuromap-{machine}-{start}-0-{end}",
        f".neuromap-{end}",  # of an early version, which did not say whose it was
        f"neuromap-{machine}-{start}-{gone}-{end}",
        ".neuromap-", ".neuromap-mine", "a.toml",
    ]  # fmt: skip
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "mine").write_text("mine")
    link = f".neuromap-{machine}-{start}-{gone}-{end[::-1]}"
    (tmp_path / link).symlink_to("target")
    (tmp_path / f".neuromap-{machine}-{start}-{gone}-{end}").write_text("left")
    write_whole(tmp_path / "b", "1")
    assert names(tmp_path) == sorted([*kept, "b", "target", link])
    assert names(tmp_path / "target") == ["mine"]


def test_what_was_left_before_the_machine_was_started_goes_after_a_day(tmp_path):
    left = tmp_path / f".neuromap-{_here()[0]}-{'0' * 8}-{os.getpid()}-0123456789abcdef"
    left.write_text("left")
    write_whole(tmp_path / "a", "1")
    assert left.exists()
    then = time.time() - 90_000
    os.utime(left, (then, then))
    sweep.cache_clear()
    write_whole(tmp_path / "a", "1")
    assert not left.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_another_user_stay(tmp_path):
    machine, start = _here()
    other = tmp_path / f".neuromap-{machine}-{start}-{dead()}-0123456789abcdef"
    other.write_text("theirs")
    os.chown(other, 12345, -1)
    write_whole(tmp_path / "a", "1")
    assert other.exists()


TRACED = """
import os, sys
from pathlib import Path
from neuromap.files.whole_file import write_all
from neuromap.files.whole_file import write_folder

calls = []
fsync, replace = os.fsync, os.replace
os.fsync = lambda handle: (calls.append(os.readlink(f"/proc/self/fd/{handle}")), fsync(handle))
sys.addaudithook(lambda event, args: event == "os.rename" and calls.append(("rename", str(args[1]))))
folder = Path(sys.argv[1])
write_all([(folder / "a", "1"), (folder / "b", "2"), (folder / "inner" / "c", "3")])
write_folder(folder / "new", {"d": "4"})
print(*[call if isinstance(call, str) else " ".join(call) for call in calls], sep="\\n")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc which file is meant")
def test_content_is_on_the_disk_before_the_name_is_and_the_name_before_the_call_returns(tmp_path):
    (tmp_path / "inner").mkdir()
    told = subprocess.run(
        [sys.executable, "-c", TRACED, str(tmp_path)], stdout=subprocess.PIPE, check=True, text=True
    ).stdout.splitlines()
    kinds = ["renamed" if line.startswith("rename ") else line.replace(str(tmp_path), "") for line in told]
    files = [kind if not kind.startswith(("/.neuromap", "/inner/.neuromap")) else "written" for kind in kinds]
    assert files[:8] == ["written", "written", "written", "renamed", "renamed", "renamed", "", "/inner"]
    # the folder is made beside its place: its file, the file's new name, then its own name
    assert files[8:] == ["written", "renamed", "written", "renamed", ""]


def test_a_folder_that_may_be_written_but_not_read_takes_files(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    tmp_path.chmod(0o300)
    try:
        write_all([(tmp_path / "a", "1")])
    finally:
        tmp_path.chmod(0o700)
    assert (tmp_path / "a").read_text() == "1"
