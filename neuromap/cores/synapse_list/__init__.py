"""Synapse-list cores: a list of weights and delays for every axon, neurons with current and voltage (Loihi)."""
