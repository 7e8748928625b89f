"""Van Rossum's distance against its definition, the integral of the filtered trains' squared difference."""

import numpy as np
import pytest

from neuromap.quantise.spike_distance import train_distance, van_rossum

pytest.importorskip("elephant")


@pytest.mark.parametrize(("a", "b"), [([0.1, 0.2], [0.1, 0.21]), ([0.1, 0.2, 0.203], []), ([0.3], [0.1])])
def test_is_the_integral(a, b):
    tau, step = 0.01, 1e-5
    t = np.arange(0, 0.6, step)
    filtered = [sum(np.exp(-(t - s) / tau) * (t >= s) for s in train) + 0 * t for train in (a, b)]
    wanted = np.sqrt(np.sum((filtered[0] - filtered[1]) ** 2) * step * 2 / tau)
    assert van_rossum(np.array(a), np.array(b), tau) == pytest.approx(wanted, rel=5e-3)


def test_of_a_node_is_the_mean():
    original = np.zeros((100, 2), bool)
    original[[10, 50], 0] = True
    found = original.copy()
    found[50, 0] = False
    distance = train_distance("A", found, original, 1e-3)
    assert (distance.spikes, distance.original_spikes) == (1, 2)
    assert distance.distance == pytest.approx(0.5)
    assert distance.of_silence == pytest.approx(np.sqrt(2 * (1 + np.exp(-4))) / 2)
