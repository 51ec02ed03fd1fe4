"""Null distributions by exchange of units between groups."""
