"""Network-on-chip: links between routers, their loads, and arrivals of spikes (docs/network-on-chip.md)."""
