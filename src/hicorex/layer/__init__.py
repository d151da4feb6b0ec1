"""Section 3 of the paper: one layer, from its first state to the best one."""
