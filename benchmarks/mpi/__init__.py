"""What dividing a run among ranks of MPI costs."""
