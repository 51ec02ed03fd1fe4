"""What differs between two runs or between seeds, as a page."""
