"""What fits one core."""
