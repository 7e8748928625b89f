"""From graphs of operators to imports: the network, and what was kept, approximated and refused."""
