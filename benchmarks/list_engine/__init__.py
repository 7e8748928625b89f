"""The fast engine of synapse lists beside Brian2 on Loihi's cores: CPU time of a tick, at equal spikes."""
