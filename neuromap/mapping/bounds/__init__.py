"""Lower bounds on the axons and cores of any mapping."""
