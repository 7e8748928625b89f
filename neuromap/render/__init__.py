"""Building blocks of all forms: numbers as text, tables, drawings; and how a value finds its forms."""
