"""Front ends: what other tools write, read into neuromap's values. Imported only when asked for."""
