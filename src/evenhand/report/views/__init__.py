"""Findings as rows, frames, charts and texts that stand for charts."""
