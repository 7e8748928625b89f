"""Sealed files: equal content gives equal bytes, and no flipped bit goes unseen."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import SafetensorError
from safetensors.numpy import load, save

from neuromap.files.sealed import DTYPES, Seal, canonical_bytes, seal_of, sealed_bytes

arrays = st.dictionaries(
    st.text("abc/.", min_size=1, max_size=4),
    st.sampled_from(sorted(DTYPES)).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    ),
    max_size=4,
)
texts = st.dictionaries(st.sampled_from(["about", "format", "x"]), st.text(max_size=20), max_size=3)


def metadata_of(data):
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__", {})


def read(data):
    """Tensors and metadata as the library of the format reads them; None where it refuses the file."""
    try:
        return load(data), metadata_of(data)
    except (SafetensorError, ValueError, AttributeError):
        return None


@given(arrays, texts)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the first draw is slow on a busy machine
def test_what_is_sealed_is_read_by_the_library_of_the_format_in_any_order_alike(tensors, metadata):
    data = sealed_bytes("weights", tensors, metadata)
    found, told = read(data)
    assert sorted(found) == sorted(tensors)
    for name, array in tensors.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert metadata.items() <= told.items()
    assert seal_of(data, told) is Seal.WHOLE
    turned = dict(reversed(tensors.items()))
    assert sealed_bytes("weights", turned, dict(reversed(metadata.items()))) == data


def test_every_single_flipped_bit_is_seen():
    tensors = {"edge": np.arange(-3, 3), "theta": np.float32([0.5, -2]), "on": np.array([True, False])}
    data = sealed_bytes("weights", tensors, {"format": "1", "about": '{"digest":"blake2b-128:00"}'})
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        found = read(bytes(flipped))
        assert found is None or seal_of(bytes(flipped), found[1]) is Seal.DAMAGED, bit


@pytest.mark.parametrize("metadata", [{}, {"format": "pt"}])
def test_files_of_other_programs_have_no_seal(metadata):
    tensors = {"edge": np.arange(3)}
    assert seal_of(canonical_bytes(tensors, metadata), metadata) is Seal.ABSENT
    assert seal_of(save(tensors, metadata=metadata), metadata) is Seal.ABSENT
