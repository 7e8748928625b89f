"""Programs with one fault each, and whether a proof is ever given that it must not be."""
