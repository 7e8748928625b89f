"""What is asked of training: settings of nodes, options of a run."""
