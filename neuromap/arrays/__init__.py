"""Arrays and mappings as values carry them: locked; arrays cut into ragged ranges."""
