"""Nengo on crossbar cores: neurons with a constant leak, decoded values on lines of spikes (``docs/nengo.md``)."""
