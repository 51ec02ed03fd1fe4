"""Sentences about findings."""
