"""Why found and proven cores differ: figures of every network, and crops solved exactly."""
