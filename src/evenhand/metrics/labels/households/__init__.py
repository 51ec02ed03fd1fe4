"""Recognition of household items by income, country and region."""
