"""What is refused, as data."""
