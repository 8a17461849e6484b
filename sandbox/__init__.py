"""Where code of unknown origin runs."""
