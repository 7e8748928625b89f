"""Routes from copies to axons, and the program."""
