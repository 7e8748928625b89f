"""Options of training: settings of nodes, options of a run."""
