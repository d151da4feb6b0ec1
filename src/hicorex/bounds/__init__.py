"""Section 2 of the paper: bounds from below and from above."""
