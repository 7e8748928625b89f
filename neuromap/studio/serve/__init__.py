"""The studio's server: who may ask, how much, and what is kept on disk."""
