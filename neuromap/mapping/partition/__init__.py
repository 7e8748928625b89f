"""From a rollout to cores: splitters, tiling and packing together."""
