"""What is looked at, as a value and as a file, and in play: live runs on the same input, and what was recorded."""
