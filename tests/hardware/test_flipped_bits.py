"""A program file with one bit flipped is refused, whichever bit: it might break no rule, and compute something else."""

import pytest

from neuromap.errors import ProgramError
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.hardware.program_file import load_program, map_program, program_from_bytes


def accepted(data, flipped_bits, step=1):
    """Bits without which the program is loaded all the same."""
    assert program_bytes(program_from_bytes(data, "p.nmp")) == data
    found = []
    for bit, damaged in flipped_bits(data, step):
        try:
            program_from_bytes(damaged, "p.nmp")
        except ProgramError:
            continue
        found.append(bit)
    return found


def smallest(random_program, n):
    return sorted((program_bytes(random_program(seed)) for seed in range(60)), key=len)[:n]


def test_no_program_is_loaded_with_one_bit_flipped(random_program, flipped_bits):
    (crossbar,) = smallest(random_program, 1)
    assert accepted(crossbar, flipped_bits) == []


@pytest.mark.thorough
def test_none_of_ten_programs_is_loaded_with_one_bit_flipped(random_program, flipped_bits):
    for data in smallest(random_program, 10):
        assert accepted(data, flipped_bits) == []


@pytest.mark.parametrize("read", [load_program, lambda path: map_program(path, check=False)])
def test_files_are_asked_as_bytes_are(random_program, bits_flipped_in_place, tmp_path, read):
    path = tmp_path / "p.nmp"
    path.write_bytes(smallest(random_program, 1)[0])
    for _ in bits_flipped_in_place(path, 61):
        with pytest.raises(ProgramError):
            read(path)
    read(path)
