"""A rendering of a run folder; it adds no numbers."""
