"""Checking the claims of a response against references, after RefChecker (Hu et al. 2023)."""
