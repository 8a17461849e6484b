"""Claims of a response checked against references, after RefChecker (Hu et al. 2023)."""
