"""Mixed cores: prices of neurons and copies such that no core, however mixed, is worth more than one."""
