"""What is looked at, as a value and as a file."""
