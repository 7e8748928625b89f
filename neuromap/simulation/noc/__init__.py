"""Network-on-chip: links between routers, their load, and when spikes arrive (docs/network-on-chip.md)."""
