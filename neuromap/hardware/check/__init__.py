"""The independent checker: does a program keep the rules of its chip."""
