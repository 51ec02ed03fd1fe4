"""Requests go to models, and answers are cached and written."""
