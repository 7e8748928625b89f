"""What runs side by side: threads that wait for each other, and ranks of one machine that share memory."""
