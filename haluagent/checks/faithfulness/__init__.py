"""Checking the faithfulness of an answer to its documents, after Lynx (Ravi et al. 2024)."""
