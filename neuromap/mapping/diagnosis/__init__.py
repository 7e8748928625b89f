"""What would help where something does not fit."""
