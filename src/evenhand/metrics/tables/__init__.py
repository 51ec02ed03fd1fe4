"""Counts of a grouping as tables, and the rates that are made of their margins."""
