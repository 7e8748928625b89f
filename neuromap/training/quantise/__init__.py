"""Networks in frame code as PyTorch modules: what is trained is what a chip computes, spike by spike."""
