"""Brian2 on the chip: importing this registers the device of ``set_device("neuromap")`` (``docs/brian2.md``)."""

from __future__ import annotations

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.errors import NotSupportedError

try:
    import brian2  # noqa: F401 - whether it is there
except ImportError:
    raise NotSupportedError(
        "neuromap.backends.brian2: needs Brian2, which is not installed; pip install 'neuromap-rollouts[brian2]'"
    ) from None

from neuromap.backends.brian2.device import register

# The device: ``device.report()`` describes the last run.
device = register()

__all__ = ["device"]
