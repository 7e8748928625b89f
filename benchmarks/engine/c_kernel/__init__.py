"""The yardstick: a hand-written C kernel, and the memory bandwidth of the machine."""
