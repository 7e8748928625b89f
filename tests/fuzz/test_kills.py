"""A command that is killed while it writes, or whose power is cut, goes on to the result of one that was not."""

import kills
import pytest


@pytest.mark.slow
@pytest.mark.parametrize("name", ["map", "simulate", "hdf5", "sweep", "faults"])
def test_killed_at_any_write_it_goes_on_to_the_same_result(name):
    if name == "hdf5":
        pytest.importorskip("h5py")
    found = kills.attack(name, kills=2, cuts=2)
    assert found.changes > 10
    assert found.faults == ()
