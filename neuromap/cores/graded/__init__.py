"""Graded cores: lists of synapses as in synapse-list cores, neurons without memory that send values (Loihi 2)."""
