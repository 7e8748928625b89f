"""Sets of images made to do harm, or by other tools: bounded before they are unpacked, refused in one line."""

import bz2
import functools
import gzip
import lzma
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from traffic_signs import write_gtsrb

from neuromap.datasets import load_images
from neuromap.datasets.cifar10 import read_plain_pickle
from neuromap.errors import InputError

pytest.importorskip("PIL", reason="Pillow is an extra: images")

READ_ALL = """
import resource, sys
from neuromap.datasets import load_images
from neuromap.errors import InputError
import PIL.Image, PIL.PngImagePlugin, tarfile, zipfile
pages = int(open("/proc/self/statm").read().split()[0])
bound = pages * resource.getpagesize() + 400 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
for source in sys.argv[1:]:
    try:
        load_images(source, "test", limit=10)
        print("read")
    except InputError as error:
        print(error)
"""


def of_zeros(pack, head, n):
    """A packed stream of a head and zeros: packers go on after their end, so a portion is packed once."""
    return pack(head) + pack(bytes(2**24)) * (n >> 24)


@functools.cache
def png(rows, columns):
    """A picture of which all but the head is zeros, packed."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(1)
    rows_of_zeros = b"".join(packer.compress(bytes(3 * columns + 1)) for _ in range(rows)) + packer.flush()
    head = chunk(b"IHDR", struct.pack(">2I5B", columns, rows, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows_of_zeros) + chunk(b"IEND", b"")


def mnist_bomb(folder):
    folder.mkdir()
    data = of_zeros(gzip.compress, struct.pack(">4I", 2051, 2**20, 28, 28), 28 * 28 << 20)
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(data)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, 2**20) + bytes(2**20))
    return f"mnist:{folder}"


def zip_bomb(path, stated=None):
    """A batch of half a gigabyte, which may say that it holds less."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("test_batch.bin", "w") as stream:
            stream.writelines(bytes(2**24) for _ in range(32))
        if stated is not None:
            archive.getinfo("test_batch.bin").file_size = stated
    return f"cifar10:{path}"


def tape_bomb(path, pack):
    member = tarfile.TarInfo("test_batch.bin")
    member.size = 2**29
    path.write_bytes(of_zeros(pack, member.tobuf(), 2**29))
    return f"cifar10:{path}"


def picture_bomb(folder, scheme):
    if scheme == "cifar10":
        place = folder / "test" / "a"
        place.mkdir(parents=True)
        (place / "0.png").write_bytes(png(9000, 9000))
        return f"cifar10:{folder}"
    folder.mkdir()
    write_gtsrb(folder, {0: 10})
    for path in folder.rglob("*.ppm"):
        path.write_bytes(png(9000, 9000))
    return f"gtsrb:{folder}"


def test_bombs_are_refused_before_they_take_memory_and_time(tmp_path):
    """Half a gigabyte each, in a process that may take 400 MB and 20 s for all of them."""
    bombs = {
        mnist_bomb(tmp_path / "mnist"): "its head promises 822083584 bytes; at most",
        zip_bomb(tmp_path / "a.zip"): "has 536870912 bytes of images in this part; at most",
        zip_bomb(tmp_path / "b.zip", 3073): "Bad CRC-32|read",
        tape_bomb(tmp_path / "a.tar.gz", gzip.compress): "unpacks to more than",
        tape_bomb(tmp_path / "a.tar.xz", lzma.compress): "unpacks to more than",
        tape_bomb(tmp_path / "a.tar.bz2", bz2.compress): "unpacks to more than",
        picture_bomb(tmp_path / "cifar10", "cifar10"): "has 9000 x 9000 pixels; allowed are 32 x 32",
        picture_bomb(tmp_path / "gtsrb", "gtsrb"): "has 9000 x 9000 pixels; allowed are 1048576 in all",
    }
    done = subprocess.run(
        [sys.executable, "-c", READ_ALL, *bombs], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == len(bombs)
    for line, (source, words) in zip(lines, bombs.items(), strict=True):
        assert any(word in line for word in words.split("|")), source


def test_a_limit_reads_no_more_than_its_images_need(tmp_path):
    """What is behind them is cut off, and not missed."""
    n = 4000
    images = np.arange(n, dtype=np.uint16).astype(np.uint8)[:, None, None] * np.ones((1, 28, 28), np.uint8)
    for name, array in (("images-idx3", images), ("labels-idx1", np.arange(n) % 10)):
        head = struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape)
        (tmp_path / f"train-{name}-ubyte").write_bytes(head + array.astype(np.uint8).tobytes()[: n * array.ndim])
    found = load_images(f"mnist:{tmp_path}", "train", limit=10)
    np.testing.assert_array_equal(found.images, images[:10, :, :, None])
    assert "is not the original file" in found.notes[0]
    with pytest.raises(InputError, match="it has only 12000"):
        load_images(f"mnist:{tmp_path}", "train")
    for k in range(1, 6):
        (tmp_path / f"data_batch_{k}.bin").write_bytes(bytes(3073 * 20) if k == 1 else b"cut off")
    assert len(load_images(f"cifar10:{tmp_path}", "train", limit=10).images) == 10
    with pytest.raises(InputError, match=r"data_batch_2.bin: has 7 bytes"):
        load_images(f"cifar10:{tmp_path}", "train", limit=30)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize("start", ["", "./", ".//", "set//./"])
def test_names_are_found_however_an_archive_writes_them(tmp_path, ending, start):
    folder = tmp_path / "set"
    folder.mkdir()
    write_gtsrb(folder, {0: 10, 3: 10})
    path = tmp_path / f"signs.{ending}"
    files = [(start + file.relative_to(folder).as_posix(), file) for file in sorted(folder.rglob("*.*"))]
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, file in files:
                archive.writestr(zipfile.ZipInfo(name), file.read_bytes())
    else:
        with tarfile.open(path, "w:gz" if ending == "tar.gz" else "w") as tape:
            for name, file in files:
                tape.add(file, name)
    np.testing.assert_array_equal(
        load_images(f"gtsrb:{path}", "train").images, load_images(f"gtsrb:{folder}", "train").images
    )


def test_archives_with_names_of_any_kind_are_read_or_refused_in_one_line(tmp_path):
    batch = bytes(3073 * 2)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("test_batch.bin", "?\u00e4", "x"):
            archive.writestr(name, batch)
    whole = (tmp_path / "a.zip").read_bytes()
    for old, new, words in (
        ("?\u00e4".encode(), b"?\xc3\xff", "'utf-8' codec"),  # no UTF-8, though marked so
        (b"x", b"/", ""),
        (b"x", b".", ""),
    ):
        (tmp_path / "b.zip").write_bytes(whole.replace(old, new) if len(old) > 1 else _renamed(whole, new))
        if words:
            with pytest.raises(InputError, match=words) as caught:
                load_images(f"cifar10:{tmp_path / 'b.zip'}", "test")
            assert str(caught.value).isprintable()
        else:
            assert len(load_images(f"cifar10:{tmp_path / 'b.zip'}", "test").images) == 2
    with zipfile.ZipFile(tmp_path / "c.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("test_batch.bin", batch)
    with pytest.raises(InputError, match=r"packed by method 14 of zip; allowed are 0 .* and 8"):
        load_images(f"cifar10:{tmp_path / 'c.zip'}", "test")


def _renamed(whole, name):
    """Give the member of the last entry another name of one letter."""
    at = whole.rindex(b"x", 0, whole.rindex(b"PK\x05\x06"))
    return whole[:at] + name + whole[at + 1 :]


def test_a_head_that_promises_more_than_a_tape_holds_takes_no_memory(tmp_path):
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 2**40
    (tmp_path / "a.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(10240))
    with pytest.raises(InputError, match=r"cannot be read as a folder, tar or zip|unpacks to more|has no batches"):
        load_images(f"cifar10:{tmp_path / 'a.tar'}", "test")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Filename;ClassId\n" + "0" * 200_000 + ";0\n", "is not a table parted by semicolons"),
        ('Filename;ClassId\n"' + "0;" * 100_000 + "\n", "is not a table parted by semicolons"),
        ("Filename;ClassId\n" + "00000_00000.ppm;0\n" * 2, "is in the list twice"),
    ],
)
def test_lists_that_are_none_are_refused(tmp_path, text, words):
    write_gtsrb(tmp_path, {0: 10})
    next(tmp_path.rglob("GT-00000.csv")).write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        load_images(f"gtsrb:{tmp_path}", "train")
    assert str(caught.value).isprintable()


NEST = {
    "tuples as a key": b"}" + b")" + b"\x85" * 200_000 + b"K\x00s",
    "tuples": b")" + b"\x85" * 200_000,
    "lists": b"]" * 200_000 + b"a" * 199_999,
    "each twice, as a key": b"})" + b"2\x86" * 900 + b"K\x00s",
    "through the memo": b"]q\x00" + b"h\x00\x85q\x01h\x00h\x01a0" * 50_000,
}


@pytest.mark.parametrize("name", NEST)
def test_nothing_of_a_pickle_nests_deeper_than_the_stack(name):
    """In a process of its own, which must not end by a signal."""
    code = f"""
from test_hostile_sets import NEST
from neuromap.datasets.cifar10 import read_plain_pickle
from neuromap.errors import InputError
try:
    read_plain_pickle(b"\\x80\\x02" + NEST[{name!r}] + b".")
except InputError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120, env=_environment()
    )
    assert done.returncode == 0, done.stderr[-300:]
    assert done.stdout.count("\n") == 1


def _environment():
    here = Path(__file__).parent
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(here), str(here.parent / "plugins"), *filter(None, sys.path)]),
    }


def test_marks_cost_no_more_than_the_instructions():
    """A search from the bottom of the stack took a minute."""
    with pytest.raises(InputError, match=r"has more than .* tables, lists and tuples"):
        read_plain_pickle(b"\x80\x02" + b"(l" * 500_000 + b".")
    found = read_plain_pickle(b"\x80\x02(" + b"K\x00" * 200_000 + b"(K\x01t" * 200_000 + b"l.")
    assert found[199_999:200_001] == [0, (1,)]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_batches_with_ten_thousand_names_are_plain(protocol):
    """Texts as bytes are calls in older protocols; they nest nothing."""
    batch = {b"labels": list(range(10)) * 1000, b"filenames": [b"picture_%d.png" % k for k in range(10_000)]}
    found = read_plain_pickle(pickle.dumps(batch, protocol))
    names = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
    assert names["labels"] == batch[b"labels"]
    assert len(names["filenames"]) == 10_000
