"""Recordings of events: every event in its bin, parts by the lists of the makers, files that are none refused."""

import shutil
import struct
import zipfile

import numpy as np
import pytest
from event_files import GESTURE_HEAD, LABELS, gesture_files, packet, write_gestures, write_nmnist, write_spoken
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.datasets import load_images
from neuromap.datasets.recordings import Recorded, aedat_events, saccades
from neuromap.errors import InputError

EVENTS = st.lists(
    st.tuples(st.integers(0, 300_000), st.integers(0, 33), st.integers(0, 33), st.integers(0, 1)), max_size=40
)


def counted(events, bin, frames, side, shrink=1, most=1):
    """Events of every bin, one by one."""
    rows = -(-side // shrink)
    found = np.zeros((frames, rows, rows, 2), int)
    for time, row, column, brighter in events:
        if time // bin < frames:
            found[int(time // bin), row // shrink, column // shrink, 1 - brighter] += 1
    return np.minimum(found, most)


@settings(deadline=None, max_examples=30)
@given(EVENTS, st.sampled_from([500, 10_000, 33_333]), st.integers(1, 4), st.integers(1, 3), st.integers(1, 9))
def test_every_event_of_n_mnist_is_counted_in_its_bin(tmp_path_factory, events, bin, shrink, most, frames):
    folder = tmp_path_factory.mktemp("nmnist")
    write_nmnist(folder, {("Test", 7, 1): events})
    asked = f"bin={bin}us,frames={frames},shrink={shrink},counts={most},ticks=2"
    found = load_images(f"nmnist:{folder},{asked}", "test")
    assert (found.images[0] == counted(events, bin, frames, 34, shrink, most)).all()
    assert (found.labels.tolist(), found.frame_ticks, found.white) == ([7], 2, most)


@pytest.mark.parametrize(("bin", "time", "frame"), [("8.3s", 8_300_000, 1), ("1.1us", 33, 30), ("1.1us", 32, 29)])
def test_an_event_on_an_edge_is_in_the_bin_that_begins_there(tmp_path, bin, time, frame):
    write_nmnist(tmp_path, {("Test", 7, 1): [(time, 0, 0, 1)]})
    found = load_images(f"nmnist:{tmp_path},bin={bin},frames=40", "test")
    assert found.images[0].any(axis=(1, 2, 3)).nonzero()[0].tolist() == [frame]


def test_recordings_of_n_mnist_are_in_the_order_of_their_numbers_and_the_last_sixth_validates(tmp_path):
    numbers = range(1, 13)
    recordings = {("Train", n % 10, n): [(0, n, n, 1)] for n in numbers} | {("Test", 3, 1): []}
    write_nmnist(tmp_path / "set", recordings)
    train, validation = (load_images(f"nmnist:{tmp_path / 'set'},frames=1", part) for part in ("train", "validation"))
    assert train.labels.tolist() == [n % 10 for n in numbers][:10]
    assert validation.labels.tolist() == [1, 2]
    assert np.argwhere(train.images).tolist() == [[n - 1, 0, n, n, 0] for n in numbers][:10]
    assert len(load_images(f"nmnist:{tmp_path / 'set'},frames=1", "train", limit=4).images) == 4
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for file in sorted((tmp_path / "set").rglob("*.bin")):
            archive.write(file, file.relative_to(tmp_path))
    packed = load_images(f"nmnist:{tmp_path / 'a.zip'},frames=1", "train")
    assert (packed.images == train.images).all()
    assert packed.notes == ("a frame holds the events of 10ms and lasts a tick: real time where ticks last as long",)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 127), st.integers(0, 127), st.integers(0, 1))))
def test_events_of_aedat_are_read_as_they_were_written(events):
    halves = packet(events[::2]) + packet(events, kind=0) + packet(events[1::2], overflow=3) + packet(events, valid=0)
    found = aedat_events("a", GESTURE_HEAD + halves)
    wanted = events[::2] + [(time + 3 * 2**31, *place) for time, *place in events[1::2]]
    assert np.stack(found, axis=1).astype(int).tolist() == [[t, row, column, 1 - on] for t, row, column, on in wanted]


def test_gestures_are_cut_out_of_recordings_and_users_are_not_split(tmp_path):
    write_gestures(tmp_path / "set")
    parts = {part: load_images(f"dvs-gesture:{tmp_path / 'set'}", part) for part in ("train", "validation", "test")}
    assert {part: found.labels.tolist() for part, found in parts.items()} == {
        "train": [0, 10, 1, 10, 2, 10, 3, 10, 4, 10],
        "validation": [5, 10],
        "test": [6, 10],
    }
    train = parts["train"]
    assert (train.shape, train.n_stream_frames, len(train.classes)) == ((32, 32, 2), 40, 11)
    assert not train.images[1::2].any()
    # bins of 50 ms, squares of 4 x 4 pixels, from the start of the gesture on
    wanted = [[frame, 1, k, 1 - k % 2] for k, frame in enumerate((0, 1, 2, 3, 4))]
    assert np.argwhere(train.images[8]).tolist() == wanted
    assert len(load_images(f"dvs-gesture:{tmp_path / 'set'}", "train", limit=3).images) == 3


def test_spoken_digits_are_binned_by_channel(tmp_path):
    pytest.importorskip("h5py")
    recordings = [([0.001, 0.25, 0.2501, 9.0], [0, 699, 699, 5]), ([], [])] + [([0.5], [k]) for k in range(10)]
    write_spoken(tmp_path / "shd_train.h5", recordings, [*range(8, 20)])
    write_spoken(tmp_path / "shd_test.h5", recordings[:1], [19])
    train = load_images(f"shd:{tmp_path},counts=3", "train")
    assert (train.images.shape, train.labels.tolist()) == ((10, 100, 1, 700, 1), [*range(8, 18)])
    # times are floats of 16 bits: 0.2501 s is in the bin of 0.25 s
    assert np.argwhere(train.images[0]).tolist() == [[0, 0, 0, 0], [25, 0, 699, 0]]
    assert train.images[0, 25, 0, 699, 0] == 2
    assert load_images(f"shd:{tmp_path}", "validation").labels.tolist() == [18, 19]
    few = load_images(f"shd:{tmp_path / 'shd_test.h5'},shrink=10,frames=30,bin=20ms,ticks=20", "test")
    assert few.name == "shd:bin=20ms,frames=30,ticks=20,shrink=10"
    assert (few.shape, few.classes[19], few.frame_ticks) == ((1, 70, 1), "German neun", 20)


def without(name, **changes):
    files = gesture_files() | {key: value for key, value in changes.items() if value is not None}
    files.pop(name, None)
    return files


FAULTY = {
    "no-list": (without("trials_to_train.txt"), "has no files trials_to_train.txt"),
    "strange-name": (gesture_files() | {"trials_to_train.txt": b"../x"}, r"found \.\./x; allowed are names like"),
    "lost": (without("user02_lab.aedat"), "user02_lab.aedat.*: is in trials_to_train.txt, but not in the folder"),
    "no-columns": (gesture_files() | {"user01_lab_labels.csv": b"a,b\n1,2\n"}, "has no columns class, startTime_usec"),
    "class": (gesture_files() | {"user01_lab_labels.csv": LABELS.encode() + b"12,1,2\n"}, "found class 12 from 1 to 2"),
    "backwards": (gesture_files() | {"user01_lab_labels.csv": LABELS.encode() + b"1,9,2\n"}, "an end after the start"),
    "word": (gesture_files() | {"user01_lab_labels.csv": LABELS.encode() + b"1,x,2\n"}, "allowed are three whole"),
    "no-recording": (gesture_files() | {"user01_lab.aedat": b"\x89PNG\r\n"}, "is not a recording in AEDAT 3.1"),
    "torn-head": (gesture_files() | {"user01_lab.aedat": GESTURE_HEAD + bytes(9)}, "ends within the head of a block"),
    "torn": (gesture_files() | {"user01_lab.aedat": GESTURE_HEAD + packet([(1, 2, 3, 1)])[:-1]}, "has 1 events of 8"),
    "outside": (gesture_files() | {"user01_lab.aedat": GESTURE_HEAD + packet([(1, 128, 3, 1)])}, "event in row 128"),
    "size": (gesture_files() | {"user01_lab.aedat": GESTURE_HEAD + packet([], size=9)}, "has events of 9 bytes"),
    "endless": (
        gesture_files() | {"user01_lab.aedat": GESTURE_HEAD + struct.pack("<2H6I", 1, 1, 0, 4, 0, 9, 2**31, 9)},
        "has 2147483648 events of 0 bytes",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_gestures_that_are_none_are_told_in_one_line(tmp_path, name):
    files, told = FAULTY[name]
    write_gestures(tmp_path / "set", files)
    with pytest.raises(InputError, match=told) as found:
        load_images(f"dvs-gesture:{tmp_path / 'set'}", "train")
    assert "\n" not in str(found.value)


def test_other_recordings_that_are_none_are_told_in_one_line(tmp_path):
    write_nmnist(tmp_path, {("Train", 1, 1): [(0, 40, 1, 1)]})
    with pytest.raises(InputError, match="has an event in row 40; allowed are 0 to 33"):
        load_images(f"nmnist:{tmp_path}", "train")
    with pytest.raises(InputError, match=r"has no recordings Test/DIGIT/NUMBER\.bin"):
        load_images(f"nmnist:{tmp_path}", "test")
    with pytest.raises(InputError, match="has 4 bytes; an event takes 5"):
        saccades("a", bytes(4))
    for bin in ("10", "0ms", "2000s", "-1s", "1e3us", "nan"):
        with pytest.raises(InputError, match=rf"bin={bin}: must be a time from 1us to 1000s"):
            load_images(f"nmnist:{tmp_path},bin={bin}", "train")
    with pytest.raises(
        InputError, match=r"of=x is no setting of nmnist:PATH; there are bin, .*such as nmnist:PATH,bin="
    ):
        load_images(f"nmnist:{tmp_path},of=x", "train")
    with pytest.raises(InputError, match=r"does not exist.*looked for at .*its archives are at"):
        load_images(f"nmnist:{tmp_path / 'a,b'}", "train")
    with pytest.raises(InputError, match="give its place, shd:PATH"):
        load_images("shd", "train")
    assert Recorded(bin="1.5ms").microseconds == 1500


def test_spoken_digits_that_are_none_are_told_in_one_line(tmp_path):
    h5py = pytest.importorskip("h5py")
    whole = [([0.1], [3])] * 6
    file = tmp_path / "shd_test.h5"

    def told(source="", part="test"):
        with pytest.raises(InputError) as found:
            load_images(f"shd:{tmp_path}{source}", part)
        assert "\n" not in str(found.value)
        return str(found.value)

    assert "does not exist" in told()
    file.write_bytes(b"PK\3\4")
    assert "shd_test.h5: is a zip archive; expected one" in told()
    write_spoken(file, whole, [0, 1, 2, 3, 4, 20])
    assert "found the label 20; allowed are 0 to 19" in told()
    assert "is 'shd_test.h5'; part train is in shd_train.h5" in told("/shd_test.h5", "train")
    write_spoken(file, whole, [0])
    assert "6 times, 6 units, 1 labels" in told()
    write_spoken(file, [([0.1], [700])], [0])
    assert "has an event in column 700; allowed are 0 to 699" in told()
    write_spoken(file, [([float("nan")], [1])], [0])
    assert "recording 0: times are no numbers of seconds" in told()
    write_spoken(file, [([0.1, 0.2], [1])], [0])
    assert "recording 0: has 2 times and 1 units" in told()
    write_spoken(file, whole, [0.9] * 6, float)
    assert "labels are of float64; allowed are whole numbers, 0 to 19" in told()
    write_spoken(file, whole, [0] * 6)
    shutil.copy(file, tmp_path / "other.h5")
    with h5py.File(file, "a") as opened:
        del opened["labels"]
        opened["labels"] = h5py.ExternalLink("other.h5", "labels")
    assert "has no labels" in told()
    data = (tmp_path / "other.h5").read_bytes()
    file.write_bytes(data[: len(data) // 2])
    assert "is not a complete file of Spiking Heidelberg Digits" in told()
