"""Training with PyTorch: models with real or integer weights, and their conversion to networks."""
