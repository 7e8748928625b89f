import dataclasses
import json
from math import floor

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.crossbar.program import Program
from neuromap.errors import InputError, ProgramError
from neuromap.files.sealed import sealed_bytes
from neuromap.hardware.program.program_bytes import is_optional, program_bytes, program_tensors, tensors_of
from neuromap.hardware.program_file import map_program, program_from_bytes

TENSORS = tensors_of(Program)
OPTIONAL_TENSORS = {name for name in TENSORS if is_optional(Program, name)}

seeds = st.integers(0, 2**32)


def parts_of(data):
    """Tensors, metadata and document of a program file, read with the library alone."""
    length = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + length])["__metadata__"]
    return safetensors.numpy.load(data), metadata, json.loads(metadata["program"])


def file_of(tensors, metadata, document=None):
    if document is not None:
        metadata = metadata | {"program": document if isinstance(document, str) else json.dumps(document)}
    return sealed_bytes("program", tensors, metadata)


def refusal(data):
    with pytest.raises(ProgramError) as caught:
        program_from_bytes(data, "p.nmp")
    message = str(caught.value)
    assert message.startswith("p.nmp: ")
    assert "\n" not in message
    assert len(message) < 600
    return message


def without(program, names):
    """The program without some of its optional tables."""
    if "host.part" in names:
        whole = tuple(dataclasses.replace(port, sample_tick=floor(port.sample_tick)) for port in program.nodes)
        host = dataclasses.replace(program.host, part=None)
        program = dataclasses.replace(program, period=floor(program.period), nodes=whole, host=host)
    neurons = {name.removeprefix("neurons."): None for name in names if name.startswith("neurons.")}
    top = {name: None for name in names if "." not in name}
    return dataclasses.replace(program, neurons=dataclasses.replace(program.neurons, **neurons), **top)


@given(
    seed=seeds,
    mapped=st.booleans(),
    absent=st.none() | st.sets(st.sampled_from(sorted(OPTIONAL_TENSORS & set(TENSORS)))),
)
@settings(deadline=None, max_examples=40)
def test_round_trip(random_program, with_options, seed, mapped, absent):
    program = random_program(seed, mapped=mapped)
    if absent is not None:
        program = without(with_options(program, seed), absent)
    loaded = program_from_bytes(program_bytes(program), "test")
    assert program_tensors(loaded).keys() == program_tensors(program).keys()
    for name, array in program_tensors(program).items():
        again = program_tensors(loaded)[name]
        assert np.array_equal(array, again), name
        assert again.dtype == array.dtype
        assert not again.flags.writeable
    for field in ("name", "chip", "nodes", "period", "ticks_per_step", "pattern", "execution"):
        assert getattr(loaded, field) == getattr(program, field)


def test_programs_without_stochastic_modes_keep_the_files_of_before_them(random_program):
    tensors, _, document = parts_of(program_bytes(random_program(2)))
    assert set(tensors) == set(TENSORS) - OPTIONAL_TENSORS
    assert set(document["chip"]["neuron"]) == {
        "number_format", "overflow", "negative_comparison", "signed_threshold",
    }  # fmt: skip


def test_a_table_of_no_splitters_is_none_at_all(random_program):
    program = random_program(2)
    none = dataclasses.replace(program, is_splitter=np.zeros_like(program.is_relay))
    assert program_bytes(none) == program_bytes(program)
    assert program_from_bytes(program_bytes(none), "test").is_splitter is None
    misshapen = dataclasses.replace(program, is_splitter=np.zeros((1, 1), bool))
    with pytest.raises(ProgramError, match="tensor is_splitter: found shape"):
        program_bytes(misshapen)


@given(seed=seeds)
@settings(deadline=None, max_examples=20)
def test_equal_programs_give_equal_bytes(random_program, seed):
    program = random_program(seed)
    data = program_bytes(program)
    assert program_bytes(random_program(seed)) == data
    assert program_bytes(program_from_bytes(data, "test")) == data
    fortran = dataclasses.replace(program, crossbar=np.asfortranarray(program.crossbar))
    assert program_bytes(fortran) == data


@pytest.mark.parametrize("path", [path for path in TENSORS if path != "crossbar"])
def test_a_change_in_any_array_changes_the_bytes(random_program, edited, path, with_options):
    program = with_options(next(p for p in map(random_program, range(50)) if len(p.host) and len(p.outputs)))

    def flip(array):
        array[(0,) * array.ndim] ^= array.dtype.type(1)

    assert program_bytes(edited(program, path, flip)) != program_bytes(program)


def test_save_and_load(tmp_path, random_program):
    program = random_program(1, mapped=True)
    path = tmp_path / "p.nmp"
    program.save(path)
    assert program_bytes(nm.load_program(path)) == path.read_bytes() == program_bytes(nm.load_program(str(path)))
    assert [p.name for p in tmp_path.iterdir()] == ["p.nmp"]


def test_a_malformed_program_leaves_the_old_file(tmp_path, random_program, edited):
    program = random_program(1)
    path = tmp_path / "p.nmp"
    program.save(path)
    before = path.read_bytes()
    with pytest.raises(ProgramError, match=r"tensor target_core: found int64; needs int32"):
        edited(program, "target_core", lambda a: a.astype(np.int64)).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["p.nmp"]
    with pytest.raises(InputError, match="cannot be written"):
        program.save(tmp_path / "no" / "p.nmp")


@pytest.mark.parametrize("path", ["nowhere/p.nmp", ".", "a\0b"])
def test_unreadable_paths(path):
    with pytest.raises(ProgramError, match=r"does not exist|is a folder|is not a path"):
        nm.load_program(path)


def test_truncated_files_are_refused(random_program):
    data = program_bytes(random_program(5))
    for end in [*range(200), *range(200, len(data), 97), len(data) - 1]:
        refusal(data[:end])
    refusal(data + b"\0")


@given(seed=st.integers(0, 50), where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), header=st.booleans())
@settings(deadline=None, max_examples=400)
def test_a_damaged_byte_is_refused_and_with_a_new_digest_makes_another_legal_program_at_most(
    random_program, resealed, seed, where, byte, header
):
    whole = program_bytes(random_program(seed))
    data = bytearray(whole)
    end = 8 + int.from_bytes(data[:8], "little") if header else len(data)
    data[int(where * end)] = byte
    if data != whole:
        refusal(bytes(data))
    data = resealed(bytes(data))
    try:
        program = program_from_bytes(bytes(data), "test")
    except ProgramError as error:
        message = str(error)
        program = None
    if program is None:
        assert "\n" not in message
        return
    assert nm.check_program(program, mapped=False) == []
    again = program_bytes(program)
    assert program_bytes(program_from_bytes(again, "test")) == again


def test_files_of_older_versions_are_told_from_damaged_ones(random_program, tmp_path):
    tensors, metadata, _ = parts_of(program_bytes(random_program(2)))
    old = safetensors.numpy.save(tensors, {name: text for name, text in metadata.items() if name != "digest"})
    assert "has no digest, an older version of neuromap has written it; map the network again" in refusal(old)
    (tmp_path / "p.nmp").write_bytes(old)
    for read in (nm.load_program, lambda path: map_program(path, check=False)):
        with pytest.raises(ProgramError, match="has no digest"):
            read(tmp_path / "p.nmp")
    damaged = safetensors.numpy.save(tensors, metadata | {"digest": "blake2b-128:" + "0" * 32})
    assert "is damaged, it does not fit its digest" in refusal(damaged)


@given(data=st.binary(max_size=300))
@settings(deadline=None, max_examples=100)
def test_random_bytes_are_refused(data):
    refusal(data)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"\x80\x04\x95", b"PK\x03\x04" + b"\0" * 50, (2**63).to_bytes(8, "little") + b"{}",
        (2**40).to_bytes(8, "little") + b"{}", b"format = 1\nname = 'x'\n" * 10,
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
    ],
)  # fmt: skip
def test_foreign_files_are_refused(data):
    assert "is not a program file" in refusal(data)


def test_a_program_cut_short_is_no_file_of_another_kind(random_program):
    assert "is not a program file, or a damaged one (" in refusal(program_bytes(random_program(2))[:-1])


def test_other_safetensors_files_are_refused():
    weights = {"w": np.ones(3, np.int8)}
    assert "not a neuromap program" in refusal(safetensors.numpy.save(weights))
    assert "not a neuromap program" in refusal(safetensors.numpy.save(weights, {"neuromap": "weights"}))


def test_format_and_tensors(random_program, with_options):
    tensors, metadata, _ = parts_of(program_bytes(with_options(random_program(2))))
    assert set(tensors) == set(TENSORS)
    assert "format: found '2'; this version reads format 1" in refusal(file_of(tensors, metadata | {"format": "2"}))
    assert "tensor more: is not part" in refusal(file_of(tensors | {"more": np.ones(1)}, metadata))
    assert "metadata program" in refusal(file_of(tensors, {k: v for k, v in metadata.items() if k != "program"}))
    for name in TENSORS:
        rest = file_of({k: v for k, v in tensors.items() if k != name}, metadata)
        if name == "host.part":
            assert "tensor host.part: found none; needs one where the period is a fraction" in refusal(rest)
        elif name in OPTIONAL_TENSORS:
            assert name not in program_tensors(program_from_bytes(rest, "test"))
        else:
            assert f"tensor {name}: is missing" in refusal(rest)
        wrong = tensors | {name: tensors[name].astype(np.float32)}
        assert f"tensor {name}: found F32" in refusal(file_of(wrong, metadata))
        longer = tensors | {name: np.pad(tensors[name], (0, 1))}
        assert "found shape" in refusal(file_of(longer, metadata))
        assert "axes" in refusal(file_of(tensors | {name: tensors[name][None]}, metadata))


@pytest.mark.parametrize("shape", [(0, 2**40, 2**40), (0,) * 70])
def test_a_shape_that_no_array_has_is_refused(random_program, resealed, shape):
    """The library takes any sides whose product is right."""
    data = program_bytes(random_program(2))
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    name = next(name for name in TENSORS if name in header)
    begin = header[name]["data_offsets"][0]
    removed = header[name]["data_offsets"][1] - begin
    header[name] |= {"shape": shape}
    for entry in (entry for key, entry in header.items() if key != "__metadata__"):
        entry["data_offsets"] = [at - removed if at > begin else at for at in entry["data_offsets"]]
    told, body = json.dumps(header, separators=(",", ":")).encode(), data[8 + length :]
    made = len(told).to_bytes(8, "little") + told + body[:begin] + body[begin + removed :]
    assert f"tensor {name}: no array has the shape" in refusal(resealed(made))


def test_booleans_are_0_or_1(random_program, with_options, resealed):
    program = with_options(random_program(2))
    for name in ("is_relay", "is_splitter", "neurons.stochastic_leak"):
        data = bytearray(program_bytes(program))
        length = int.from_bytes(data[:8], "little")
        start = json.loads(data[8 : 8 + length])[name]["data_offsets"][0]
        data[8 + length + start] = 2
        assert f"{name}: holds bytes other than 0 and 1" in refusal(resealed(bytes(data)))


def test_spare_crossbar_bits_are_0(random_program):
    program = next(p for p in map(random_program, range(50)) if p.chip.neurons % 8)
    tensors, metadata, _ = parts_of(program_bytes(program))
    tensors["crossbar"] = tensors["crossbar"].copy()
    tensors["crossbar"][0, 0, -1] |= 128
    assert "holds synapses beyond neuron" in refusal(file_of(tensors, metadata))


NODE = {"name": "A", "size": 3, "kind": "hidden", "sample_tick": 0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"extra": 1}, "extra: unknown key"),
        ({"period": ...}, "period: missing"),
        ({"period": 0}, "period: found 0"),
        ({"period": 2**70}, "period: found"),
        ({"period": 1.5}, "period: found 1.5"),
        ({"ticks_per_step": True}, "ticks_per_step: found True"),
        ({"name": 3}, "name: found 3"),
        ({"name": "a\nb"}, "name: found"),
        ({"name": "\ud800"}, "name: found"),
        ({"execution": "fast"}, "execution: found 'fast'"),
        ({"execution": ["windowed"]}, "execution: found"),
        ({"pattern": None}, "pattern: found None"),
        ({"nodes": {}}, "nodes: found {}"),
        ({"nodes": [3]}, "nodes[0]: found 3"),
        ({"nodes": [{"name": "A"}]}, "nodes[0]: kind: missing"),
        ({"nodes": [NODE | {"extra": 1}]}, "nodes[0]: extra: unknown key"),
        ({"nodes": [NODE | {"size": 10**9}]}, "nodes[0].size: found 1000000000"),
        ({"nodes": [NODE | {"size": -1}]}, "nodes[0].size: found -1"),
        ({"nodes": [NODE | {"kind": "relay"}]}, "nodes[0].kind: found 'relay'"),
        ({"nodes": [NODE | {"kind": []}]}, "nodes[0].kind: found []"),
        ({"nodes": [NODE | {"name": ""}]}, "nodes[0].name: found ''"),
        ({"nodes": [NODE | {"sample_tick": 2**50}]}, "nodes[0].sample_tick: found"),
        ({"nodes": [NODE, NODE]}, "A is named twice"),
        ({"nodes": []}, "is -1 or a node 0 to -1; needs"),
        ({"chip": 3}, "chip: found 3; allowed is a table"),
        ({"chip": {"format": 1}}, "chip: name: missing"),
    ],
)  # fmt: skip
def test_the_document_is_checked(random_program, change, words):
    program = random_program(2)
    tensors, metadata, document = parts_of(program_bytes(program))
    document = {k: v for k, v in (document | change).items() if v is not ...}
    message = refusal(file_of(tensors, metadata, document))
    if words.startswith("is "):
        assert "rule neuron-label" in message or "rule host-row" in message
    else:
        assert words in message


@pytest.mark.parametrize(
    "text", ["", "3", "[]", "{", '{"period": NaN}', "[" * 100_000, '{"period": ' + "9" * 5000 + "}", '{"a": 1e999}']
)
def test_a_document_that_is_no_json_object(random_program, text):
    tensors, metadata, _ = parts_of(program_bytes(random_program(2)))
    refusal(file_of(tensors, metadata, text))


def test_noise_on_a_chip_without_it_is_loaded_only_on_request(random_program, edited, with_noise):
    program = with_noise(random_program(2))
    plain = dataclasses.replace(program, chip=random_program(2).chip)
    assert "rule stochastic-mode" in refusal(program_bytes(plain))
    loaded = program_from_bytes(program_bytes(plain), "test", check=False)
    assert {v.rule for v in nm.check_program(loaded, mapped=False)} == {"stochastic-mode"}
    nine = edited(program, "neurons.noise_bits", lambda a: a * 0 + 9)
    with pytest.raises(ProgramError, match="rule noise-bits"):
        program_from_bytes(program_bytes(nine), "test", check=False)


def test_chip_and_tensors_must_agree(random_program):
    tensors, metadata, document = parts_of(program_bytes(random_program(2)))
    document["chip"]["core"]["axons"] += 1
    assert "found shape" in refusal(file_of(tensors, metadata, document))


def test_unequal_intervals_are_exact_in_the_file(random_program, with_options):
    program = with_options(random_program(2))
    tensors, metadata, document = parts_of(program_bytes(program))
    assert (document["period"], document["frames_per_period"]) == (2 * floor(program.period) + 1, 2)
    assert [node.get("sample_part", 0) for node in document["nodes"]] == [k % 2 for k in range(len(program.nodes))]
    for members, found in (
        ({"frames_per_period": 1}, "frames_per_period: found 1"),
        ({"frames_per_period": document["period"]}, "without a common divisor"),
        ({"frames_per_period": True}, "frames_per_period: found True"),
        ({"period": 1}, "no fewer ticks"),
    ):
        assert found in refusal(file_of(tensors, metadata, document | members))
    wrong = [node | {"sample_part": 2} for node in document["nodes"]]
    assert "sample_part: found 2; needs an integer above 0 and below" in refusal(
        file_of(tensors, metadata, document | {"nodes": wrong})
    )
    plain = {key: value for key, value in document.items() if key != "frames_per_period"}
    assert "sample_part" in refusal(file_of(tensors, metadata, plain))
    late = tensors | {"host.part": tensors["host.part"] + 2}
    assert "parts of a tick from 0 to 1" in refusal(file_of(late, metadata, document))


def test_illegal_programs_are_loaded_only_on_request(random_program, edited):
    program = edited(random_program(2), "coordinates", lambda a: a + 1000)
    data = program_bytes(program)
    assert "rule coordinate-on-grid" in refusal(data)
    loaded = program_from_bytes(data, "test", check=False)
    assert {v.rule for v in nm.check_program(loaded, mapped=False)} >= {"coordinate-on-grid"}
    # an index that points nowhere is refused in any case
    nowhere = edited(program, "axon_types", lambda a: a + 100)
    with pytest.raises(ProgramError, match="rule axon-type"):
        program_from_bytes(program_bytes(nowhere), "test", check=False)


def test_a_program_without_cores(random_program, edited, with_options):
    """A network whose neurons can never spike needs no core at all."""
    program = with_options(random_program(4, mapped=True))
    for path in TENSORS:
        program = edited(program, path, lambda a: a[:0])
    loaded = program_from_bytes(program_bytes(program), "test")
    assert loaded.n_cores == 0
    assert nm.check_program(loaded) == []


def test_a_file_whose_metadata_are_null_is_no_program(tmp_path):
    header = b'{"__metadata__":null}'.ljust(24)
    path = tmp_path / "p.nmp"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    for read in (nm.load_program, lambda path: map_program(path, check=False)):
        with pytest.raises(ProgramError, match="is a safetensors file but not a neuromap program"):
            read(path)
