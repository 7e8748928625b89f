"""A NIR graph contracted: neurons, and the linear maps with delays that lead from spikes to them."""
