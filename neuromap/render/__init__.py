"""What every form is made of: numbers as text, tables, drawings; and how a value finds its forms."""
