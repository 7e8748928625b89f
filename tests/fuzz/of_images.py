"""Readers of sets of images: files, archives, pictures, lists."""

import io
import lzma
import pickle
import struct
import tarfile
import zipfile
from functools import partial
from gzip import compress

import numpy as np
from event_files import gesture_files, nmnist_bytes, write_nmnist, write_spoken
from one_reader import reader

# ------------------------------------------------------------------------------------------------------------- images


def idx(array):
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def mnist(name, pack=bytes):
    def make(folder):
        images = np.arange(6 * 28 * 28, dtype=np.int64).astype(np.uint8).reshape(6, 28, 28)
        files = {"train-images-idx3-ubyte": idx(images), "train-labels-idx1-ubyte": idx(np.arange(6, dtype=np.uint8))}
        for file, data in files.items():
            if not name.startswith(file):
                (folder / file).write_bytes(data)
        return [pack(files[name.removesuffix(".gz")])]

    return make


def images_of(scheme):
    def read(path, _):
        from neuromap.datasets import load_images

        load_images(f"{scheme}:{path}", "train")

    return read


def images_beside(scheme, up=0):
    def read(path, _):
        from neuromap.datasets import load_images

        place = path.parents[up]
        load_images(f"{scheme}:{place}", "train")

    return read


reader("mnist-images", "train-images-idx3-ubyte", mnist("train-images-idx3-ubyte"), images_beside("mnist"))
reader("mnist-labels", "train-labels-idx1-ubyte", mnist("train-labels-idx1-ubyte"), images_beside("mnist"))
reader(
    "mnist-images-gz",
    "train-images-idx3-ubyte.gz",
    mnist("train-images-idx3-ubyte.gz", lambda d: compress(d, mtime=0)),
    images_beside("mnist"),
)


def batch(k, protocol=2):
    pixels = np.full((2, 3072), k, np.uint8)
    return pickle.dumps({b"data": pixels, b"labels": [k, 1], b"batch_label": b"a"}, protocol)


def binary_batch(k):
    return (bytes([k]) + bytes(3072)) * 2


def picture(kind, size=(32, 32), colour=(9, 200, 30), **told):
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, kind, **told)
    return stream.getvalue()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return stream.getvalue()


def tarred(members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tape:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tape.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def cifar_members():
    python = {f"cifar-10-batches-py/data_batch_{k}": batch(k, 2 if k < 3 else 4) for k in range(1, 6)}
    binary = {f"cifar-10-batches-bin/data_batch_{k}.bin": binary_batch(k) for k in range(1, 6)}
    pictures = {
        f"train/{name}/{k}.{end}": picture(kind)
        for k, (name, end, kind) in enumerate(
            [
                ("cat", "png", "PNG"),
                ("dog", "jpg", "JPEG"),
                ("cat", "ppm", "PPM"),
                ("dog", "png", "PNG"),
                ("cat", "png", "PNG"),
            ]
        )
    }
    return python, binary, pictures


def gtsrb_members():
    members = {}
    for c, tracks in ((0, 8), (1, 4)):
        place = f"GTSRB/Final_Training/Images/{c:05d}"
        lines = ["Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"]
        for t in range(tracks):
            for k in range(2):
                members[f"{place}/{t:05d}_{k:05d}.ppm"] = picture("PPM", (12 + k, 10 + t))
                lines.append(f"{t:05d}_{k:05d}.ppm;{12 + k};{10 + t};5;5;9;9;{c}")
        members[f"{place}/GT-{c:05d}.csv"] = "\r\n".join([*lines, ""]).encode()
    return members


def cifar_tars(_):
    python, binary, pictures = map(tarred, cifar_members())
    return [compress(python, 1, mtime=0), binary, lzma.compress(pictures, preset=0)]


def lying():
    """A JPEG that its EXIF turns."""
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    return picture("JPEG", exif=exif)


def beside(members, name, *more):
    """The members in a folder; the one of this name is mutated, and so are more in its place."""

    def make(folder):
        found = members()
        for place, data in found.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(data)
        return [found[name], *(one() for one in more)]

    return make


IMAGES = ("PIL",)
reader(
    "cifar-zip", "c.zip", lambda _: [zipped(members) for members in cifar_members()], images_of("cifar10"), needs=IMAGES
)
reader("cifar-tar", "c.tar", cifar_tars, images_of("cifar10"), needs=IMAGES)
_PICKLE = "cifar-10-batches-py/data_batch_1"
reader("cifar-pickle", _PICKLE, beside(lambda: cifar_members()[0], _PICKLE), images_beside("cifar10"), needs=IMAGES)
_PICTURE = "train/cat/0.png"
reader("cifar-png", _PICTURE, beside(lambda: cifar_members()[2], _PICTURE), images_beside("cifar10", 2), needs=IMAGES)
_JPEG = "train/dog/1.jpg"
reader("cifar-jpeg", _JPEG, beside(lambda: cifar_members()[2], _JPEG, lying), images_beside("cifar10", 2), needs=IMAGES)
reader("gtsrb-zip", "g.zip", lambda _: [zipped(gtsrb_members())], images_of("gtsrb"), needs=IMAGES)
reader("gtsrb-tar", "g.tar", lambda _: [tarred(gtsrb_members())], images_of("gtsrb"), needs=IMAGES)
_LIST = "GTSRB/Final_Training/Images/00000/GT-00000.csv"
reader("gtsrb-list", _LIST, beside(gtsrb_members, _LIST), images_beside("gtsrb", 4), needs=IMAGES)
_PPM = "GTSRB/Final_Training/Images/00000/00000_00000.ppm"
reader("gtsrb-picture", _PPM, beside(gtsrb_members, _PPM), images_beside("gtsrb", 4), needs=IMAGES)


def arrays(_):
    """Files of arrays with parts and without, of integers and of real numbers, packed and not."""
    found = []
    for save, images in ((np.savez, np.arange(384, dtype=np.uint8)), (np.savez_compressed, np.linspace(-1, 1, 384))):
        for names in (("x_train", "y_train"), ("images", "labels")):
            stream = io.BytesIO()
            save(stream, **{names[0]: images.reshape(6, 8, 8), names[1]: np.arange(6) % 2})
            found.append(stream.getvalue())
    return found


def classes():
    """Pictures in a folder for each class."""
    return {f"{name}/{k}.png": picture("PNG", (8, 8), (9 * k, 20, 30)) for name in ("cat", "dog") for k in range(4)}


reader("own-npz", "a.npz", arrays, images_of("npz"))
reader("own-zip", "a.zip", lambda _: [zipped(classes())], images_of("folder"), needs=IMAGES)
_OWN = "cat/0.png"
_KEYED = partial(picture, "PNG", (8, 8), transparency=(1, 2, 3))  # a colour, in tRNS, that it does not have
reader("own-png", _OWN, beside(classes, _OWN, _KEYED), images_beside("folder", 1), needs=IMAGES)


# ---------------------------------------------------------------------------------------------------------- recordings


def recordings_of(scheme, up=0, part="train"):
    def read(path, _):
        from neuromap.datasets import load_images

        load_images(f"{scheme}:{path.parents[up]},frames=4", part)

    return read


def saccades(folder):
    events = [(1000 * k, k % 34, (3 * k) % 34, k % 2) for k in range(40)]
    write_nmnist(folder, {("Train", digit, digit + 1): events for digit in range(6)})
    return [nmnist_bytes(events)]


def spoken(folder):
    path = folder / "made.h5"
    write_spoken(path, [([0.01 * k, 0.02], [k, 699]) for k in range(6)], range(6))
    return [path.read_bytes()]


def settings(_):
    """Sources with settings, in a file of their own."""
    sources = (
        "moving-digits:flash=3,bars=2,canvas=9,copies=1",
        "events:threshold=0.5,noise=0.1,counts=3,frames=2",
        "moving-digits:of=digits,speed=0.3,shrink=2,ticks=7,seed=4",
    )
    return [source.encode() for source in sources]


def load_settings(path, _):
    from neuromap.datasets import load_images

    load_images(path.read_bytes().decode(errors="replace"), "test", limit=2)


reader("nmnist-bin", "Train/0/00001.bin", saccades, recordings_of("nmnist", 2))
for _file in ("user01_lab.aedat", "user01_lab_labels.csv", "trials_to_train.txt"):
    reader(f"gesture-{_file.rpartition('.')[2]}", _file, beside(gesture_files, _file), recordings_of("dvs-gesture"))
reader("shd-hdf5", "shd_test.h5", spoken, recordings_of("shd", part="test"), needs=("h5py",))
reader("source-settings", "source.txt", settings, load_settings)
