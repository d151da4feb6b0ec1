"""How many factors there are, and which of what was found is more than chance."""
