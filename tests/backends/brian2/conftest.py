"""Brian2 on its own and on the chip: every test begins with the runtime device and leaves it behind."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _brian2():
    brian2 = pytest.importorskip("brian2", reason="install neuromap-rollouts[brian2]")
    import neuromap.backends.brian2  # noqa: F401 - makes the device known

    brian2.prefs.codegen.target = "numpy"
    brian2.start_scope()
    yield
    brian2.set_device("runtime")
    brian2.device.reinit()


@pytest.fixture
def spikes_of():
    """Spikes of a monitor as frames, one row for every step."""

    def frames(monitor, steps, dt):
        found = np.zeros((steps, len(monitor.source)), bool)
        found[np.rint(np.array(monitor.t) / dt).astype(int), np.array(monitor.i)] = True
        return found

    return frames
