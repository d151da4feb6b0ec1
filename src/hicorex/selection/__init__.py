"""How many factors there are, and which factors and links are more than chance."""
