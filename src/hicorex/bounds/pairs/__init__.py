"""Residual pairs: what variables tell of each other beyond the factors, and what the lower bound gains by it."""
