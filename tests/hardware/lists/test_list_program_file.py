"""Program files of synapse-list cores: written and read again, and refused where they are damaged."""

import json
from dataclasses import replace

import numpy as np
import pytest
import safetensors.numpy

import neuromap as nm
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.errors import ProgramError
from neuromap.files.sealed import sealed_bytes
from neuromap.hardware.program.program_bytes import is_optional, program_bytes, program_tensors, tensors_of
from neuromap.hardware.program_file import program_from_bytes

LIST_TENSORS = tensors_of(ListProgram)
OPTIONAL_TENSORS = {name for name in LIST_TENSORS if is_optional(ListProgram, name)}


def refusal(data):
    with pytest.raises(ProgramError) as caught:
        program_from_bytes(data, "p.nmp")
    message = str(caught.value)
    assert message.startswith("p.nmp: ")
    assert "\n" not in message
    return message


def rewritten(program, change):
    """The file with its tensors changed."""
    data = program_bytes(program)
    tensors = {name: array.copy() for name, array in safetensors.numpy.load(data).items()}
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length])["__metadata__"]
    change(tensors)
    return sealed_bytes("program", tensors, metadata)


def test_round_trip(tmp_path, lists_by_hand):
    for program in (lists_by_hand, replace(lists_by_hand, is_splitter=np.zeros((2, 3), np.bool_))):
        path = tmp_path / "p.nmp"
        program.save(path)
        loaded = nm.load_program(path)
        assert type(loaded) is type(program)
        assert program_bytes(loaded) == path.read_bytes()
        assert set(program_tensors(loaded)) == set(LIST_TENSORS) - OPTIONAL_TENSORS
        for name, array in program_tensors(loaded).items():
            assert np.array_equal(array, program_tensors(lists_by_hand)[name]), name
            assert array.dtype == program_tensors(lists_by_hand)[name].dtype
            assert not array.flags.writeable
        assert (loaded.chip, loaded.nodes, loaded.period) == (program.chip, program.nodes, program.period)


@pytest.mark.parametrize("name", [name for name in LIST_TENSORS if name not in OPTIONAL_TENSORS])
def test_every_tensor_is_needed_as_it_is(lists_by_hand, name):
    assert refusal(rewritten(lists_by_hand, lambda t: t.pop(name))).endswith(f"tensor {name}: is missing")
    other = rewritten(lists_by_hand, lambda t: t.update({name: t[name].astype(np.float32)}))
    assert f"tensor {name}: found F32; needs" in refusal(other)
    flat = rewritten(lists_by_hand, lambda t: t.update({name: t[name][None]}))
    assert f"tensor {name}: found {1 + len(LIST_TENSORS[name][1])} axes" in refusal(flat)
    if name != "coordinates":
        longer = rewritten(lists_by_hand, lambda t: t.update({name: np.repeat(t[name], 2, axis=0)}))
        assert "tensor" in refusal(longer) or "list-start" in refusal(longer)


def test_damage_is_refused(lists_by_hand, random_program):
    data = program_bytes(lists_by_hand)
    for length in (0, 7, 100, len(data) - 1):
        refusal(data[:length])
    assert "is not part of a program for synapse-list cores" in refusal(
        rewritten(lists_by_hand, lambda t: t.update(crossbar=t["targets.axon"]))
    )
    assert "is not part of a program for crossbar cores" in refusal(
        rewritten(random_program(1), lambda t: t.update({"targets.axon": t["target_axon"]}))
    )
    assert "rule list-start" in refusal(rewritten(lists_by_hand, lambda t: t["synapses.lists"].fill(9)))


def test_a_flipped_bit_is_seen(lists_by_hand, flipped_bits):
    for _, damaged in flipped_bits(program_bytes(lists_by_hand), 7):
        refusal(damaged)


def test_an_empty_program_is_one_too(lists_by_hand):
    tensors = program_tensors(lists_by_hand)
    none = {name: array[:0] for name, array in tensors.items()}

    def empty(found):
        found.update(none)
        for name in ("synapses.axons", "synapses.lists", "targets.start"):
            found[name] = np.zeros(1, np.int64)

    loaded = program_from_bytes(rewritten(lists_by_hand, empty), "p.nmp")
    assert loaded.n_cores == 0
    assert nm.check_program(loaded) == []
