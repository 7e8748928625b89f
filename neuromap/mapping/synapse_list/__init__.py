"""Many-target cores: from a legalised network to a program of synapse lists (``docs/spiking.md``)."""
