"""One folder each: reader, questions, bound metrics, artifacts, card."""
