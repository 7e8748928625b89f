"""Programs that faults strike."""

from pathlib import Path

import pytest
from hypothesis import strategies as st

import neuromap as nm

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def mapped(networks, patterns, chip, list_chip):
    """Draw a network, its rollout, and the program on small cores, of crossbars or of synapse lists."""

    @st.composite
    def draw_mapped(draw, lists=None):
        network = draw(networks(weights=st.integers(-2, 3), thresholds=st.integers(1, 3)))
        rollout = nm.Rollout(network, draw(patterns(network)), draw(st.sampled_from(["windowed", "pipelined"])))
        of_lists = draw(st.booleans()) if lists is None else lists
        spec = list_chip() if of_lists else chip(neurons=12, delay=(1, 4))
        return rollout, nm.map_rollout(rollout, spec, **({} if of_lists else {"packing": draw(st.booleans())}))

    return draw_mapped


@pytest.fixture(scope="session")
def digits_network():
    """SR of the digits, trained."""
    return nm.load_network(EXAMPLES / "digits" / "sr.toml")


@pytest.fixture(scope="session")
def digits(digits_network):
    """The program of its streaming rollout."""
    return nm.map_rollout(nm.Rollout(digits_network, "streaming"), "truenorth")
