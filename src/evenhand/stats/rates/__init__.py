"""Rates of groups with intervals: alone, in clusters, and their differences."""
