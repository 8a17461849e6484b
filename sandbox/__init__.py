"""Sandboxes for untrusted code."""
