"""Single changes of a program, chosen by hand: what a person at a running chip turns."""
