"""What a fit has learned: as a graph, as tables and in words."""
