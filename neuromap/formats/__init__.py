"""What other tools write, read into values of this package. Imported only when asked for."""
