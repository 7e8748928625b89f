"""Sets of recordings of events as their makers have them, small: what loaders and fuzz rows read."""

import struct

import numpy as np

GESTURE_HEAD = b"#!AER-DAT3.1\r\n#Format: RAW\r\n#Source 1: DVS128\r\n#!END-HEADER\r\n"
LABELS = "class,startTime_usec,endTime_usec\n"


def nmnist_bytes(events):
    """Events of (microsecond, row, column, is brighter) in 5 bytes each."""
    return b"".join(
        bytes([column, row, brighter << 7 | time >> 16, time >> 8 & 255, time & 255])
        for time, row, column, brighter in events
    )


def write_nmnist(folder, recordings):
    """Recordings by (folder, digit, number)."""
    for (part, digit, number), events in recordings.items():
        place = folder / part / str(digit) / f"{number:05d}.bin"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(nmnist_bytes(events))


def packet(events, kind=1, overflow=0, size=8, valid=1):
    """Events of (microsecond, row, column, is brighter) in a packet of AEDAT 3.1."""
    head = struct.pack("<2H6I", kind, 1, size, 4, overflow, len(events), len(events), len(events))
    return head + b"".join(
        struct.pack("<2I", column << 17 | row << 2 | brighter << 1 | valid, time)
        for time, row, column, brighter in events
    )


def gesture_files(users=7):
    """Files by name: of every user a recording with two gestures, of which the second has no events."""
    names = [f"user{number:02d}_lab.aedat" for number in range(1, users + 1)]
    files = {"trials_to_train.txt": "\n".join([*names[:-1], ""]).encode(), "trials_to_test.txt": names[-1].encode()}
    for number, name in enumerate(names):
        events = [(1000 + 60_000 * k, number, 4 * k, k % 2) for k in range(5)]
        files[name] = GESTURE_HEAD + packet(events[:3]) + packet(events, kind=2) + packet(events[3:])
        rows = f"{number % 11 + 1},1000,500000\n11,600000,900000\n"
        files[name.replace(".aedat", "_labels.csv")] = (LABELS + rows).encode()
    return files


def write_gestures(folder, files=None):
    folder.mkdir(exist_ok=True)
    for name, data in (gesture_files() if files is None else files).items():
        (folder / name).write_bytes(data)


def write_spoken(path, recordings, labels, kind_of_labels=np.uint16):
    """Recordings of (seconds, channels) in a file as the makers of SHD have it."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, kind, column in (("times", np.float16, 0), ("units", np.uint16, 1)):
            lists = file.create_dataset(f"spikes/{name}", len(recordings), h5py.vlen_dtype(kind))
            for k, recording in enumerate(recordings):
                lists[k] = np.array(recording[column], kind)
        file["labels"] = np.array(labels, kind_of_labels)
