"""The public estimators, and how they learn their layers."""
