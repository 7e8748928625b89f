"""SANA-FE (SLAM-Lab/SANA-FE, GPL-3): programs written as its architecture and network, to be run beside neuromap.

Nothing of SANA-FE is imported or contained: its YAML is written as text (``docs/sanafe.md``).
"""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
