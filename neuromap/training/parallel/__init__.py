"""All layers of a streaming rollout at once: each process computes its nodes from the last frame of all."""
