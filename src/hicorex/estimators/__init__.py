"""The public estimators, and how they learn: each is made of what its layers have learned."""
