"""A run's findings in the formats of others; nothing here adds a number."""
