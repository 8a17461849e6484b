"""Check that a publication or an address that a sentence cites exists."""
