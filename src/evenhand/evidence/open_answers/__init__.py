"""Free text that a model answers, assigned to labels."""
