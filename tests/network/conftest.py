"""A network file with everything in it, and what a refused file must look like."""

import pytest

from neuromap.errors import NetworkError
from neuromap.network import load_network

FULL = """
format = 1
name = "all transforms"
outputs = ["O", "A.b-c_1"]
[nodes.I]
shape = [4, 4, 2]
[nodes.H1]
shape = [2, 2, 4]
threshold = -3
[nodes.O]
shape = [1, 1, 3]
threshold = 1
[nodes."A.b-c_1"]
shape = [2, 2, 2]
threshold = 1
[edges."I -> H1"]
transform = "conv"
kernel = [3, 3]
stride = [2, 2]
padding = "same"
groups = 2
weights = { seed = 7, values = [-1, 0, 1] }
[edges."H1->O"]
transform = "dense"
weights = { seed = 8, values = [-1, 1] }
[edges."H1 -> H1"]
transform = "identity"
[edges."I -> A.b-c_1"]
transform = "pool"
kernel = [2, 2]
[rollouts.hybrid]
streaming = ["H1->O", "H1 -> H1"]
[rollouts.none]
streaming = []
"""


@pytest.fixture(scope="session")
def full_file():
    """Text of a network file that uses every key."""
    return FULL


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "net.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def refusal(write):
    """Give the message with which a file is refused, after the checks that hold for all."""

    def refusal(text):
        path = write(text)
        with pytest.raises(NetworkError) as caught:
            load_network(path)
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert len(message) < 600
        return message.removeprefix(f"{path}: ")

    return refusal
