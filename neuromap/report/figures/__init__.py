"""Values of the report: the report itself, its rows, and the figures in them."""
