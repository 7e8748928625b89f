"""Chunks of HDF5: what stores less than it stands for is found, however it is packed."""

import itertools
import zlib

import numpy as np
import pytest

from neuromap.files.whole_chunks import has_whole_chunks

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

PACKED = list(itertools.product([None, "gzip", "lzf"], [False, True], [False, True]))


@pytest.mark.parametrize(("compression", "shuffle", "fletcher32"), PACKED)
def test_what_h5py_writes_is_whole(tmp_path, compression, shuffle, fletcher32):
    rng, how = np.random.default_rng(0), {"compression": compression, "shuffle": shuffle, "fletcher32": fletcher32}
    with h5py.File(tmp_path / "whole.h5", "w") as file:
        for shape, dtype in itertools.product([(1000,), (37, 53), (3, 4, 5, 6), (5,)], ["f8", "i1", ">i4", "S7"]):
            chunks = tuple(-(-n * 3 // 5) for n in shape)
            for name, values in (("few", rng.integers(0, 3, shape)), ("many", 100 * rng.normal(size=shape))):
                file.create_dataset(f"{shape} {dtype} {name}", data=values.astype(dtype), chunks=chunks, **how)
        if not fletcher32:  # which h5py has of plain values only
            texts = np.array(["a", "bcd", ""], object)
            file.create_dataset("texts", data=texts, dtype=h5py.string_dtype(), chunks=(2,), **how)
        file.create_dataset("unwritten", (9,), "f8", chunks=(4,), **how)
        file.create_dataset("in one piece", data=np.arange(9))
    with h5py.File(tmp_path / "whole.h5") as file:
        assert [name for name in file if not has_whole_chunks(file[name])] == []


def packed(values, tmp_path, **how):
    """The bytes of a chunk as the library packs it."""
    with h5py.File(tmp_path / "packed.h5", "w") as file:
        return file.create_dataset("x", data=values, chunks=values.shape, **how).id.read_direct_chunk((0,))[1]


@pytest.mark.parametrize(("compression", "shuffle", "fletcher32"), PACKED)
@pytest.mark.parametrize("length", [1, 100, 999, 1000, 1001])
def test_a_chunk_of_another_length_is_found(tmp_path, compression, shuffle, fletcher32, length):
    how = {"compression": compression, "shuffle": shuffle, "fletcher32": fletcher32}
    raw = packed(np.arange(length) % 50, tmp_path, **how)
    with h5py.File(tmp_path / "short.h5", "w") as file:
        file.create_dataset("x", (1000,), int, chunks=(1000,), **how).id.write_direct_chunk((0,), raw)
    with h5py.File(tmp_path / "short.h5") as file:
        assert has_whole_chunks(file["x"]) == (length == 1000)


def test_what_is_cut_off_or_damaged_is_found(tmp_path):
    whole = zlib.compress(np.arange(1000).tobytes())
    for raw in (whole[:-9], b"\0" + whole[1:], whole[:1]):
        with h5py.File(tmp_path / "cut.h5", "w") as file:
            file.create_dataset("x", (1000,), int, chunks=(1000,), compression="gzip").id.write_direct_chunk((0,), raw)
        with h5py.File(tmp_path / "cut.h5") as file:
            assert not has_whole_chunks(file["x"])
