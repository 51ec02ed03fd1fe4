"""FACET: people at work, with box, class and annotated attributes."""
