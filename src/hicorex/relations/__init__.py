"""What was found, held against what is known from elsewhere: traits of samples, groups of variables, other models."""
