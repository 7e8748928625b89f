"""From a rollout to cores: fan-out, tiling and packing together."""
