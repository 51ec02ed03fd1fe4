"""Hypothesis without deadlines (shared machines) and with the same examples every time."""

from hypothesis import settings

settings.register_profile("evenhand", deadline=None, derandomize=True, max_examples=60, database=None)
settings.load_profile("evenhand")
