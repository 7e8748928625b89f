"""What a browser sees: the page, the parts of it that change, and the numbers behind its pictures."""
