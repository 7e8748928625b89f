"""Scripts of other simulators, run in a process of their own, and the networks that they leave."""

from __future__ import annotations

from neuromap.backends.scripts.import_script import import_script
from neuromap.backends.scripts.imported import Imported

__all__ = ["Imported", "import_script"]
