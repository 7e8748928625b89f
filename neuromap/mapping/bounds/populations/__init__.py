"""What populations read, relays and splitters followed back, and in how many cores a source is read for that."""
