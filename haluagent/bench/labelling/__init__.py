"""Spans of responses that people mark as wrong: a page to mark them on, the labels it gives, and their agreement."""
