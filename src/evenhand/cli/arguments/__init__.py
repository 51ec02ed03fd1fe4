"""Options that several commands share, pairs of a name and a value, and output in ASCII."""
