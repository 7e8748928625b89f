"""Struck programs on stimuli: what their outputs say, and runs in which spikes are lost under way."""
