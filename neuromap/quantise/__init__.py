"""Float models on integer neurons, with the price shown (``docs/brian2.md``)."""
