"""What is asked of the mapper: strategies, limits and pins."""
