"""Section 2 of the paper: bounds on the total correlation and the entropy, from below and from above."""
