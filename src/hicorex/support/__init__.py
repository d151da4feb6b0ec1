"""Helpers for all folders: printable text, names of factors, and the private names of other libraries."""
