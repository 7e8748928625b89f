"""What no mapping can do without: lower bounds on axons and cores."""
