"""A rollout as populations and links in ticks, with relays and splitters."""
