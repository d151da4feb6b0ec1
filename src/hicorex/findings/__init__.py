"""What was found, as a graph, as tables and in words."""
