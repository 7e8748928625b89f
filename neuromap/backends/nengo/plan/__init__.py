"""What goes onto the chip of Nengo's back end, before and after it is put into integers."""
