"""The search: fronts, bounds, gap."""
