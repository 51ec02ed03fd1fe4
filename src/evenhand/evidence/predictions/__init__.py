"""Tables of truths, predictions and attributes, and their counts."""
