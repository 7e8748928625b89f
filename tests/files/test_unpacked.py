"""What comes out of a packed file is all of it, up to a bound; not a byte more, and not what a header promises."""

import gzip
import io
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from neuromap.errors import InputError, StimulusError
from neuromap.files.unpacked import Unpacked, most_unpacked, read_npz


def unpacked(size, most):
    return Unpacked(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(bytes(range(size))))), most)


@pytest.mark.parametrize("parts", [(-1,), (3, -1), (3, 4), (20,), (1,) * 7])
def test_all_of_a_stream_within_the_bound_comes_out(parts):
    stream = unpacked(7, 7)
    assert b"".join(stream.read(part) for part in parts) == bytes(range(7))
    assert stream.read() == b""
    stream.seek(0)
    buffer = bytearray(9)
    assert stream.readinto(buffer) == 7
    assert bytes(buffer) == bytes(range(7)) + bytes(2)


@pytest.mark.parametrize("read", [lambda s: s.read(), lambda s: s.read(8), lambda s: s.seek(8)])
def test_the_next_byte_is_refused(read):
    stream = unpacked(9, 7)
    assert stream.read(6) == bytes(range(6))
    with pytest.raises(InputError, match=r"^unpacks to more than 7 bytes"):
        read(stream)


def test_bounds_grow_with_the_file_and_end():
    assert [most_unpacked(size, 2**30) for size in (0, 1, 2**26 // 100, 2**20, 2**24)] == [
        2**26, 2**26, 2**26, 100 * 2**20, 2**30,
    ]  # fmt: skip


def archive(shape, values, largest=10_000):
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    data = stream.getvalue() + np.zeros(values).tobytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("a.npy", data)
    return read_npz(packed.getvalue(), largest or len(data), StimulusError), len(data)


def test_an_array_is_read_that_holds_what_its_header_promises():
    found, size = archive((5, 4), 20)
    assert found["a"].shape == (5, 4)
    assert archive((5, 4), 20, size)[1] == size
    with pytest.raises(StimulusError, match=rf"^holds {size} bytes; at most {size - 1} are read$"):
        archive((5, 4), 20, size - 1)


@pytest.mark.parametrize("shape", [(50,), (10, 5), (2**40,)])
def test_a_header_that_promises_more_is_refused_before_anything_is_made(shape):
    with pytest.raises(StimulusError, match=r"^promises an array of shape .* in 288 bytes$"):
        archive(shape, 20)
