"""Graded cores: lists of synapses as synapse-list cores have them, neurons without memory that send values (Loihi 2)."""
