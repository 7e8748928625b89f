"""The program of a placed partition."""
