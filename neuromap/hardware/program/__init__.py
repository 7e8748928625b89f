"""Programs: everything that is loaded onto a chip."""
