"""neuromap: map rolled-out networks onto simulated neuromorphic chips; predict, measure and prove latency.

All public names are available from here and imported on first use, so that ``import neuromap`` and
``neuromap --help`` stay fast.
"""

import neuromap.one_installation  # noqa: F401 - it must be the only one
from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
