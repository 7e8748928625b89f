"""How the fast engine's tick grows, what a batch costs, and a C kernel as yardstick."""
