"""How few sources and axons rows of a matrix take: by counting, by windows, by windows with holes."""
