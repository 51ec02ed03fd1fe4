"""Mistakes of a classifier by group: accuracy, parity and effect sizes."""
