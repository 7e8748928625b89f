"""The latency report, with its table, JSON, CSV, HTML and picture forms."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
