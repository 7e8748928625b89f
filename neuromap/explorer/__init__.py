"""The rollout explorer: which pattern, execution and chip to run, as a Pareto front (docs/explorer.md)."""
