"""What the terminal prints of findings."""
