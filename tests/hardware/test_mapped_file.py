"""A file that is mapped is the file that is read: the same program, or refused for the same reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import ProgramError
from neuromap.hardware.program.program_bytes import program_bytes, program_tensors
from neuromap.hardware.program_file import load_program, map_program


def outcome(read, path, **how):
    try:
        return program_bytes(read(path, **how))
    except ProgramError as error:
        return str(error).replace("deserializing header: ", "deserializing: ")  # the library has two ways to say it


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("mapped") / "p.nmp"


@given(
    seed=st.integers(0, 50), where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255),
    head=st.booleans(), end=st.none() | st.floats(0, 1), sealed=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=200)
def test_a_damaged_file_is_mapped_as_it_is_read(random_program, resealed, path, seed, where, byte, head, end, sealed):
    data = bytearray(program_bytes(random_program(seed)))
    data[int(where * (8 + int.from_bytes(data[:8], "little") if head else len(data)))] = byte
    found = bytes(data) if end is None else bytes(data)[: int(end * len(data))]
    path.write_bytes(resealed(found) if sealed else found)
    assert outcome(map_program, path, check=True) == outcome(load_program, path)


@pytest.mark.parametrize("data", [b"", b"{}", b"\x80\x04\x95", b"PK\x03\x04" + b"\0" * 50, b"name = 'x'\n" * 10])
def test_foreign_files_are_refused(path, data):
    path.write_bytes(data)
    assert "is not a program file" in outcome(map_program, path, check=True)
    assert outcome(map_program, path.parent / "nothing", check=False).endswith("give the path of a program file")


def test_what_is_mapped_is_not_copied_and_cannot_be_written(random_program, path):
    program = next(p for p in map(random_program, range(50)) if p.n_cores > 1)
    program.save(path)
    for name, array in program_tensors(map_program(path, check=False)).items():
        assert not array.flags.writeable, name
        assert not array.flags.owndata, name
        assert np.array_equal(array, program_tensors(program)[name]), name
    mapped = map_program(path, check=False)
    data = bytearray(path.read_bytes())
    begin = data.find(mapped.crossbar.tobytes())
    with path.open("r+b") as file:  # nobody should; it tells what lies in the file from a copy
        file.seek(begin)
        file.write(bytes([data[begin] ^ 1]))
    assert mapped.crossbar.flat[0] == data[begin] ^ 1
