"""Options that several commands share, and pairs of a name and a value."""
