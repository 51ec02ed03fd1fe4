"""Which model answered: its source, options, files and loaded state."""
