"""The network file and the weights beside it."""
