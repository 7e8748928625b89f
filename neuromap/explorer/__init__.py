"""The rollout explorer: which pattern, execution and chip to run, as a Pareto front (docs/explorer.md)."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)
